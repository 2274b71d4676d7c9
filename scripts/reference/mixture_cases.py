"""Tiny checkpoints of the families of src/models/text/mixtures: mixtures of experts whose layers are Llama's, and their dense relatives."""

from cases import Case, Checkpoint
from transformers import (
    Dots1ForCausalLM,
    Ernie4_5_MoeForCausalLM,
    Ernie4_5ForCausalLM,
    Glm4MoeForCausalLM,
    GraniteMoeForCausalLM,
    GraniteMoeSharedForCausalLM,
    HunYuanDenseV1ForCausalLM,
    HunYuanMoEV1ForCausalLM,
    Lfm2MoeForCausalLM,
    MiniMaxM2ForCausalLM,
)

SIZES = dict(
    vocab_size=331, hidden_size=64, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=128, dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
)  # fmt: skip

ERNIE = Checkpoint(
    name='ernie4-5',
    model=Ernie4_5ForCausalLM,
    seed=601,
    config=dict(**SIZES, head_dim=32, rms_norm_eps=1e-5, rope_theta=10000.0, use_bias=True, tie_word_embeddings=True),
    cases=[Case('default', note='rotations turn neighbours; use_bias gives all projections biases')],
)

HUNYUAN = Checkpoint(
    name='hunyuan',
    model=HunYuanDenseV1ForCausalLM,
    seed=602,
    config=dict(
        **SIZES, head_dim=24, rms_norm_eps=1e-5, use_qk_norm=True, tie_word_embeddings=True,
        rope_parameters={'rope_type': 'dynamic', 'type': 'dynamic', 'rope_theta': 10000.0, 'alpha': 100.0, 'factor': 1.0},
    ),  # fmt: skip
    cases=[Case('default', note='norms of queries and keys follow the rotation, whose base an alpha stretches')],
)

ERNIE_MOE = Checkpoint(
    name='ernie4-5-moe',
    model=Ernie4_5_MoeForCausalLM,
    seed=603,
    config=dict(
        **SIZES | {'num_hidden_layers': 3}, rms_norm_eps=1e-5, rope_theta=10000.0, moe_num_experts=6, moe_k=2, moe_intermediate_size=40,
        moe_num_shared_experts=2, moe_layer_start_index=1, moe_layer_end_index=1,
    ),  # fmt: skip
    cases=[Case('default', note='only layer 1 has experts, chosen by a softmax with a bias; two more take all tokens')],
)

HUNYUAN_MOE = Checkpoint(
    name='hunyuan-moe',
    model=HunYuanMoEV1ForCausalLM,
    seed=604,
    config=dict(**SIZES | {'intermediate_size': 48}, head_dim=24, rms_norm_eps=1e-5, rope_theta=10000.0, num_experts=5, moe_topk=[2, 2]),
    cases=[Case('default', note='shared_mlp takes all tokens')],
)

GLM4_MOE = Checkpoint(
    name='glm4-moe',
    model=Glm4MoeForCausalLM,
    seed=605,
    config=dict(
        **SIZES, head_dim=32, rms_norm_eps=1e-5, attention_bias=True, use_qk_norm=True, n_routed_experts=8, num_experts_per_tok=2,
        n_shared_experts=1, moe_intermediate_size=40, first_k_dense_replace=1, n_group=4, topk_group=2, routed_scaling_factor=2.5,
        rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0, 'partial_rotary_factor': 0.5},
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[Case('default', note='experts of the two best groups of four, chosen by sigmoids with a bias')],
)

DOTS1 = Checkpoint(
    name='dots1',
    model=Dots1ForCausalLM,
    seed=606,
    config=dict(
        **SIZES, head_dim=24, rms_norm_eps=1e-6, rope_theta=10000.0, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=2,
        moe_intermediate_size=40, first_k_dense_replace=1, n_group=1, topk_group=1, routed_scaling_factor=1.5, norm_topk_prob=False,
        sliding_window=8, max_window_layers=1,
    ),  # fmt: skip
    cases=[Case('default', note='layer 1 is windowed, and has experts whose shares do not add up to one')],
)

MINIMAX_M2 = Checkpoint(
    name='minimax-m2',
    model=MiniMaxM2ForCausalLM,
    seed=607,
    config=dict(
        **SIZES, head_dim=32, rms_norm_eps=1e-6, num_local_experts=6, num_experts_per_tok=2,
        rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0, 'partial_rotary_factor': 0.5},
    ),  # fmt: skip
    cases=[Case('default', note='queries and keys are normed whole, and half of a head is rotated, by rotary_dim')],
)

GRANITE_SIZES = dict(
    **SIZES | {'intermediate_size': 48}, rms_norm_eps=1e-5, rope_theta=10000.0, num_local_experts=6, num_experts_per_tok=2,
    embedding_multiplier=6.0, attention_multiplier=0.125, residual_multiplier=0.22, logits_scaling=4.0, tie_word_embeddings=True,
)  # fmt: skip

GRANITE_MOE = Checkpoint(
    name='granite-moe',
    model=GraniteMoeForCausalLM,
    seed=608,
    config=GRANITE_SIZES,
    spelling='transformers 5',
    cases=[Case('default', note='a tensor of a layer has gate and up of all experts')],
)

GRANITE_MOE_SHARED = Checkpoint(
    name='granite-moe-shared',
    model=GraniteMoeSharedForCausalLM,
    seed=609,
    config=GRANITE_SIZES | {'shared_intermediate_size': 40},
    spelling='transformers 5',
    cases=[Case('default', note='shared_mlp takes all tokens')],
)

LFM2_MOE = Checkpoint(
    name='lfm2-moe',
    model=Lfm2MoeForCausalLM,
    seed=610,
    config=dict(
        **SIZES | {'num_hidden_layers': 3}, layer_types=['conv', 'full_attention', 'conv'], num_dense_layers=1, num_experts=6,
        num_experts_per_tok=2, moe_intermediate_size=40, routed_scaling_factor=1.5, norm_eps=1e-5,
        rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0},
    ),  # fmt: skip
    spelling='transformers 5',
    cases=[Case('default', note='experts chosen by sigmoids with a bias behind a convolution and behind attention')],
)

MIXTURES = (ERNIE, HUNYUAN, ERNIE_MOE, HUNYUAN_MOE, GLM4_MOE, DOTS1, MINIMAX_M2, GRANITE_MOE, GRANITE_MOE_SHARED, LFM2_MOE)
