"""Makes the tiny checkpoints of test/golden:  python scripts/reference/checkpoint.py [NAME of a checkpoint in cases.py…]

Weights are drawn at random by draws.py, norms away from one and biases away from zero. golden.py runs after this.
"""

import json
import re
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from case_model import build
from cases import CHECKPOINTS
from layouts import stored
from mxfp4 import is_expert
from recipe import Draws, keep

ROOT = Path(__file__).parents[2] / 'test' / 'golden'
DTYPES = {'float32': torch.float32, 'float16': torch.float16, 'bfloat16': torch.bfloat16}


def draw(model, config, seed):
    """Random weights: standard deviations by role, so that attention is not flat and logits are of order 1 to 10."""
    hidden, draws = model.config.hidden_size, Draws(seed)
    # Where embeddings are multiplied, a head tied to them would repeat the last token.
    embedded = {'granite': 0.04, 'minicpm3': 0.08, 'gemma2': 0.4, 'gemma3_text': 0.4, 'gemma3n_text': 0.4, 'gemma4_text': 0.4, 'granitemoe': 0.04, 'granitemoeshared': 0.04, 'granitemoehybrid': 0.04}.get(model.config.model_type, 2)
    for name, weight in model.named_parameters():
        if name.endswith('A_log'):
            weight.data = draws(name, weight.shape, 1, -1.5)  # some heads forget within a few tokens, others keep dozens
        elif name.endswith(CHOICE_BIASES):
            weight.data = draws(name, weight.shape, 0.1)
        elif weight.dim() == 1:
            is_norm = re.search(r'norm|\bln_', name) and not name.endswith('bias')
            is_factor = is_norm or name.endswith(('router.scale', 'per_expert_scale'))
            weight.data = draws(name, weight.shape, 0.3, 1.0 if is_factor else 0.0)
        elif re.search(r'embed|lm_head|\bw[tp]e\b', name):
            weight.data = draws(name, weight.shape, embedded / hidden**0.5)
        else:
            is_divided = name.endswith(('router.proj.weight', 'modality_router.weight'))  # Gemma 4 divides the logits by √hidden, Gemma 3n by hidden
            is_router = name.endswith(('gate.weight', 'gate.wg.weight', 'router.weight')) and not is_divided
            is_query = re.search(r'[qk]_proj|query_key|c_attn|[Ww]qkv|q_b_proj|kv_b_proj', name)
            gain = 1.6 if is_query else 3.0 if is_router else 3.0 * hidden**0.5 if is_divided else 1.0
            weight.data = draws(name, weight.shape, gain / weight.shape[-1] ** 0.5)
    for name, bias in model.named_buffers():
        if name.endswith(CHOICE_BIASES):
            bias.data = draws(name, bias.shape, 0.2 if model.config.model_type == 'nemotron_h' else 0.1)
    return draws


# What routers add to the scores of their experts for the choice.
CHOICE_BIASES = ('correction_bias', 'expert_bias')


def published_spelling(values):
    """A configuration saved by transformers 5, in the keys of the checkpoints published so far."""
    parameters = values.pop('rope_parameters')
    is_gpt_oss = values['model_type'] == 'gpt_oss'
    for key in ('transformers_version', *([] if is_gpt_oss else ['layer_types'])):
        values.pop(key, None)
    theta = parameters.pop('rope_theta')
    if 'partial_rotary_factor' in parameters:
        values['partial_rotary_factor'] = parameters.pop('partial_rotary_factor')
    scaling = None if parameters['rope_type'] == 'default' and 'alpha' not in parameters else parameters
    values |= {'rope_theta': theta, 'rope_scaling': scaling, 'torch_dtype': values.pop('dtype')}
    if values['model_type'] == 'minimax_m2':
        values |= {'rotary_dim': int(values.pop('partial_rotary_factor') * values['head_dim'])}
    elif 'num_local_experts' in values and not is_gpt_oss:
        values['num_experts'] = values.pop('num_local_experts')
    if values.get('head_dim') == values['hidden_size'] // values['num_attention_heads']:
        del values['head_dim']
    return values


def write_config(checkpoint, folder):
    if checkpoint.layout:
        (folder / 'config.json').write_text(json.dumps(checkpoint.layout.config, indent=2) + '\n')
        return
    config = checkpoint.model.config_class(**checkpoint.config)
    config.architectures = [checkpoint.model.__name__]
    config.save_pretrained(folder)
    if checkpoint.spelling == 'published':
        path = folder / 'config.json'
        values = published_spelling(json.loads(path.read_text()))
        if checkpoint.experts == 'mxfp4':
            values['quantization_config'] = {'quant_method': 'mxfp4', 'modules_to_not_convert': KEPT}
        path.write_text(json.dumps(dict(sorted(values.items())), indent=2) + '\n')


KEPT = ['model.layers.*.self_attn', 'model.layers.*.mlp.router', 'model.embed_tokens', 'lm_head']


def save_mxfp4(model, draws, dtype, folder):
    """Experts are codes under exponents that give them the deviation of the other weights."""
    tensors = {}
    for name, value in model.state_dict().items():
        if is_expert(name):
            experts, k, rows = value.shape
            tensors[f'{name}_blocks'] = draws.integers(f'{name}_blocks', (experts, rows, k // 32, 16), 0, 255)
            tensors[f'{name}_scales'] = draws.integers(f'{name}_scales', (experts, rows, k // 32), 121, 123)
        else:
            tensors[name] = value.to(dtype)
    tensors = {name: tensor.contiguous() for name, tensor in sorted(tensors.items())}
    save_file(tensors, folder / 'model.safetensors', {'format': 'pt'})


def make(checkpoint):
    folder = ROOT / checkpoint.name
    folder.mkdir(parents=True, exist_ok=True)
    write_config(checkpoint, folder)
    model = build(checkpoint, checkpoint.cases[0], folder)
    draws = draw(model, checkpoint.config, checkpoint.seed)
    if checkpoint.zero_row is not None:
        model.get_input_embeddings().weight.data[checkpoint.zero_row] = 0
    for old in folder.glob('model*'):
        old.unlink()
    dtype = DTYPES[checkpoint.config['dtype']]
    if checkpoint.experts == 'mxfp4':
        save_mxfp4(model, draws, dtype, folder)
    else:
        model.to(dtype).save_pretrained(folder, max_shard_size=checkpoint.shard)
        if checkpoint.layout:
            path = folder / 'model.safetensors'
            save_file(stored(checkpoint.layout, load_file(path), checkpoint.config), path, {'format': 'pt'})
    for path in folder.glob('*.safetensors'):
        keep(path, draws)
    (folder / 'generation_config.json').unlink(missing_ok=True)
    write_config(checkpoint, folder)


if __name__ == '__main__':
    for name in sys.argv[1:] or CHECKPOINTS:
        make(CHECKPOINTS[name])
