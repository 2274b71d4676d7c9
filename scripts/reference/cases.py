"""The tiny checkpoints and the cases run on each: which configuration, which weights, which rotary rule.

A case changes its checkpoint's config.json by `config` (top-level keys replace). config.json of llama, mistral and qwen2
is written as published checkpoints are (`rope_theta`, `rope_scaling`, `torch_dtype`), that of qwen3 as transformers 5
saves it (`rope_parameters`, `dtype`).

Rotary rules. Two types depend on the sequence length, and engines differ in which length they mean:
- `prefill`  frequencies of the whole sequence's length for all its positions: one forward pass in transformers.
- `cached`   generation in transformers: the prompt's keys are rotated for the prompt's length and stay so in the cache;
             the token at position p is rotated for length p + 1.
- `static`   frequencies of one length for all positions at all times, as engines do that share cached keys between
             requests: `dynamic` at max_position_embeddings * factor.
For the other types (`fixed`), and where all lengths choose the same frequencies, the rules agree.
"""

from dataclasses import dataclass, field

from transformers import (
    Cohere2ForCausalLM,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3nForCausalLM,
    Gemma4ForCausalLM,
    Glm4ForCausalLM,
    GlmForCausalLM,
    GPTNeoXForCausalLM,
    GptOssForCausalLM,
    GraniteForCausalLM,
    Lfm2ForCausalLM,
    LlamaForCausalLM,
    Ministral3ForCausalLM,
    MistralForCausalLM,
    MixtralForCausalLM,
    Olmo2ForCausalLM,
    Olmo3ForCausalLM,
    OlmoeForCausalLM,
    Phi3ForCausalLM,
    Qwen2ForCausalLM,
    Qwen2MoeForCausalLM,
    Qwen3_5ForCausalLM,
    Qwen3ForCausalLM,
    Qwen3MoeForCausalLM,
    Qwen3NextForCausalLM,
    SmolLM3ForCausalLM,
    Starcoder2ForCausalLM,
)

import deepseek_cases
from layouts import Layout


@dataclass
class Case:
    name: str
    config: dict = field(default_factory=dict)
    weights: str = 'stored'  # or int8, int4
    rule: str = 'fixed'
    static_length: int | None = None
    prompt: int = 24  # tokens before the 32 greedy ones
    note: str = ''
    states: bool = False  # keep what the head is told as well


@dataclass
class Checkpoint:
    name: str
    model: type
    seed: int
    config: dict
    cases: list[Case]
    spelling: str = 'published'  # how config.json is written, or 'transformers 5'
    zero_row: int | None = None  # an embedding row of zeros, as padding rows are
    shard: str = '5GB'
    experts: str = 'stored'  # or mxfp4: codes and exponents, as gpt-oss is published
    attention: str = 'eager'  # or sdpa
    layout: Layout | None = None  # of a class that transformers does not have


YARN = {'rope_type': 'yarn', 'factor': 4.0, 'original_max_position_embeddings': 32}
SHORT = [1.0, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0]
LONG = [1.0, 1.3, 2.0, 3.1, 4.4, 6.0, 7.5, 8.0]


def longrope(original):
    scaling = {'type': 'longrope', 'short_factor': SHORT, 'long_factor': LONG}
    return {'rope_scaling': scaling, 'original_max_position_embeddings': original, 'max_position_embeddings': 128}


def dynamic():
    return {'rope_scaling': {'rope_type': 'dynamic', 'factor': 4.0}, 'max_position_embeddings': 32}


LLAMA = Checkpoint(
    name='llama',
    model=LlamaForCausalLM,
    seed=1,
    config=dict(
        vocab_size=288, hidden_size=64, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=1000.0, max_position_embeddings=128,
        tie_word_embeddings=False, dtype='float32', bos_token_id=1, eos_token_id=2,
    ),  # fmt: skip
    shard='200KB',
    cases=[
        Case('default'),
        Case('linear', {'rope_scaling': {'type': 'linear', 'factor': 4.0}, 'max_position_embeddings': 32}),
        Case(
            'llama3',
            {'rope_scaling': {'rope_type': 'llama3', 'factor': 8.0, 'low_freq_factor': 1.0, 'high_freq_factor': 4.0,
                              'original_max_position_embeddings': 32}},
        ),  # fmt: skip
        Case('yarn', {'rope_scaling': {**YARN, 'beta_fast': 2.0, 'beta_slow': 0.25}}),
        Case('dynamic.prefill', dynamic(), rule='prefill', note='one pass beyond max_position_embeddings'),
        Case('dynamic.cached', dynamic(), rule='cached', note='generation crosses max_position_embeddings'),
        Case('dynamic.static', dynamic(), rule='static', static_length=128),
        Case('longrope.short', longrope(64), note='never beyond the original context: short factors, all rules agree'),
        Case('longrope.long', longrope(16), note='the prompt is beyond the original context: long factors, all rules agree'),
        Case('longrope.cached', longrope(32), rule='cached', note='generation crosses the original context'),
        Case('default.int8', weights='int8'),
        Case('default.int4', weights='int4'),
    ],
)

MISTRAL = Checkpoint(
    name='mistral',
    model=MistralForCausalLM,
    seed=2,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=112, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=1, head_dim=24, sliding_window=8, rms_norm_eps=1e-5, rope_theta=10000.0,
        max_position_embeddings=128, tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1, eos_token_id=2,
    ),  # fmt: skip
    cases=[
        Case('windowed', note='every layer sees the last 8 tokens, itself included'),
        Case('full', {'sliding_window': None}),
        Case('windowed.int8', weights='int8'),
        Case('windowed.int4', weights='int4'),
    ],
)

QWEN2 = Checkpoint(
    name='qwen2',
    model=Qwen2ForCausalLM,
    seed=3,
    config=dict(
        vocab_size=320, hidden_size=96, intermediate_size=88, num_hidden_layers=2, num_attention_heads=6,
        num_key_value_heads=2, use_sliding_window=True, sliding_window=8, max_window_layers=1, rms_norm_eps=1e-6,
        rope_theta=10000.0, max_position_embeddings=128, tie_word_embeddings=True, dtype='float16', bos_token_id=1,
        eos_token_id=2,
    ),  # fmt: skip
    zero_row=0,
    cases=[
        Case('windowed', note='layers from max_window_layers on are windowed: layer 0 is not, layer 1 is'),
        Case('full', {'use_sliding_window': False}, note='sliding_window is given, and must be ignored'),
        Case(
            'yarn',
            {'use_sliding_window': False, 'max_position_embeddings': 32,
             'rope_scaling': {'type': 'yarn', 'factor': 4.0, 'original_max_position_embeddings': 32}},
        ),  # fmt: skip
        Case('windowed.int8', weights='int8'),
        Case('windowed.int4', weights='int4'),
    ],
)

QWEN3 = Checkpoint(
    name='qwen3',
    model=Qwen3ForCausalLM,
    seed=4,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=144, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=32, rms_norm_eps=1e-6, rope_theta=1000000.0, max_position_embeddings=128,
        attention_bias=False, tie_word_embeddings=True, dtype='bfloat16', bos_token_id=1, eos_token_id=2,
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[
        Case('default'),
        Case('yarn', {'rope_parameters': {**YARN, 'rope_theta': 1000000.0, 'attention_factor': 1.2}}),
        Case(
            'windowed',
            {'use_sliding_window': True, 'sliding_window': 8, 'layer_types': ['sliding_attention', 'full_attention']},
            note='layer_types rules, not max_window_layers: layer 0 is windowed, layer 1 is not',
        ),
        Case('default.int8', weights='int8'),
        Case('default.int4', weights='int4'),
    ],
)

QWEN3_MOE = Checkpoint(
    name='qwen3-moe',
    model=Qwen3MoeForCausalLM,
    seed=5,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=80, moe_intermediate_size=48, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, head_dim=32, num_experts=6, num_experts_per_tok=2,
        norm_topk_prob=True, mlp_only_layers=[1], rms_norm_eps=1e-6, rope_theta=1000000.0, max_position_embeddings=128,
        tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1, eos_token_id=2,
    ),  # fmt: skip
    cases=[
        Case('default', note='layer 1 has no experts; shares of the chosen experts add up to one', states=True),
        Case('unnormed', {'norm_topk_prob': False}),
        Case('default.int8', weights='int8'),
        Case('default.int4', weights='int4'),
    ],
)

OLMOE = Checkpoint(
    name='olmoe',
    model=OlmoeForCausalLM,
    seed=6,
    config=dict(
        vocab_size=320, hidden_size=64, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, num_experts=5, num_experts_per_tok=3, norm_topk_prob=False, rms_norm_eps=1e-5,
        rope_theta=10000.0, max_position_embeddings=128, tie_word_embeddings=False, dtype='float16', bos_token_id=1,
        eos_token_id=2, pad_token_id=0,
    ),  # fmt: skip
    cases=[
        Case('default', note='queries and keys are normed whole, all heads together', states=True),
        Case('default.int8', weights='int8'),
        Case('default.int4', weights='int4'),
    ],
)

GEMMA2 = Checkpoint(
    name='gemma2',
    model=Gemma2ForCausalLM,
    seed=7,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, head_dim=24, query_pre_attn_scalar=16, sliding_window=8, rms_norm_eps=1e-6,
        attn_logit_softcapping=4.0, final_logit_softcapping=10.0, rope_theta=10000.0, max_position_embeddings=128,
        dtype='bfloat16', bos_token_id=2, eos_token_id=1, pad_token_id=0,
    ),  # fmt: skip
    cases=[
        Case('default', note='layer 1 sees all tokens, layers 0 and 2 the last 8; scores and logits are capped', states=True),
        Case('uncapped', {'attn_logit_softcapping': None, 'final_logit_softcapping': None}),
        Case('default.int8', weights='int8'),
        Case('default.int4', weights='int4'),
    ],
)

GEMMA3 = Checkpoint(
    name='gemma3',
    model=Gemma3ForCausalLM,
    seed=8,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=1, head_dim=32, query_pre_attn_scalar=20, sliding_window=8, rms_norm_eps=1e-6,
        layer_types=['sliding_attention', 'sliding_attention', 'full_attention'], max_position_embeddings=128,
        rope_parameters={'full_attention': {'rope_type': 'default', 'rope_theta': 100000.0},
                         'sliding_attention': {'rope_type': 'default', 'rope_theta': 1000.0}},
        dtype='bfloat16', bos_token_id=2, eos_token_id=1, pad_token_id=0,
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[
        Case('default', note='windowed layers have a rope table of their own', states=True),
        Case(
            'linear',
            {'rope_parameters': {'full_attention': {'rope_type': 'linear', 'factor': 8.0, 'rope_theta': 100000.0},
                                 'sliding_attention': {'rope_type': 'default', 'rope_theta': 1000.0}}},
            note='the published form has rope_theta, rope_local_base_freq and rope_scaling; only full layers are scaled',
        ),
        Case('default.int8', weights='int8'),
        Case('default.int4', weights='int4'),
    ],
)

GEMMA3N = Checkpoint(
    name='gemma3n',
    model=Gemma3nForCausalLM,
    seed=28,
    config=dict(
        vocab_size=99, vocab_size_per_layer_input=91, hidden_size=64, intermediate_size=[48, 48, 64, 48], num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=1, head_dim=16, sliding_window=8, rms_norm_eps=1e-6, final_logit_softcapping=10.0,
        hidden_size_per_layer_input=16, num_kv_shared_layers=2, laurel_rank=12, activation_sparsity_pattern=[0.8, 0.0, 0.8, 0.0],
        layer_types=['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention'],
        max_position_embeddings=128, dtype='bfloat16', bos_token_id=2, eos_token_id=1, pad_token_id=0,
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[Case('default', note='four streams; two layers close most gates; the last two read keys of earlier ones; tokens beyond the table of all layers', states=True)],
)

GEMMA4 = Checkpoint(
    name='gemma4',
    model=Gemma4ForCausalLM,
    seed=25,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, global_head_dim=32, num_global_key_value_heads=1, attention_k_eq_v=True,
        sliding_window=8, rms_norm_eps=1e-6, final_logit_softcapping=10.0, hidden_size_per_layer_input=0,
        layer_types=['sliding_attention', 'sliding_attention', 'full_attention'], max_position_embeddings=128,
        rope_parameters={'full_attention': {'rope_type': 'proportional', 'rope_theta': 100000.0, 'partial_rotary_factor': 0.25},
                         'sliding_attention': {'rope_type': 'default', 'rope_theta': 1000.0}},
        dtype='bfloat16', bos_token_id=2, eos_token_id=1, pad_token_id=0,
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[Case('default', note='heads of the full layer are larger and keep keys as values; a scalar ends each layer', states=True)],
)

GEMMA4_E = Checkpoint(
    name='gemma4-e',
    model=Gemma4ForCausalLM,
    seed=26,
    config=dict(
        vocab_size=331, vocab_size_per_layer_input=331, hidden_size=64, intermediate_size=48, num_hidden_layers=5, num_attention_heads=4,
        num_key_value_heads=1, head_dim=16, global_head_dim=32, sliding_window=8, rms_norm_eps=1e-6, final_logit_softcapping=10.0,
        hidden_size_per_layer_input=16, num_kv_shared_layers=2, use_double_wide_mlp=True,
        layer_types=['sliding_attention', 'full_attention', 'sliding_attention', 'sliding_attention', 'full_attention'],
        max_position_embeddings=128, dtype='bfloat16', bos_token_id=2, eos_token_id=1, pad_token_id=0,
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[Case('default', note='embeddings enter every layer; the last two read the keys and values of earlier ones', states=True)],
)

GEMMA4_MOE = Checkpoint(
    name='gemma4-moe',
    model=Gemma4ForCausalLM,
    seed=27,
    config=dict(
        GEMMA4.config, num_hidden_layers=2, layer_types=['sliding_attention', 'full_attention'], enable_moe_block=True,
        num_experts=6, top_k_experts=2, moe_intermediate_size=40,
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[Case('default', note='experts beside the feed-forward block of each layer, with factors on their shares')],
)

PHI3 = Checkpoint(
    name='phi3',
    model=Phi3ForCausalLM,
    seed=9,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=88, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, partial_rotary_factor=0.75, rms_norm_eps=1e-5, max_position_embeddings=128,
        original_max_position_embeddings=16, sliding_window=40, tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1,
        eos_token_id=2, pad_token_id=0,
        rope_parameters={'rope_type': 'longrope', 'rope_theta': 10000.0, 'short_factor': SHORT[:6], 'long_factor': LONG[:6],
                         'partial_rotary_factor': 0.75},
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[
        Case('default', note='fused projections, 12 of 16 dimensions rotated, the prompt is beyond the original context'),
        Case('short', {'original_max_position_embeddings': 64}, note='never beyond the original context'),
        Case('default.int8', weights='int8'),
        Case('default.int4', weights='int4'),
    ],
)

SMOLLM3 = Checkpoint(
    name='smollm3',
    model=SmolLM3ForCausalLM,
    seed=10,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, no_rope_layer_interval=2, rms_norm_eps=1e-6, max_position_embeddings=128,
        tie_word_embeddings=True, dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[
        Case('default', note='layer 1 has no positions'),
        Case('windowed', {'use_sliding_window': True, 'sliding_window': 8, 'layer_types': None}, note='layers without positions are windowed'),
    ],
)

GRANITE = Checkpoint(
    name='granite',
    model=GraniteForCausalLM,
    seed=11,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=10000.0, max_position_embeddings=128, embedding_multiplier=6.0,
        attention_multiplier=0.125, residual_multiplier=0.22, logits_scaling=4.0, tie_word_embeddings=True,
        dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
    ),  # fmt: skip
    cases=[Case('default', note='four multipliers', states=True)],
)

MIXTRAL = Checkpoint(
    name='mixtral',
    model=MixtralForCausalLM,
    seed=12,
    config=dict(
        vocab_size=320, hidden_size=64, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=5, num_experts_per_tok=2, rms_norm_eps=1e-5, rope_theta=1000000.0,
        max_position_embeddings=128, sliding_window=None, tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1,
        eos_token_id=2, pad_token_id=0,
    ),  # fmt: skip
    cases=[Case('default')],
)

QWEN2_MOE = Checkpoint(
    name='qwen2-moe',
    model=Qwen2MoeForCausalLM,
    seed=13,
    config=dict(
        vocab_size=320, hidden_size=64, intermediate_size=80, moe_intermediate_size=40, shared_expert_intermediate_size=72,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, num_experts=6, num_experts_per_tok=2,
        rms_norm_eps=1e-6, rope_theta=10000.0, max_position_embeddings=128, tie_word_embeddings=False, dtype='bfloat16',
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
    ),  # fmt: skip
    cases=[
        Case('default', note='one more expert takes all tokens, by a gate'),
        Case(
            'windowed',
            {'use_sliding_window': True, 'sliding_window': 8, 'max_window_layers': 1},
            note='of the layers before max_window_layers every other is windowed, the first included',
        ),
    ],
)

OLMO2 = Checkpoint(
    name='olmo2',
    model=Olmo2ForCausalLM,
    seed=14,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, rms_norm_eps=1e-6, rope_theta=10000.0, max_position_embeddings=128,
        tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
    ),  # fmt: skip
    cases=[Case('default', note='norms follow each block; queries and keys are normed whole')],
)

OLMO3 = Checkpoint(
    name='olmo3',
    model=Olmo3ForCausalLM,
    seed=15,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, sliding_window=8, layer_types=['sliding_attention', 'full_attention', 'sliding_attention'],
        rms_norm_eps=1e-6, max_position_embeddings=128, tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1,
        eos_token_id=2, pad_token_id=0,
        rope_parameters={'full_attention': {**YARN, 'rope_theta': 10000.0, 'attention_factor': 1.2},
                         'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.0}},
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[Case('default', note='only the full layer is scaled')],
)

GLM_SIZES = dict(
    vocab_size=331, hidden_size=64, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    head_dim=16, attention_bias=True, rms_norm_eps=1e-6, rope_theta=10000.0, max_position_embeddings=128,
    tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
)  # fmt: skip

GLM = Checkpoint(
    name='glm',
    model=GlmForCausalLM,
    seed=16,
    config=GLM_SIZES,
    spelling='transformers 5',
    cases=[Case('default', note='half of the dimensions are rotated, neighbours together; gate and up are one tensor')],
)

GLM4 = Checkpoint(
    name='glm4',
    model=Glm4ForCausalLM,
    seed=17,
    config=GLM_SIZES,
    spelling='transformers 5',
    cases=[Case('default', note='four norms a layer')],
)

COHERE2 = Checkpoint(
    name='cohere2',
    model=Cohere2ForCausalLM,
    seed=18,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, sliding_window=8, layer_types=['sliding_attention', 'full_attention', 'sliding_attention'],
        logit_scale=0.25, layer_norm_eps=1e-5, rope_theta=10000.0, max_position_embeddings=128, dtype='bfloat16',
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[Case('default', note='attention and feed-forward beside each other; the full layer has no positions', states=True)],
)

STARCODER2 = Checkpoint(
    name='starcoder2',
    model=Starcoder2ForCausalLM,
    seed=19,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, sliding_window=8, norm_epsilon=1e-5, rope_theta=10000.0, max_position_embeddings=128,
        dtype='float16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
    ),  # fmt: skip
    cases=[Case('default', note='LayerNorms and projections with biases, a feed-forward block without a gate')],
)

LFM2 = Checkpoint(
    name='lfm2',
    model=Lfm2ForCausalLM,
    seed=20,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=120, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, layer_types=['conv', 'full_attention', 'conv'], conv_L_cache=3, block_multiple_of=16,
        norm_eps=1e-5, max_position_embeddings=128, dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[Case('default', note='layers 0 and 2 are short convolutions', states=True)],
)

LFM2_BIAS = Checkpoint(
    name='lfm2-bias',
    model=Lfm2ForCausalLM,
    seed=44,
    config={**LFM2.config, 'conv_bias': True},
    spelling='transformers 5',
    cases=[Case('default', note='the short convolution and its projections have biases')],
)

MINISTRAL3 = Checkpoint(
    name='ministral3',
    model=Ministral3ForCausalLM,
    seed=31,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=24, rms_norm_eps=1e-5, max_position_embeddings=128, tie_word_embeddings=True,
        dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
        rope_parameters={'rope_type': 'yarn', 'rope_theta': 10000.0, 'factor': 8.0, 'original_max_position_embeddings': 16,
                         'beta_fast': 4.0, 'beta_slow': 0.5, 'mscale': 1.0, 'mscale_all_dim': 1.0,
                         'llama_4_scaling_beta': 0.5},
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[
        Case('default', note='queries grow with each original context of 16 tokens that lies before them'),
        Case('windowed', {'sliding_window': 8}),
    ],
)

GPT_NEOX = Checkpoint(
    name='gpt-neox',
    model=GPTNeoXForCausalLM,
    seed=43,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, rotary_pct=0.25,
        rotary_emb_base=10000, layer_norm_eps=1e-5, max_position_embeddings=128, use_parallel_residual=True,
        tie_word_embeddings=False, dtype='float16', bos_token_id=0, eos_token_id=0,
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[
        Case('default', note='attention and feed-forward beside each other; queries, keys and values of a head are neighbours'),
        Case('serial', {'use_parallel_residual': False}, note='the feed-forward block reads what attention has added'),
    ],
)

MISTRAL_54 = Checkpoint(
    name='mistral-54',
    model=MistralForCausalLM,
    seed=45,
    config=dict(
        vocab_size=320, hidden_size=108, intermediate_size=96, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, sliding_window=None, rms_norm_eps=1e-5, rope_theta=10000.0, max_position_embeddings=128,
        tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
    ),  # fmt: skip
    cases=[
        Case('default', note='heads have 54 dimensions, of which the first is turned with the 28th'),
        Case('default.int8', weights='int8'),
    ],
)

GPT_NEOX_26 = Checkpoint(
    name='gpt-neox-26',
    model=GPTNeoXForCausalLM,
    seed=46,
    config={**GPT_NEOX.config, 'hidden_size': 104},
    spelling='transformers 5',
    cases=[Case('default', note='6 of 26 dimensions are rotated')],
)

GPT_OSS_SIZES = dict(
    vocab_size=331, hidden_size=96, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
    head_dim=32, num_local_experts=5, num_experts_per_tok=2, sliding_window=8, rms_norm_eps=1e-5, max_position_embeddings=128,
    rope_parameters={**YARN, 'rope_theta': 150000.0, 'beta_fast': 32.0, 'beta_slow': 1.0, 'truncate': False},
    tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
)  # fmt: skip

GPT_OSS = Checkpoint(
    name='gpt-oss',
    model=GptOssForCausalLM,
    seed=23,
    config={**GPT_OSS_SIZES, 'swiglu_limit': 1.5},
    spelling='transformers 5',
    cases=[
        Case('default', note='sinks, biases of router and experts, gates that reach their bound; layer 1 sees all tokens', states=True),
        Case('default.int8', weights='int8', note='gate_up_proj and down_proj are stored as [experts, K, rows]'),
    ],
)

GPT_OSS_MXFP4 = Checkpoint(
    name='gpt-oss-mxfp4',
    model=GptOssForCausalLM,
    seed=24,
    config=GPT_OSS_SIZES,
    experts='mxfp4',
    cases=[
        Case('default', note='experts are codes of MXFP4', states=True),
        Case('default.int8', weights='int8', note='experts stay codes of MXFP4'),
    ],
)

QWEN3_NEXT = Checkpoint(
    name='qwen3-next',
    model=Qwen3NextForCausalLM,
    seed=31,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=80, moe_intermediate_size=40, shared_expert_intermediate_size=48,
        num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=32, num_experts=6, num_experts_per_tok=2,
        mlp_only_layers=[1], layer_types=['linear_attention', 'full_attention', 'linear_attention'], linear_key_head_dim=16,
        linear_value_head_dim=24, linear_num_key_heads=2, linear_num_value_heads=4, rms_norm_eps=1e-6,
        max_position_embeddings=128, tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1, eos_token_id=2,
        pad_token_id=0,
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[Case('default', note='projections of linear attention by key head; 8 of 32 dimensions are rotated', states=True)],
)

QWEN3_5 = Checkpoint(
    name='qwen3-5',
    model=Qwen3_5ForCausalLM,
    seed=32,
    config=dict(
        vocab_size=331, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=1, head_dim=32, layer_types=['linear_attention', 'linear_attention', 'full_attention'],
        linear_key_head_dim=24, linear_value_head_dim=16, linear_num_key_heads=2, linear_num_value_heads=6,
        linear_conv_kernel_dim=3, rms_norm_eps=1e-6, max_position_embeddings=128, tie_word_embeddings=True, dtype='bfloat16',
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
        rope_parameters={'rope_type': 'default', 'rope_theta': 100000.0, 'partial_rotary_factor': 0.25,
                         'mrope_section': [2, 1, 1], 'mrope_interleaved': True},
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[
        Case('default', note='projections of linear attention one after the other'),
        Case('long', prompt=90, note='the prompt has several chunks of 64 tokens'),
        Case('default.int8', weights='int8'),
    ],
)

from dense_cases import DENSE  # noqa: E402 - they are made of the classes above
from hybrid_cases import HYBRIDS  # noqa: E402 - they are made of the classes above
from mixture_cases import MIXTURES  # noqa: E402 - they are made of the classes above
from recent_cases import RECENT  # noqa: E402 - they are made of the classes above

ALL = (*MIXTURES, LLAMA, MISTRAL, QWEN2, QWEN3, QWEN3_MOE, OLMOE, GEMMA2, GEMMA3, PHI3, SMOLLM3, GRANITE, MIXTRAL, QWEN2_MOE, OLMO2, OLMO3,
       GLM, GLM4, COHERE2, STARCODER2, LFM2, LFM2_BIAS, MINISTRAL3, MISTRAL_54, GPT_NEOX, GPT_NEOX_26, GPT_OSS, GPT_OSS_MXFP4, QWEN3_NEXT, QWEN3_5,
       GEMMA3N, GEMMA4, GEMMA4_E, GEMMA4_MOE, *deepseek_cases.checkpoints(Checkpoint, Case), *DENSE, *HYBRIDS, *RECENT)  # fmt: skip
CHECKPOINTS = {c.name: c for c in ALL}
