"""Makes tiny checkpoints as quantizing programs write them:  python scripts/reference/quantized_folders.py

test/golden/quantized/<case>/ holds a checkpoint of random weights that bitsandbytes (through transformers) or mlx-lm has quantized and saved;
test/golden/quantized/<case>-lora/ an adapter as PEFT saves it. test/golden/quantized.safetensors holds `ids` [rows], and for each case `<case>` and
`<case>-lora` = f32 logits [rows, vocabulary] of transformers over ids, in f32, with the weights as the programs' own code dequantizes them.
Needs requirements-quantized.txt.
"""

import json
import shutil
import tempfile
from pathlib import Path

import bitsandbytes.functional as bnb
import mlx.core as mx
import numpy as np
import torch
from mlx_lm import convert
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, BitsAndBytesConfig

from case_model import MIXTRAL, fused
from checkpoint import ROOT, draw

FOLDER = ROOT / 'quantized'
TOKENIZER = ROOT.parents[1] / 'models' / 'svc-chat-mini'
ROWS = 40
ADAPTED = ('q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj')
SMALL = {'hidden_size': 64, 'vocab_size': 96, 'head_dim': 32, 'num_attention_heads': 4, 'num_hidden_layers': 2}

NESTED = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type='nf4', bnb_4bit_use_double_quant=True)
FP4 = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type='fp4')
INT8 = BitsAndBytesConfig(load_in_8bit=True)


def by_path(path, module):
    """Routers at 8 bits, as mlx-lm's own recipes have them; one projection as it was."""
    if path.endswith('mlp.gate'):
        return {'group_size': 64, 'bits': 8}
    return path != 'model.layers.1.self_attn.o_proj'


CASES = {
    'nf4': ('llama', {'intermediate_size': 128, 'rope_scaling': None}, NESTED),
    'fp4': ('qwen3', {'intermediate_size': 96, 'tie_word_embeddings': False}, FP4),
    'int8': ('qwen2', {'intermediate_size': 96, 'head_dim': 16}, INT8),
    'mlx4': ('qwen3', {'intermediate_size': 128, 'tie_word_embeddings': True}, {'q_bits': 4, 'q_group_size': 64}),
    'mlx8': ('gemma3', {'intermediate_size': 96, 'layer_types': ['sliding_attention', 'full_attention']}, {'q_bits': 8, 'q_group_size': 32}),
    'mlx-experts': ('qwen3-moe', {'moe_intermediate_size': 32}, {'q_bits': 4, 'q_group_size': 32, 'quant_predicate': by_path}),
    'mlx-mxfp4': ('mixtral', {'intermediate_size': 64, 'head_dim': 16, 'num_experts': 4, 'num_local_experts': 4}, {'q_bits': 4, 'q_group_size': 32, 'q_mode': 'mxfp4'}),
}
ADAPTED_CASES = ('nf4', 'int8', 'mlx4', 'mlx8')


def one_by_one(state, is_mixtral):
    """Experts under the names of files."""
    names = {kind: number for number, kind in MIXTRAL.items()} if is_mixtral else {}
    out = {}
    for name, tensor in state.items():
        block = name.rpartition('.experts.')[0]
        own = f'{block.replace(".mlp", ".block_sparse_moe") if is_mixtral else block}.experts'
        if name.endswith('experts.gate_up_proj'):
            parts = {'gate_proj': tensor.chunk(2, 1)[0], 'up_proj': tensor.chunk(2, 1)[1]}
        elif name.endswith('experts.down_proj'):
            parts = {'down_proj': tensor}
        else:
            out[name.replace('.mlp.', '.block_sparse_moe.') if is_mixtral else name] = tensor
            continue
        for kind, each in parts.items():
            out |= {f'{own}.{e}.{names.get(kind, kind)}.weight': weight.contiguous() for e, weight in enumerate(each)}
    return out


def plain(folder, source, changes, seed):
    """A checkpoint of random weights in bf16, and its config."""
    stated = json.loads((ROOT / source / 'config.json').read_text())
    config = stated | SMALL | changes
    folder.mkdir(parents=True)
    for file in ('tokenizer.json', 'tokenizer_config.json'):
        shutil.copy(TOKENIZER / file, folder / file)
    (folder / 'config.json').write_text(json.dumps(config))
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder), dtype=torch.float32)
    draw(model, config, seed)
    state = {name: tensor.to(torch.bfloat16) for name, tensor in one_by_one(model.state_dict(), source == 'mixtral').items()}
    if config['tie_word_embeddings']:
        del state['lm_head.weight']
    save_file(state, folder / 'model.safetensors', {'format': 'pt'})


def from_bitsandbytes(path):
    stored = load_file(path)
    out = {}
    for name, tensor in stored.items():
        states = {key: held for key, held in stored.items() if key.startswith(f'{name}.')}
        if f'{name.removesuffix("weight")}SCB' in stored and name.endswith('.weight'):
            out[name] = bnb.int8_vectorwise_dequant(tensor, stored[f'{name.removesuffix("weight")}SCB'])
        elif states:
            state = bnb.QuantState.from_dict({key.removeprefix(f'{name}.'): held for key, held in states.items()}, torch.device('cpu'))
            shape, state.dtype = state.shape, torch.float32
            state.shape = torch.Size([shape.numel()])  # see bitsandbytes_weights.py
            out[name] = bnb.dequantize_4bit(tensor, state).reshape(shape)
        elif tensor.is_floating_point() and '.weight.' not in name and not name.endswith('SCB'):
            out[name] = tensor.float()
    return out


def from_mlx(path, config):
    stored, settings = mx.load(str(path)), config['quantization']
    out = {}
    for name, tensor in stored.items():
        module = name.removesuffix('.weight')
        if name.endswith(('.scales', '.biases')):
            continue
        if f'{module}.scales' not in stored:
            out[name] = torch.from_numpy(np.array(tensor.astype(mx.float32)))
            continue
        form = settings | settings[module] if module in settings else settings
        scales, biases = stored[f'{module}.scales'], stored.get(f'{module}.biases')
        mode = form.get('mode', 'affine')
        wide = {'scales': scales} if mode == 'mxfp4' else {'scales': scales.astype(mx.float32), 'biases': biases.astype(mx.float32)}
        values = mx.dequantize(tensor, **wide, group_size=form['group_size'], bits=form['bits'], mode=mode, dtype=mx.float32)
        values = torch.from_numpy(np.array(values))
        if '.switch_mlp.' not in module:
            out[name] = values
            continue
        for expert, weight in enumerate(values):
            out[f'{module.replace(".switch_mlp.", f".experts.{expert}.")}.weight'] = weight
    return out


@torch.no_grad()
def logits(folder, state, ids):
    config = AutoConfig.from_pretrained(folder)
    for key in ('quantization_config', 'quantization'):
        if hasattr(config, key):
            delattr(config, key)
    config._attn_implementation = 'eager'
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    missing, unexpected = model.load_state_dict(fused(state), strict=False)
    assert not unexpected and all('lm_head' in name or 'rotary' in name for name in missing), (missing, unexpected)
    model.tie_weights()
    return model(ids[None]).logits[0]


def adapted(folder, state, random):
    """An adapter of rank 4 for all projections, and the weights with it."""
    factors, merged = {}, dict(state)
    for name, weight in state.items():
        if not any(f'.{kind}.weight' in name for kind in ADAPTED):
            continue
        a = torch.randn(4, weight.shape[1], generator=random) / 8
        b = torch.randn(weight.shape[0], 4, generator=random) / 8
        module = f'base_model.model.{name.removesuffix(".weight")}'
        factors |= {f'{module}.lora_A.weight': a, f'{module}.lora_B.weight': b}
        merged[name] = weight + 2 * b @ a
    folder.mkdir()
    save_file(factors, folder / 'adapter_model.safetensors')
    config = {'peft_type': 'LORA', 'r': 4, 'lora_alpha': 8, 'target_modules': list(ADAPTED)}
    (folder / 'adapter_config.json').write_text(json.dumps(config))
    return merged


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    random = torch.Generator().manual_seed(15)
    found = {'ids': torch.randint(3, SMALL['vocab_size'], (ROWS,), generator=random)}
    for number, (name, (source, changes, how)) in enumerate(CASES.items()):
        torch.manual_seed(number)
        with tempfile.TemporaryDirectory() as scratch:
            origin, made = Path(scratch) / 'plain', Path(scratch) / 'made'
            plain(origin, source, changes, number)
            if isinstance(how, dict):
                convert(str(origin), str(made), quantize=True, **how)
            else:
                AutoModelForCausalLM.from_pretrained(origin, quantization_config=how, device_map='cpu').save_pretrained(made)
            config = json.loads((made / 'config.json').read_text())
            path = made / 'model.safetensors'
            state = from_mlx(path, config) if isinstance(how, dict) else from_bitsandbytes(path)
            found[name] = logits(made, state, found['ids'])
            if name in ADAPTED_CASES:
                merged = adapted(FOLDER / f'{name}-lora', state, random)
                found[f'{name}-lora'] = logits(made, merged, found['ids'])
            (FOLDER / name).mkdir()
            for file in ('config.json', 'model.safetensors'):
                shutil.copy(made / file, FOLDER / name / file)
    save_file(found, FOLDER.with_suffix('.safetensors'))


main()
