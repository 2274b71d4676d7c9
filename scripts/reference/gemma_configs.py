"""What transformers takes for the keys that a config.json of Gemma leaves out, in its published forms and in its own.

    python scripts/reference/gemma_configs.py    # writes test/golden/gemma-configs.json

Per case: the config.json as written, and what AutoConfig makes of it; `error` instead where it refuses the file.
"""

import json
import tempfile
from pathlib import Path

from transformers import AutoConfig

TARGET = Path(__file__).resolve().parents[2] / 'test/golden/gemma-configs.json'
SIZES = {'num_hidden_layers': 7, 'num_attention_heads': 8, 'hidden_size': 256}
CLASSES = {'Gemma2ForCausalLM': 'gemma2', 'Gemma3ForCausalLM': 'gemma3_text'}
MIXED = ['full_attention', 'sliding_attention'] * 3 + ['full_attention']
BY_TYPE = {
    'full_attention': {'rope_type': 'linear', 'factor': 8.0, 'rope_theta': 5000.0},
    'sliding_attention': {'rope_type': 'default', 'rope_theta': 500.0},
}
VARIATIONS = [
    {},
    {'layer_types': MIXED, 'sliding_window': 8},
    {'layer_types': MIXED[:3]},
    {'sliding_window': '8'},
    {'rope_theta': 500.0},
    {'attn_logit_softcapping': None, 'final_logit_softcapping': None},
    {'attn_logit_softcapping': 40.0, 'final_logit_softcapping': 20.0},
    {'query_pre_attn_scalar': 168, 'head_dim': 128, 'num_key_value_heads': 8, 'tie_word_embeddings': False},
]
OF_GEMMA3 = [
    {'sliding_window_pattern': 3},
    {'rope_theta': 1000000.0, 'rope_local_base_freq': 10000.0, 'rope_scaling': {'rope_type': 'linear', 'factor': 8.0}},
    {'rope_theta': 1000000.0, 'rope_local_base_freq': 500.0, 'rope_scaling': None},
    {'rope_parameters': BY_TYPE},
    {'rope_parameters': {'full_attention': BY_TYPE['full_attention']}},
]


def ropes(config) -> list:
    """(type, theta, factor) of the full layers' table and, where it is another, of the windowed layers'."""
    found = config.rope_parameters
    each = [found['full_attention'], found['sliding_attention']] if config.model_type == 'gemma3_text' else [found]
    return [[rope['rope_type'], rope['rope_theta'], rope.get('factor', 1.0)] for rope in each]


def read(config: dict) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, 'config.json').write_text(json.dumps(config))
        try:
            found = AutoConfig.from_pretrained(folder)
        except Exception as error:  # every way to refuse a file
            return {'error': type(error).__name__}
    return {
        'vocabulary': found.vocab_size,
        'ffn': found.intermediate_size,
        'kvHeads': found.num_key_value_heads,
        'dims': found.head_dim,
        'scale': found.query_pre_attn_scalar**-0.5,
        'context': found.max_position_embeddings,
        'tied': found.tie_word_embeddings,
        # Gemma 3's modeling file does not read its cap of scores.
        'scoreCap': found.attn_logit_softcapping if found.model_type == 'gemma2' else None,
        'logitCap': found.final_logit_softcapping,
        'ropes': ropes(found),
        'windows': [found.sliding_window if kind == 'sliding_attention' else None for kind in found.layer_types],
    }


cases = []
for name, model_type in CLASSES.items():
    for changes in VARIATIONS + (OF_GEMMA3 if model_type == 'gemma3_text' else []):
        config = {'architectures': [name], 'model_type': model_type, **SIZES, **changes}
        cases.append({'config': config, **read(config)})
TARGET.write_text('[\n' + ',\n'.join(json.dumps(case) for case in cases) + '\n]\n')
