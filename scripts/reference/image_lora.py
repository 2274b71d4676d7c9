"""Goldens of whole tiny pipelines with adapters:  python scripts/reference/image_lora.py [case ...]

test/golden/image/<case>/: like those of image_pipelines.py, with the adapters' files and `adapters` in case.json: file and scale of each.
diffusers reads the files itself, so that names, alphas and scales are its own. Each file names its modules as one kind of program does.
"""

import inspect
import sys
from dataclasses import dataclass, replace

import numpy as np
import torch
from diffusers.loaders import lora_conversion_utils, lora_pipeline
from peft import LoraConfig, PeftModel
from safetensors.torch import save_file

import image_pipelines
from image_checkpoints import ROOT
from image_golden import write_case
from image_pipeline_case import Pipeline, call
from image_pipeline_cases_flux import DEV, FLUX
from image_pipeline_cases_lumina2 import LUMINA2
from image_pipeline_cases_pixart import PIXART
from image_pipeline_cases_qwen import QWEN
from image_pipeline_cases_sana import SANA
from image_pipeline_cases_sd3 import SD3
from recipe import Draws, keep

SD, XL, Z = 'StableDiffusionPipeline', 'StableDiffusionXLPipeline', 'ZImagePipeline'
NORMS = ('norm_q', 'norm_k', 'norm_added_q', 'norm_added_k')
T5 = ('q', 'v', 'o', 'wi_0', 'wi_1', 'wo')
LINEAR = ('to_q', 'to_k', 'to_v', 'to_out.0', 'proj', 'net.2')
CLIP = ('q_proj', 'k_proj', 'v_proj', 'out_proj', 'fc1', 'fc2')
CONV = ('conv1', 'conv2', 'conv_shortcut', 'proj_in', 'proj_out', 'time_emb_proj', 'downsamplers.0.conv', 'upsamplers.0.conv')
DIT = ('to_q', 'to_k', 'to_v', 'to_out.0', 'w1', 'w2', 'w3')


@dataclass
class Adapter:
    names: str  # a function below
    scale: float
    components: dict[str, tuple[str, ...]]  # endings of the modules that it changes
    rank: int = 2
    alpha: float | None = None
    dora: bool = False
    control: bool = False  # widens x_embedder for a control image; factors have biases, and norms of queries and keys are replaced


CASES = {
    'lora-sd1-kohya': (
        Pipeline(SD, 'sd1', 'kohya: attention, convolutions and text encoder, alpha', call(), seeds=(3,)),
        [Adapter('kohya', 1.0, {'unet': LINEAR + CONV, 'text_encoder': CLIP}, rank=3, alpha=1.5)],
    ),
    'lora-sd1-two': (
        Pipeline(SD, 'sd1', 'two adapters with scales: diffusers now and before PEFT', call(1), seeds=(4,)),
        [
            Adapter('diffusers', 0.75, {'unet': LINEAR, 'text_encoder': CLIP}),
            Adapter('former', -0.5, {'unet': LINEAR[:4]}, rank=3),
        ],
    ),
    'lora-sd1-dora': (
        Pipeline(SD, 'sd1', 'DoRA of attention and convolutions', call(2), seeds=(5,)),
        [Adapter('diffusers', 1.0, {'unet': LINEAR[:3] + ('conv1',)}, dora=True)],
    ),
    'lora-sdxl-sgm': (
        Pipeline(XL, 'sdxl', 'blocks with the numbers of the original program; both text encoders', call(), seeds=(6,)),
        [Adapter('sgm', 0.5, {'unet': LINEAR, 'text_encoder': CLIP, 'text_encoder_2': CLIP}, alpha=1)],
    ),
    'lora-z-image': (
        Pipeline(Z, 'z-image', 'ComfyUI: diffusion_model and lora_A', call(0, None, guidance=0.0), seeds=(7,)),
        [Adapter('comfy', 0.8, {'transformer': DIT})],
    ),
    'lora-flux': (
        replace(FLUX['pipeline-flux'], exercises='kohya: names of the original program, of fused projections; ai-toolkit', seeds=(8,)),
        [
            Adapter('flux_kohya', 0.7, {'transformer': (), 'text_encoder': CLIP}, alpha=1.5),
            Adapter('diffusers', 0.6, {'transformer': ('to_q', 'to_out.0', 'proj_mlp', 'proj_out', 'net.2')}, rank=3),
        ],
    ),
    'lora-flux-control': (
        replace(
            FLUX['pipeline-flux-control'], checkpoint='flux', components=DEV,
            exercises='a control image for a model that takes none: the first layer is widened, norms are replaced, factors have biases', seeds=(10,),
        ),
        [Adapter('diffusers', 0.85, {'transformer': ('x_embedder', 'to_q', 'to_out.0', 'proj_mlp', 'net.2')}, control=True)],
    ),
    'lora-sd3': (
        replace(SD3['pipeline-sd3'], exercises="diffusers: transformer and both CLIP; PEFT's names of the transformer alone", seeds=(11,)),
        [
            Adapter(
                'diffusers', 0.9, {'transformer': ('to_q', 'add_k_proj', 'to_add_out', 'net.2', 'linear'), 'text_encoder': CLIP, 'text_encoder_2': CLIP}
            ),
            Adapter('diffusers', -0.4, {'transformer': ('to_q', 'to_v', 'to_out.0')}, rank=3),
        ],
    ),
    'lora-qwen-image': (
        replace(QWEN['pipeline-qwen-image-unguided'], exercises='kohya: names of diffusers joined by underscores', seeds=(9,)),
        [Adapter('kohya', 3.0, {'transformer': ('to_q', 'to_v', 'add_k_proj', 'to_out.0', 'to_add_out', 'net.2', 'mod.1')}, alpha=1)],
    ),
    'lora-sana': (
        replace(SANA['pipeline-sana-unguided'], exercises='diffusers: attention and the convolutions of the feed-forward parts', seeds=(12,)),
        [Adapter('diffusers', 0.5, {'transformer': ('to_q', 'to_v', 'to_out.0', 'conv_inverted', 'conv_point')}, rank=3)],
    ),
    'lora-lumina2': (
        replace(LUMINA2['pipeline-lumina2-truncated'], exercises='ComfyUI: names of the original program, of fused projections', seeds=(14,)),
        [Adapter('lumina2_original', 0.8, {'transformer': ()})],
    ),
    'lora-pixart': (
        replace(PIXART['pipeline-pixart-unguided'], exercises='PEFT, whose settings stand beside the file: diffusers has no loader for PixArt', seeds=(13,)),
        [Adapter('peft', 1.0, {'transformer': ('to_q', 'to_v', 'to_out.0', 'net.0.proj', 'net.2', 'proj_out')}, alpha=3)],
    ),
}  # fmt: skip


def kohya(component, module):
    prefix = {'unet': 'lora_unet', 'text_encoder': 'lora_te', 'transformer': 'lora_unet'}[component]
    return f'{prefix}_{module.replace(".", "_")}', '.lora_down.weight', '.lora_up.weight'


def diffusers(component, module):
    return f'{component}.{module}', '.lora_A.weight', '.lora_B.weight'


def former(component, module):
    block, layer = module.replace('to_out.0', 'to_out').rsplit('.', 1)
    return f'{component}.{block}.processor.{layer}_lora', '.down.weight', '.up.weight'


def comfy(_, module):
    return f'diffusion_model.{module}', '.lora_A.weight', '.lora_B.weight'


def peft(_, module):
    return f'base_model.model.{module}', '.lora_A.weight', '.lora_B.weight'


def sgm(component, module):
    """The tiny UNet has levels of one residual block, like `layers_per_block` in its configuration."""
    if component != 'unet':
        return f'lora_te{"2" if component.endswith("2") else "1"}_{module.replace(".", "_")}', '.lora_down.weight', '.lora_up.weight'
    parts = module.split('.')
    side, rest = parts[0], parts[1:]
    if side == 'mid_block':
        name = f'middle_block_1_{"_".join(rest[2:])}'
    elif side == 'down_blocks':
        name = f'input_blocks_{int(rest[0]) * 2 + int(rest[2]) + 1}_1_{"_".join(rest[3:])}'
    else:
        name = f'output_blocks_{int(rest[0]) * 2 + int(rest[2])}_1_{"_".join(rest[3:])}'
    return f'lora_unet_{name}', '.lora_down.weight', '.lora_up.weight'


def flux_kohya(component, module):
    return (module if component == 'transformer' else kohya(component, module)[0]), '.lora_down.weight', '.lora_up.weight'


def lumina2_original(_, module):
    return module, '.lora_A.weight', '.lora_B.weight'


def lumina2_modules(transformer):
    """Names and shapes of the original program's modules, all of which diffusers wants."""
    width, shared = transformer.config.hidden_size, transformer.layers[0].attn.to_k.out_features
    wide = transformer.layers[0].feed_forward.linear_1.out_features
    widen_conversions('_convert_non_diffusers_lumina2_lora_to_diffusers', '[2304, 768, 768]', [width, shared, shared])
    for part in ('noise_refiner', 'context_refiner', 'layers'):
        for i in range(len(getattr(transformer, part))):
            name = f'diffusion_model.{part}.{i}'
            yield f'{name}.attention.qkv', (width + 2 * shared, width)
            yield f'{name}.attention.out', (width, width)
            yield from ((f'{name}.feed_forward.w{k}', (width, wide) if k == 2 else (wide, width)) for k in (1, 2, 3))
            if part != 'context_refiner':
                yield f'{name}.adaLN_modulation.1', (4 * width, min(width, 1024))


def flux_modules(transformer):
    """Names and shapes of the original program's modules."""
    width, wide = transformer.inner_dim, 4 * transformer.inner_dim
    widen_conversions('_convert_kohya_flux_lora_to_diffusers', '[3072, 3072, 3072, 12288]', [width, width, width, wide])
    for i in range(len(transformer.transformer_blocks)):
        for stream in ('img', 'txt'):
            name = f'lora_unet_double_blocks_{i}_{stream}'
            yield f'{name}_attn_qkv', (3 * width, width)
            yield f'{name}_attn_proj', (width, width)
            yield f'{name}_mlp_0', (wide, width)
            yield f'{name}_mlp_2', (width, wide)
            yield f'{name}_mod_lin', (6 * width, width)
    for i in range(len(transformer.single_transformer_blocks)):
        yield f'lora_unet_single_blocks_{i}_linear1', (3 * width + wide, width)
        yield f'lora_unet_single_blocks_{i}_linear2', (width, width + wide)
        yield f'lora_unet_single_blocks_{i}_modulation_lin', (3 * width, width)


ORIGINALS = {'flux_kohya': flux_modules, 'lumina2_original': lumina2_modules}


def widen_conversions(function, published, widths):
    """diffusers splits fused rows by published widths; the tiny model has others."""
    module = lora_conversion_utils
    source = inspect.getsource(getattr(module, function))
    assert published in source
    exec(source.replace(published, str(widths)), vars(module))
    setattr(lora_pipeline, function, getattr(module, function))


def drawn(pipe, adapter, seed):
    draws, tensors = Draws(seed), {}
    for component, endings in adapter.components.items():
        layers = [(name, layer) for name, layer in getattr(pipe, component).named_modules()]
        if adapter.names in ORIGINALS and component == 'transformer':
            layers = [(name, torch.nn.Linear(*shape[::-1])) for name, shape in ORIGINALS[adapter.names](pipe.transformer)]
            endings = ('',)
        for module, layer in layers:
            if endings != ('',) and not f'.{module}'.endswith(tuple(f'.{ending}' for ending in endings)) or not hasattr(layer, 'weight'):
                continue
            weight = layer.weight
            rank = adapter.rank
            widened = adapter.control and module == 'x_embedder'
            columns = (2 * weight.shape[1],) if widened else weight.shape[1:]
            # transformers 5 leaves out the text_model that adapters' names have.
            named = module if not component.startswith('text_encoder') or module.startswith('text_model') else f'text_model.{module}'
            name, down, up = globals()[adapter.names](component, named)
            shapes = (rank, *columns), (weight.shape[0], rank, *[1] * (weight.dim() - 2))
            tensors[f'{name}{down}'] = draws(f'{name}{down}', shapes[0], weight[0].numel() ** -0.5)
            tensors[f'{name}{up}'] = draws(f'{name}{up}', shapes[1], 0.5)
            if adapter.control:
                bias = f'{name}{up.removesuffix(".weight")}.bias'
                tensors[bias] = draws(bias, weight.shape[:1], 0.2)
            if adapter.alpha is not None and adapter.names != 'peft':
                tensors[f'{name}.alpha'] = torch.tensor(float(adapter.alpha))
            if adapter.dora:
                shape = (len(weight),) if weight.dim() == 2 else (1, len(weight), 1, 1)
                mean = 1.15 * weight.flatten(1).norm(dim=1).mean().item()
                tensors[f'{name}.lora_magnitude_vector'] = draws(f'{name}.lora_magnitude_vector', shape, 0.1 * mean, mean)
    if adapter.control:
        for module, layer in pipe.transformer.named_modules():
            if module.endswith(NORMS):
                tensors[f'transformer.{module}.weight'] = draws(f'transformer.{module}.weight', layer.weight.shape, 0.3, 1.15)
    return {key: value.detach().contiguous() for key, value in tensors.items()}, draws


def load_peft(pipe, folder, adapter, tensors):
    """As PEFT loads what it saved; the pipeline has no loader of its own."""
    targets = sorted({name.removeprefix('base_model.model.').rsplit('.lora_', 1)[0] for name in tensors})
    save_file(tensors, folder / 'adapter_model.safetensors')
    LoraConfig(r=adapter.rank, lora_alpha=adapter.alpha, target_modules=targets).save_pretrained(folder)
    pipe.transformer = PeftModel.from_pretrained(pipe.transformer, str(folder)).merge_and_unload()


def make(name):
    case, adapters = CASES[name]
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    opened = image_pipelines.opened

    def adapted(case):
        pipe = opened(case)
        names = []
        for i, adapter in enumerate(adapters):
            tensors, draws = drawn(pipe if i == 0 else opened(case), adapter, 40 + i)
            if adapter.names == 'peft':
                load_peft(pipe, folder, adapter, tensors)
                keep(folder / 'adapter_model.safetensors', draws)
                return pipe
            save_file(tensors, folder / f'adapter-{i}.safetensors')
            keep(folder / f'adapter-{i}.safetensors', draws)
            pipe.load_lora_weights(str(folder), weight_name=f'adapter-{i}.safetensors', adapter_name=f'a{i}')
            names.append(f'a{i}')
        pipe.set_adapters(names, [adapter.scale for adapter in adapters])
        return pipe

    takes_all = not any(adapter.control for adapter in adapters)  # without its adapter, the model takes no control image
    plain = image_pipelines.run(case)[1] if takes_all else None
    image_pipelines.opened = adapted
    pipe, result, timesteps = image_pipelines.run(case)
    image_pipelines.opened = opened
    change = np.abs(result['pixels'].numpy().astype(int) - plain['pixels'].numpy().astype(int)).mean() if plain else np.inf
    assert change > 4, f'{name} changes the image by {change:.1f} of 255 only'
    document = {
        'class': case.model,
        'checkpoint': f'checkpoints/{case.checkpoint}',
        'components': {name: f'checkpoints/{path}' for name, path in case.components.items()},
        'exercises': case.exercises,
        'arguments': case.arguments,
        'seeds': case.seeds,
        'adapters': [
            {'file': 'adapter_model.safetensors' if one.names == 'peft' else f'adapter-{i}.safetensors', 'scale': one.scale}
            for i, one in enumerate(adapters)
        ],
        'scheduler': {
            'class': type(pipe.scheduler).__name__,
            'config': {key: v for key, v in pipe.scheduler.config.items() if not key.startswith('_')},
        },
        'timesteps': timesteps,
    }
    inputs = {f'control_{i}': torch.from_numpy(image) for i, image in enumerate(image_pipelines.control(case))}
    write_case(name, 'image_lora.py', document, inputs, {'pixels': result['pixels']})
    print(f'{name:16} changes the image by {change:.1f} of 255')


if __name__ == '__main__':
    for name in sys.argv[1:] or CASES:
        make(name)
