"""What transformers takes for the keys that a language model's config.json leaves out, and the windows of its layers.

    python scripts/reference/config_defaults.py    # writes test/golden/config-defaults.json

Per case: the config.json as written, and what AutoConfig makes of it; `error` instead where it refuses the file.
"""

import json
import tempfile
from pathlib import Path

from transformers import AutoConfig

TARGET = Path(__file__).resolve().parents[2] / 'test/golden/config-defaults.json'
SIZES = {
    'vocab_size': 1000,
    'hidden_size': 256,
    'intermediate_size': 512,
    'num_hidden_layers': 3,
    'num_attention_heads': 32,
}
EXPERTS = {'num_experts': 8, 'num_experts_per_tok': 2, 'moe_intermediate_size': 64}
CLASSES = {
    'LlamaForCausalLM': ('llama', {}),
    'MistralForCausalLM': ('mistral', {}),
    'Ministral3ForCausalLM': ('ministral3', {}),
    'Qwen2ForCausalLM': ('qwen2', {}),
    'Qwen3ForCausalLM': ('qwen3', {}),
    'Qwen3MoeForCausalLM': ('qwen3_moe', EXPERTS),
    'OlmoeForCausalLM': ('olmoe', EXPERTS),
    'Phi3ForCausalLM': ('phi3', {}),
    'SmolLM3ForCausalLM': ('smollm3', {}),
    'GraniteForCausalLM': ('granite', {}),
    'MixtralForCausalLM': ('mixtral', {'num_local_experts': 8, 'num_experts_per_tok': 2}),
    'Qwen2MoeForCausalLM': ('qwen2_moe', {**EXPERTS, 'shared_expert_intermediate_size': 96}),
}
UNWINDOWED = ('LlamaForCausalLM', 'OlmoeForCausalLM', 'GraniteForCausalLM')
MIXED = ['full_attention', 'sliding_attention', 'full_attention']
VARIATIONS = [
    {},
    {'head_dim': 16},
    {'sliding_window': 8},
    {'sliding_window': None},
    {'use_sliding_window': True, 'max_window_layers': 1},
    {'use_sliding_window': True, 'sliding_window': 8, 'max_window_layers': 1},
    {'use_sliding_window': True, 'sliding_window': 8, 'layer_types': MIXED},
    {'layer_types': ['full_attention'] * 3},
    {'layer_types': MIXED[:2]},
    {'tie_word_embeddings': 'true'},
    {'rms_norm_eps': '1e-5'},
    {'sliding_window': '8'},
    {'rope_scaling': 'linear'},
    {'rope_scaling': {'type': 'linear'}},
    {'rope_scaling': {'type': 'linear', 'factor': 2.0}, 'rope_parameters': {'rope_type': 'default', 'rope_theta': 5000.0}},
    {'rope_scaling': {'rope_type': 'llama3', 'factor': 2.0, 'original_max_position_embeddings': 16}},
    {'rope_theta': 500.0, 'rope_scaling': {'rope_type': 'dynamic', 'factor': 2.0, 'rope_theta': 700.0}},
]


def windows(name: str, config) -> list:
    """As the modeling file of each class builds its masks."""
    size = getattr(config, 'sliding_window', None)
    count = config.num_hidden_layers
    if name in UNWINDOWED:
        return [None] * count
    if name in ('Qwen3MoeForCausalLM', 'Phi3ForCausalLM', 'MixtralForCausalLM') or config.model_type in ('mistral', 'ministral3'):
        return [size] * count
    return [size if kind == 'sliding_attention' else None for kind in config.layer_types]


def read(name: str, config: dict) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, 'config.json').write_text(json.dumps(config))
        try:
            found = AutoConfig.from_pretrained(folder)
        except Exception as error:  # every way to refuse a file
            return {'error': type(error).__name__}
    heads = found.num_attention_heads
    rope = found.rope_parameters
    return {
        'kvHeads': found.num_key_value_heads if found.num_key_value_heads is not None else heads,
        'dims': getattr(found, 'head_dim', None) or found.hidden_size // heads,
        'eps': found.rms_norm_eps,
        'positions': found.max_position_embeddings,
        'tied': found.tie_word_embeddings,
        'theta': rope['rope_theta'],
        'rope': rope['rope_type'],
        'windows': windows(name, found),
    }


cases = []
for name, (model_type, more) in CLASSES.items():
    for changes in VARIATIONS:
        # A rotation that is stated has to state the growth of queries as well.
        if name == 'Ministral3ForCausalLM' and 'rope_scaling' in changes:
            continue
        config = {'architectures': [name], 'model_type': model_type, **SIZES, **more, **changes}
        cases.append({'config': config, **read(name, config)})
TARGET.write_text('[\n' + ',\n'.join(json.dumps(case) for case in cases) + '\n]\n')
