"""The tiny checkpoints of hybrids of attention and Mamba-2."""

from cases import Case, Checkpoint
from transformers import (
    BambaForCausalLM,
    FalconH1ForCausalLM,
    GraniteMoeHybridForCausalLM,
    NemotronHForCausalLM,
)

SIZES = dict(
    vocab_size=331, hidden_size=64, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=128, tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
)  # fmt: skip
MAMBA = dict(mamba_n_heads=8, mamba_d_head=16, mamba_d_state=24, mamba_n_groups=2, mamba_d_conv=4, mamba_expand=2, mamba_chunk_size=8)

GRANITE_HYBRID = Checkpoint(
    name='granite-hybrid',
    model=GraniteMoeHybridForCausalLM,
    seed=61,
    config={
        **SIZES, **MAMBA, 'mamba_n_groups': 1, 'shared_intermediate_size': 40, 'num_local_experts': 5, 'num_experts_per_tok': 2,
        'layer_types': ['mamba', 'attention', 'mamba'], 'num_hidden_layers': 3, 'embedding_multiplier': 12.0,
        'residual_multiplier': 0.22, 'attention_multiplier': 0.0625, 'logits_scaling': 6.0, 'tie_word_embeddings': True,
    },
    spelling='transformers 5',
    cases=[
        Case('default', note='heads are not rotated; experts beside a block for all tokens', states=True),
        Case('rotated', {'position_embedding_type': 'rope'}),
    ],
)  # fmt: skip

BAMBA = Checkpoint(
    name='bamba',
    model=BambaForCausalLM,
    seed=62,
    config={**SIZES, **MAMBA, 'attn_layer_indices': [1], 'rms_norm_eps': 1e-5},
    spelling='transformers 5',
    cases=[Case('default', note='half of the dimensions of a head are rotated')],
)

FALCON_H1 = Checkpoint(
    name='falcon-h1',
    model=FalconH1ForCausalLM,
    seed=63,
    config={
        **SIZES, **MAMBA, 'mamba_d_ssm': 96, 'mamba_d_head': 12, 'mamba_rms_norm': False, 'mamba_norm_before_gate': False,
        'head_dim': 16, 'rms_norm_eps': 1e-5, 'embedding_multiplier': 1.5, 'lm_head_multiplier': 0.5, 'key_multiplier': 0.75,
        'attention_in_multiplier': 1.25, 'attention_out_multiplier': 0.6, 'ssm_in_multiplier': 0.8, 'ssm_out_multiplier': 1.3,
        'ssm_multipliers': [0.7, 1.1, 0.9, 1.2, 0.5], 'mlp_multipliers': [0.9, 0.7],
    },
    spelling='transformers 5',
    cases=[Case('default', note='attention and Mamba-2 side by side in each layer, and all multipliers', states=True)],
)  # fmt: skip

FALCON_H1_NORM = Checkpoint(
    name='falcon-h1-norm',
    model=FalconH1ForCausalLM,
    seed=66,
    config={**FALCON_H1.config, 'num_hidden_layers': 1, 'mamba_rms_norm': True},
    spelling='transformers 5',
    cases=[
        Case('default', note='groups of heads are normalized behind their gates'),
        Case('norm before gates', {'mamba_norm_before_gate': True}),
    ],
)

NEMOTRON_SIZES = {
    **{key: value for key, value in SIZES.items() if key != 'num_hidden_layers'},
    'head_dim': 32, 'mamba_num_heads': 8, 'mamba_head_dim': 12, 'n_groups': 2, 'ssm_state_size': 24, 'conv_kernel': 4, 'chunk_size': 8,
    'moe_intermediate_size': 40, 'moe_shared_expert_intermediate_size': 56, 'n_routed_experts': 6, 'num_experts_per_tok': 2,
    'routed_scaling_factor': 2.5, 'layer_norm_epsilon': 1e-5,
}  # fmt: skip

NEMOTRON_H = Checkpoint(
    name='nemotron-h',
    model=NemotronHForCausalLM,
    seed=64,
    config={**NEMOTRON_SIZES, 'layers_block_type': ['mamba', 'moe', 'attention', 'mlp', 'mamba']},
    spelling='transformers 5',
    cases=[Case('default', note='each layer has one block; experts without gates, chosen by biased scores', states=True)],
)

NEMOTRON_H_LATENT = Checkpoint(
    name='nemotron-h-latent',
    model=NemotronHForCausalLM,
    seed=65,
    config={**NEMOTRON_SIZES, 'layers_block_type': ['mamba', 'attention', 'moe'], 'moe_latent_size': 32, 'n_group': 2, 'topk_group': 1},
    spelling='transformers 5',
    cases=[Case('default', note='experts compute in fewer columns, and are chosen from the better of two groups')],
)

HYBRIDS = (GRANITE_HYBRID, BAMBA, FALCON_H1, FALCON_H1_NORM, NEMOTRON_H, NEMOTRON_H_LATENT)
