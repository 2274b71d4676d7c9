"""Makes the tiny diffusers checkpoints of test/golden/image/checkpoints:  python scripts/reference/image_checkpoints.py [sd1 ...]

Random weights of the true classes, in the published folder layout. Standard deviations are chosen by role so that
activations keep ordinary magnitudes, attention is not flat, and norms and biases matter. Weights are rounded to the
type they are stored in; goldens are computed in f32 from exactly those values.
"""

import json
import shutil
import sys
from pathlib import Path

import diffusers
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import CLIPTextModel, CLIPTextModelWithProjection, CLIPVisionModel, PreTrainedModel, SiglipVisionModel

from image_configs import CHECKPOINTS, VOCABULARY
from image_tokenizer import write_gemma_tokenizer, write_mistral_tokenizer, write_qwen_tokenizer, write_t5_tokenizer, write_tokenizer
from recipe import Draws, keep

ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'image'
FOLDERS = ROOT / 'checkpoints'
DTYPES = {'f32': torch.float32, 'f16': torch.float16, 'bf16': torch.bfloat16}
OLD_NAMES = {'.to_q.': '.query.', '.to_k.': '.key.', '.to_v.': '.value.', '.to_out.0.': '.proj_attn.'}
SHARP = ('to_q', 'to_k', 'q_proj', 'k_proj', 'query', 'key')


def draw(model, seed, gains=None):
    """Random weights; `gains` maps a module's name to its own factor. Returns what was drawn."""
    draws = Draws(seed)
    for path, module in model.named_modules():
        for name, weight in module.named_parameters(recurse=False):
            full = f'{path}.{name}'.lstrip('.')
            weight.data = draws(full, weight.shape, *spread(path, module, name, weight, gains or {}))
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.data = draws(f'{path}.running_mean', module.running_mean.shape, 0.5)
            module.running_var.data = draws(f'{path}.running_var', module.running_var.shape, 0.3, 1.0)
    for full, table in model.named_buffers():
        if full.endswith('pos_embed') and full in model.state_dict():
            table.copy_(draws(full, table.shape, 0.75))  # a stored table rules, whatever its formula gives
        if full in ('latents_mean', 'latents_std'):
            table.copy_(draws(full, table.shape, 0.3, float(full == 'latents_std')))
    model.eval()
    return draws


def spread(path, module, name, weight, gains):
    """Deviation and mean of a parameter."""
    if 'norm' in type(module).__name__.lower():
        return (0.3, 1.0) if name in ('weight', 'gamma') else (0.2, 0.0)
    if name == 'bias':
        return 0.2, 0.0
    if weight.dim() >= 2 and isinstance(module, nn.Linear | nn.Conv2d | nn.Conv3d):
        gain = (1.5 if path.endswith(SHARP) else 1.0) * gains.get(path, 1.0)
        frames = weight.shape[2] if isinstance(module, nn.Conv3d) and module.kernel_size[1] < 4 else 1  # one sees an image
        return gain / (weight[0].numel() / frames) ** 0.5, 0.0
    if name == 'timestep_scale_multiplier':
        return 0.0, 1000.0  # as in all published checkpoints
    assert isinstance(module, nn.Embedding) or name.endswith(('pad_token', 'per_channel_scale1', 'per_channel_scale2', 'scale_shift_table', 'pos_embed', 'class_embedding', 'probe', 'in_proj_weight', 'in_proj_bias')), f'{path}.{name}'
    return 0.6, 0.0


def clear(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def build(part):
    if issubclass(part.model, PreTrainedModel):
        return part.model(part.model.config_class(**part.config))
    return part.model(**part.config)


def save_diffusers(folder, model, part):
    clear(folder)
    model.to(DTYPES[part.dtype]).save_pretrained(folder)
    if part.old_names:
        path = folder / 'diffusion_pytorch_model.safetensors'
        state = load_file(path)
        for new, old in OLD_NAMES.items():
            state = {name.replace(new, old): tensor for name, tensor in state.items()}
        save_file(state, path, {'format': 'pt'})


def save_transformers(folder, model, part):
    """Names as in published checkpoints, configuration in the keys they use."""
    clear(folder)
    state = {name: tensor.to(DTYPES[part.dtype]).contiguous() for name, tensor in model.state_dict().items()}
    if part.published and isinstance(model, CLIPTextModel | CLIPTextModelWithProjection):
        state = {name if name.startswith('text_') else f'text_model.{name}': tensor for name, tensor in state.items()}
        state['text_model.embeddings.position_ids'] = torch.arange(77)[None]  # older releases kept them in the file
    if part.published and isinstance(model, CLIPVisionModel | SiglipVisionModel):
        state = {f'vision_model.{name.removeprefix("vision_model.")}': tensor for name, tensor in state.items()}
    if part.config.get('tie_word_embeddings'):
        state.pop('lm_head.weight', None)
    save_file(state, folder / 'model.safetensors', {'format': 'pt'})
    config = {'model_type': model.config.model_type, 'architectures': [type(model).__name__], **part.config}
    config['torch_dtype'] = str(DTYPES[part.dtype]).removeprefix('torch.')
    (folder / 'config.json').write_text(json.dumps(config, indent=2) + '\n')


def save_component(folder, part):
    """One component by its description: a tokenizer, a scheduler, or a model with weights."""
    if part.kind == 'copy':
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(FOLDERS / part.source, folder)
    elif part.kind == 'file':
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in part.config.items():
            (folder / name).write_text(json.dumps(value, indent=2) + '\n')
    elif part.kind == 'qwen tokenizer':
        clear(folder)
        write_qwen_tokenizer(folder, **part.config)
    elif part.kind == 'mistral tokenizer':
        clear(folder)
        write_mistral_tokenizer(folder)
    elif part.kind == 'gemma tokenizer':
        clear(folder)
        write_gemma_tokenizer(folder)
    elif part.kind == 't5 tokenizer':
        clear(folder)
        write_t5_tokenizer(folder)
    elif part.kind == 'tokenizer':
        clear(folder)
        size = write_tokenizer(folder, **part.config)
        assert size <= VOCABULARY, size
    elif part.kind == 'scheduler':
        clear(folder)
        getattr(diffusers, part.model)(**part.config).save_pretrained(folder)
        path = folder / 'scheduler_config.json'
        path.write_text(json.dumps(json.loads(path.read_text()) | part.extra, indent=2) + '\n')
    else:
        model = build(part)
        draws = draw(model, part.seed, part.gains)
        save = save_transformers if isinstance(model, PreTrainedModel) else save_diffusers
        save(folder, model, part)
        for path in folder.glob('*.safetensors'):
            keep(path, draws)


def make(name):
    checkpoint = CHECKPOINTS[name]
    for component, part in checkpoint.parts.items():
        save_component(FOLDERS / name / component, part)
    if checkpoint.index:
        (FOLDERS / name / 'model_index.json').write_text(json.dumps(checkpoint.index, indent=2) + '\n')


if __name__ == '__main__':
    for name in sys.argv[1:] or CHECKPOINTS:
        make(name)
        size = sum(file.stat().st_size for file in (FOLDERS / name).rglob('*') if file.is_file())
        print(f'{name}: {size} bytes', flush=True)
