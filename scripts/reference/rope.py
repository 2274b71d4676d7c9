"""Rotary frequencies of every rope_scaling type on realistic configurations:  python scripts/reference/rope.py

test/golden/rope.json, per case: `inv_freq` (f32, head_dim / 2 values) and `attention_scaling` (the factor on cos and
sin) as transformers' ROPE_INIT_FUNCTIONS give them for a sequence of `length` tokens, from a configuration in the
published spelling. transformers raises to powers in f32: compare to 1e-6 relative. `angles` holds cos and sin [head_dim / 2]
(before attention_scaling) at some positions, from the f32 inv_freq in f64: position * inv_freq reaches 131071 radians,
where an f32 product is off by up to 4e-3, so compare the far ones no closer than the kernel's own arithmetic allows.
"""

import json
from importlib.metadata import version

import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from checkpoint import ROOT

LLAMA31 = {'factor': 8.0, 'low_freq_factor': 1.0, 'high_freq_factor': 4.0, 'original_max_position_embeddings': 8192}


def rising(first, last, count, bend):
    """Factors in the manner of Phi-3's: slow at first, then steep; rounded as published ones are."""
    return [round(first + (last - first) * (i / (count - 1)) ** bend, 4) for i in range(count)]


def phi(factor=None):
    scaling = {'type': 'longrope', 'short_factor': rising(1.0, 2.8, 48, 1.5), 'long_factor': rising(1.08, 65.0, 48, 2.5)}
    if factor:
        scaling['factor'] = factor
    return scaling


def config(head_dim, theta, context, scaling, **more):
    return dict(
        hidden_size=head_dim * 32, num_attention_heads=32, head_dim=head_dim, rope_theta=theta, max_position_embeddings=context,
        rope_scaling=scaling, **more,
    )  # fmt: skip


YARN = {'type': 'yarn', 'factor': 4.0, 'original_max_position_embeddings': 32768}
CASES = [
    ('default, Llama-2-7B', config(128, 10000.0, 4096, None), 4096),
    ('default, Qwen3', config(128, 1000000.0, 40960, None), 40960),
    ('linear, factor 4', config(128, 10000.0, 4096, {'type': 'linear', 'factor': 4.0}), 16384),
    ('dynamic within the original context', config(128, 10000.0, 4096, {'type': 'dynamic', 'factor': 2.0}), 4000),
    ('dynamic beyond it', config(128, 10000.0, 4096, {'type': 'dynamic', 'factor': 2.0}), 6000),
    ('dynamic at its limit', config(128, 10000.0, 4096, {'type': 'dynamic', 'factor': 2.0}), 8192),
    ('yarn, Qwen2.5', config(128, 1000000.0, 32768, YARN), 131072),
    ('yarn, own attention_factor', config(128, 1000000.0, 32768, {**YARN, 'attention_factor': 1.25}), 131072),
    (
        'yarn, mscale as DeepSeek',
        config(64, 10000.0, 163840, {'type': 'yarn', 'factor': 40, 'original_max_position_embeddings': 4096,
               'beta_fast': 32, 'beta_slow': 1, 'mscale': 1.0, 'mscale_all_dim': 0.707}),
        163840,
    ),  # fmt: skip
    (
        'yarn, not truncated as gpt-oss',
        config(64, 150000.0, 131072, {'rope_type': 'yarn', 'factor': 32.0, 'original_max_position_embeddings': 4096,
               'beta_fast': 32.0, 'beta_slow': 1.0, 'truncate': False}),
        131072,
    ),  # fmt: skip
    ('llama3, Llama-3.1-8B', config(128, 500000.0, 131072, {'rope_type': 'llama3', **LLAMA31}), 131072),
    ('llama3, Llama-3.2-1B', config(64, 500000.0, 131072, {'rope_type': 'llama3', **LLAMA31, 'factor': 32.0}), 131072),
    ('longrope short, as Phi-3', config(96, 10000.0, 131072, phi(), original_max_position_embeddings=4096), 4096),
    ('longrope long, as Phi-3', config(96, 10000.0, 131072, phi(), original_max_position_embeddings=4096), 4097),
    ('longrope, own factor', config(96, 10000.0, 131072, phi(16.0), original_max_position_embeddings=4096), 131072),
]
POSITIONS = [1, 100, 4095, 131071]
WITH_ANGLES = {'default, Qwen3', 'llama3, Llama-3.1-8B'}


def as_f32(tensor):
    """The shortest decimals that read back as the same f32 values."""
    return [float(str(value)) for value in tensor.float().numpy()]


def angles(inv_freq):
    rows = {position: position * inv_freq.double() for position in POSITIONS}
    return {str(p): {'cos': as_f32(row.cos()), 'sin': as_f32(row.sin())} for p, row in rows.items()}


def golden(name, values, length):
    settings = LlamaConfig.from_dict(json.loads(json.dumps(values)))
    kind = settings.rope_parameters['rope_type']
    if kind == 'default':
        inv_freq, scaling = LlamaRotaryEmbedding.compute_default_rope_parameters(settings)
    else:
        inv_freq, scaling = ROPE_INIT_FUNCTIONS[kind](settings, 'cpu', seq_len=length)
    case = {'name': name, 'config': values, 'length': length, 'attention_scaling': scaling}
    case['inv_freq'] = as_f32(inv_freq)
    if name in WITH_ANGLES:
        case['angles'] = angles(inv_freq.float())
    return case


if __name__ == '__main__':
    document = {
        'command': 'python scripts/reference/rope.py',
        'made_with': {name: version(name) for name in ('torch', 'transformers')},
        'cases': [golden(*case) for case in CASES],
    }
    (ROOT / 'rope.json').write_text(json.dumps(document, indent=2) + '\n')
