"""Makes the goldens of SVDQuant's files:  python scripts/reference/nunchaku_goldens.py

test/golden/image/nunchaku-int4 and -fp4: files of a tiny FLUX.1 in the form and with the names in which nunchaku's are published, random by recipe, and
what diffusers' transformer gives with the matrices that they stand for, computed in f64 by nunchaku.py.
test/golden/nunchaku-weights.safetensors: one module of each kind, as `<case>.<tensor>`, and `<case>.values`, its matrix in 4 bits [rows, k].
"""

import hashlib
import json
import math
import sys
from pathlib import Path

import diffusers
import numpy as np
import torch
from safetensors.torch import save_file

from draws import cast, digits, integers, numbers
from nunchaku import factor, halves, modulation, weight

GOLDEN = Path(__file__).parents[2] / 'test' / 'golden'
SEED = 7
HIDDEN, FFN, RANK = 128, 512, 16
CONFIG = dict(
    patch_size=1, in_channels=64, num_layers=1, num_single_layers=1, attention_head_dim=32, num_attention_heads=4, joint_attention_dim=64,
    pooled_projection_dim=64, guidance_embeds=True, axes_dims_rope=[4, 14, 14],
)  # fmt: skip
TYPES = {'BF16': torch.bfloat16, 'F32': torch.float32, 'F8_E4M3': torch.float8_e4m3fn, 'I8': torch.int8, 'I32': torch.int32}
SIZES = {'I32': 4}


class File:
    """Tensors by recipe."""

    def __init__(self, seed):
        self.seed, self.entries, self.tensors = seed, [], {}

    def numbers(self, name, shape, scale, offset=0.0, dtype='BF16'):
        scale, offset = digits(scale), digits(offset)
        values = numbers(self.seed, name, math.prod(shape), scale, offset)
        self.keep(name, dtype, shape, cast(values, dtype), {'scale': scale, 'offset': offset})

    def bytes(self, name, dtype, shape, low=0, high=255):
        drawn = integers(self.seed, name, math.prod(shape) * SIZES.get(dtype, 1), low, high).astype(np.uint8)
        self.keep(name, dtype, shape, drawn, {'low': low, 'high': high, **({'raw': True} if dtype == 'I32' else {})})

    def keep(self, name, dtype, shape, stored, how):
        self.entries.append({'names': name, 'dtype': dtype, 'shape': list(shape), **how})
        data = torch.from_numpy(np.ascontiguousarray(stored).view(np.uint8).copy())
        self.tensors[name] = data.view(TYPES[dtype]).reshape(shape)

    def module(self, name, rows, k, fp4=False, by_row=False):
        self.bytes(f'{name}.qweight', 'I8', (rows, k // 2))
        if fp4:
            self.bytes(f'{name}.wscales', 'F8_E4M3', (k // 16, rows), 0x2C, 0x3C)  # 0.375 to 1.5
            if by_row:
                self.numbers(f'{name}.wcscales', (rows,), 0.3 / k**0.5 / 4, 0.3 / k**0.5)
            else:
                self.numbers(f'{name}.wtscale', (1,), 0.001, 0.3 / k**0.5)
        else:
            self.numbers(f'{name}.wscales', (k // 64, rows), 0.02 / k**0.5, 0.15 / k**0.5)
        self.numbers(f'{name}.lora_down', (k, RANK), 0.7 / k**0.5)
        self.numbers(f'{name}.lora_up', (rows, RANK), 0.5 / RANK**0.5)
        self.numbers(f'{name}.smooth', (k,), 0.15, 1.0)
        self.numbers(f'{name}.smooth_orig', (k,), 0.15, 1.0)
        self.numbers(f'{name}.bias', (rows,), 0.1)

    def modulation(self, name, turns):
        rows = turns * HIDDEN
        self.bytes(f'{name}.qweight', 'I32', (rows // 4, HIDDEN // 2))
        self.numbers(f'{name}.wscales', (HIDDEN // 64, rows), 0.001, 0.006)
        self.numbers(f'{name}.wzeros', (HIDDEN // 64, rows), 0.005, -0.045)
        self.numbers(f'{name}.bias', (rows,), 0.1, 0.3)

    def of(self, name):
        return {key[len(name) + 1 :]: value for key, value in self.tensors.items() if key.startswith(f'{name}.')}


def linears(name):
    """Matrices of the tiny transformer that stay numbers."""
    model = diffusers.FluxTransformer2DModel(**CONFIG)
    return {key: tuple(value.shape) for key, value in model.state_dict().items() if not key.startswith(('transformer_blocks', 'single_'))}


FUSED = {'qkv_proj': 'attn.to_{}', 'qkv_proj_context': 'attn.add_{}_proj'}
ONE = {
    'out_proj': 'attn.to_out.0', 'out_proj_context': 'attn.to_add_out', 'mlp_fc1': 'ff.net.0.proj', 'mlp_fc2': 'ff.net.2',
    'mlp_context_fc1': 'ff_context.net.0.proj', 'mlp_context_fc2': 'ff_context.net.2',
}  # fmt: skip
SHAPES = {'qkv': (3 * HIDDEN, HIDDEN), 'out': (HIDDEN, HIDDEN), 'fc1': (FFN, HIDDEN), 'fc2': (HIDDEN, FFN)}


def shape_of(name):
    return next(shape for key, shape in SHAPES.items() if key in name)


def flux_file(fp4):
    file = File(SEED + fp4)
    for name, shape in linears('flux').items():
        file.numbers(name, shape, (1 / shape[1] ** 0.5 if len(shape) == 2 else 0.1))
    block = 'transformer_blocks.0'
    for name in ('norm1.linear', 'norm1_context.linear'):
        file.modulation(f'{block}.{name}', 6)
    for name in [*FUSED, *ONE]:
        file.module(f'{block}.{name}', *shape_of(name), fp4, 'qkv' in name)
    for name in ('norm_q', 'norm_k', 'norm_added_q', 'norm_added_k'):
        file.numbers(f'{block}.{name}.weight', (32,), 0.1, 1.0)
    single = 'single_transformer_blocks.0'
    file.modulation(f'{single}.norm.linear', 3)
    for name in ('qkv_proj', 'out_proj', 'mlp_fc1', 'mlp_fc2'):
        file.module(f'{single}.{name}', *shape_of(name), fp4, 'qkv' in name)
    for name in ('norm_q', 'norm_k'):
        file.numbers(f'{single}.{name}.weight', (32,), 0.1, 1.0)
    return file


def flux_state(file):
    """Names of diffusers for what the file stands for, in f64."""
    state = {name: value.double() for name, value in file.tensors.items() if not name.startswith(('transformer_blocks', 'single_'))}

    def put(name, made):
        state[f'{name}.weight'], state[f'{name}.bias'] = made[:2]

    block, single = 'transformer_blocks.0', 'single_transformer_blocks.0'
    for name in ('norm1.linear', 'norm1_context.linear'):
        put(f'{block}.{name}', modulation(file.of(f'{block}.{name}')))
    for name, pattern in FUSED.items():
        matrix, bias, _ = weight(file.of(f'{block}.{name}'))
        for part, rows, values in zip('qkv', matrix.chunk(3), bias.chunk(3)):
            put(f'{block}.{pattern.format(part)}', (rows, values))
    for name, other in ONE.items():
        put(f'{block}.{other}', weight(file.of(f'{block}.{name}'), name.endswith('fc2')))
    for norm in ('norm_q', 'norm_k', 'norm_added_q', 'norm_added_k'):
        state[f'{block}.attn.{norm}.weight'] = file.tensors[f'{block}.{norm}.weight'].double()
    put(f'{single}.norm.linear', modulation(file.of(f'{single}.norm.linear')))
    matrix, bias, _ = weight(file.of(f'{single}.qkv_proj'))
    for part, rows, values in zip('qkv', matrix.chunk(3), bias.chunk(3)):
        put(f'{single}.attn.to_{part}', (rows, values))
    put(f'{single}.proj_mlp', weight(file.of(f'{single}.mlp_fc1')))
    attended, added = weight(file.of(f'{single}.out_proj')), weight(file.of(f'{single}.mlp_fc2'), True)
    put(f'{single}.proj_out', (torch.cat([attended[0], added[0]], 1), attended[1] + added[1]))
    for norm in ('norm_q', 'norm_k'):
        state[f'{single}.attn.{norm}.weight'] = file.tensors[f'{single}.{norm}.weight'].double()
    return state


def recipe(file, path, metadata=None):
    """Writes the file as the recipe makes it: wide types first, then by name; and the recipe."""
    order = {'I32': 4, 'F32': 4, 'BF16': 2, 'I8': 1, 'F8_E4M3': 1}
    entries = sorted(file.entries, key=lambda entry: (-order[entry['dtype']], entry['names']))
    header, at, data = ({'__metadata__': metadata} if metadata else {}), 0, []
    for entry in entries:
        raw = file.tensors[entry['names']].contiguous().view(torch.uint8).numpy().tobytes()
        header[entry['names']] = {'dtype': entry['dtype'], 'shape': entry['shape'], 'data_offsets': [at, at + len(raw)]}
        at += len(raw)
        data.append(raw)
    text = json.dumps(header, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    whole = len(text).to_bytes(8, 'little') + text + b''.join(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(whole)
    head = {'seed': file.seed, 'dtype': 'BF16', 'sha256': hashlib.sha256(whole).hexdigest()[:16], **({'metadata': metadata} if metadata else {})}
    lines = ',\n'.join(json.dumps(entry, separators=(',', ':')) for entry in entries)
    path.with_name(path.name + '.recipe.json').write_text(json.dumps(head)[:-1] + ', "tensors": [\n' + lines + '\n]}\n')


def flux_case(fp4):
    name = f'nunchaku-{"fp4" if fp4 else "int4"}'
    folder = GOLDEN / 'image' / name
    file = flux_file(fp4)
    dtype = 'fp4_e2m1_all' if fp4 else 'int4'
    settings = {'method': 'svdquant', 'weight': {'dtype': dtype, 'group_size': 16 if fp4 else 64}, 'rank': RANK}
    metadata = {'config': json.dumps(CONFIG), 'model_class': 'NunchakuFluxTransformer2dModel', 'quantization_config': json.dumps(settings)}
    recipe(file, folder / 'weights.safetensors', metadata)
    model = diffusers.FluxTransformer2DModel(**CONFIG).eval().double()
    model.load_state_dict(flux_state(file))
    rows, columns, words = 4, 6, 9
    given = File(1)
    given.numbers('patches', (1, rows * columns, 64), 1.0, dtype='F32')
    given.numbers('pooled', (1, 64), 1.0, dtype='F32')
    given.numbers('text', (1, words, 64), 1.0, dtype='F32')
    recipe(given, folder / 'inputs.safetensors')
    places = torch.tensor([[0, y, x] for y in range(rows) for x in range(columns)], dtype=torch.float64)
    with torch.no_grad():
        sample = model(
            hidden_states=given.tensors['patches'].double(), encoder_hidden_states=given.tensors['text'].double(),
            pooled_projections=given.tensors['pooled'].double(), timestep=torch.tensor([0.64], dtype=torch.float64),
            guidance=torch.tensor([3.5], dtype=torch.float64), img_ids=places, txt_ids=torch.zeros(words, 3, dtype=torch.float64), return_dict=False,
        )[0]  # fmt: skip
    save_file({'sample': sample.float().contiguous()}, folder / 'outputs.safetensors')
    case = {
        'command': 'python scripts/reference/nunchaku_goldens.py',
        'made_with': {'torch': torch.__version__.split('+')[0], 'diffusers': diffusers.__version__},
        'class': 'FluxTransformer2DModel',
        'checkpoint': f'{name}/weights.safetensors',
        'config': CONFIG,
        'exercises': f'a transformer of SVDQuant in {"E2M1" if fp4 else "integers"} as nunchaku publishes it; 4 × 6 patches, 9 text rows',
    }
    (folder / 'case.json').write_text(json.dumps(case, indent=1, ensure_ascii=False) + '\n')
    print(name, sample.std().item(), file=sys.stderr)


def weights():
    stored = {}
    for name, fp4, by_row in (('int4', False, False), ('fp4', True, False), ('fp4rows', True, True)):
        file = File(11)
        file.module(name, 128, 256, fp4, by_row)
        module = file.of(name)
        stored |= file.tensors
        stored[f'{name}.values'] = weight(module)[2].float()
        stored[f'{name}.down.values'] = factor(module['lora_down'], True).float()
        stored[f'{name}.up.values'] = factor(module['lora_up'], False).float()
        stored[f'{name}.smooth.values'] = halves(module['smooth'], 256).float().view(-1)
        stored[f'{name}.bias.values'] = halves(module['bias'], 128).float().view(-1)
    file = File(12)
    file.modulation('turns', 3)
    matrix, bias = modulation(file.of('turns'))
    stored |= file.tensors | {'turns.values': matrix.float(), 'turns.bias.values': bias.float()}
    save_file({name: value.contiguous() for name, value in stored.items()}, GOLDEN / 'nunchaku-weights.safetensors')


if __name__ == '__main__':
    weights()
    for fp4 in (False, True):
        flux_case(fp4)
