"""The tiny checkpoints of DeepSeek V2 and V3 and of those built like them: attention over latents."""

from transformers import (
    DeepseekV2ForCausalLM,
    DeepseekV3ForCausalLM,
    DeepseekV32ForCausalLM,
    Glm4MoeLiteForCausalLM,
    GlmMoeDsaForCausalLM,
    MiniCPM3ForCausalLM,
    Mistral4ForCausalLM,
    YoutuForCausalLM,
)

SIZES = dict(
    vocab_size=331, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
    kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=12, rms_norm_eps=1e-6, max_position_embeddings=128,
    tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
)  # fmt: skip
EXPERTS = dict(moe_intermediate_size=40, n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=2, norm_topk_prob=True)
INDEXER = dict(q_lora_rank=24, index_n_heads=19, index_head_dim=12, index_topk=12)
YARN = {'rope_type': 'yarn', 'rope_theta': 10000.0, 'factor': 8.0, 'original_max_position_embeddings': 16,
        'beta_fast': 4.0, 'beta_slow': 0.5}  # fmt: skip


def checkpoints(checkpoint, case):
    """`checkpoint` and `case`: the classes of cases.py."""
    yield checkpoint(
        name='deepseek-v3',
        model=DeepseekV3ForCausalLM,
        seed=60,
        config={**SIZES, **EXPERTS, 'q_lora_rank': 24, 'n_group': 4, 'topk_group': 2, 'routed_scaling_factor': 2.5,
                'first_k_dense_replace': 1, 'num_mtp_layers': 0,
                'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0}},
        cases=[case('default', note='experts of the two best of four groups by sigmoid scores with a bias; the first layer has none')],
    )  # fmt: skip
    yield checkpoint(
        name='deepseek-v2',
        model=DeepseekV2ForCausalLM,
        seed=61,
        config={**SIZES, **EXPERTS, 'norm_topk_prob': False, 'q_lora_rank': None, 'topk_method': 'group_limited_greedy',
                'n_group': 4, 'topk_group': 2, 'routed_scaling_factor': 4.0, 'first_k_dense_replace': 1,
                'rope_parameters': {**YARN, 'mscale': 0.7, 'mscale_all_dim': 0.9}},
        spelling='transformers 5',
        cases=[
            case('default', note='queries are projected at once; cos and sin have a factor'),
            case('greedy', {'topk_method': 'greedy'}, note='the best of all experts'),
        ],
    )  # fmt: skip
    yield checkpoint(
        name='glm4-moe-lite',
        model=Glm4MoeLiteForCausalLM,
        seed=62,
        config={**SIZES, **EXPERTS, 'q_lora_rank': 24, 'routed_scaling_factor': 1.8, 'mlp_layer_types': ['sparse', 'dense'],
                'rope_interleave': False, 'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0}},
        spelling='transformers 5',
        cases=[case('default', note='rotations turn halves; the last layer has no experts')],
    )  # fmt: skip
    yield checkpoint(
        name='youtu',
        model=YoutuForCausalLM,
        seed=63,
        config={**SIZES, 'q_lora_rank': 24, 'attention_bias': True, 'tie_word_embeddings': True,
                'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0}},
        spelling='transformers 5',
        cases=[case('default', note='biases, and no experts')],
    )  # fmt: skip
    yield checkpoint(
        name='mistral4',
        model=Mistral4ForCausalLM,
        seed=64,
        config={**SIZES, **EXPERTS, 'q_lora_rank': 24, 'n_group': 4, 'topk_group': 2, 'first_k_dense_replace': 1,
                'rope_parameters': {**YARN, 'mscale': 1.0, 'mscale_all_dim': 1.0, 'llama_4_scaling_beta': 0.5}},
        spelling='transformers 5',
        cases=[case('default', note='queries grow; experts of the two best of four groups by a softmax')],
    )  # fmt: skip
    yield checkpoint(
        name='minicpm3',
        model=MiniCPM3ForCausalLM,
        seed=65,
        config={**SIZES, 'q_lora_rank': 24, 'v_head_dim': None, 'tie_word_embeddings': True, 'scale_emb': 6.0, 'scale_depth': 1.4, 'dim_model_base': 16,
                'rope_parameters': {'rope_type': 'longrope', 'rope_theta': 10000.0, 'short_factor': [1.0, 1.1, 1.25, 1.5],
                                    'long_factor': [1.0, 1.5, 2.5, 4.0], 'original_max_position_embeddings': 64, 'factor': 2.0}},
        cases=[case('default', note='three multipliers; rotations turn halves')],
    )  # fmt: skip
    yield checkpoint(
        name='deepseek-v32',
        model=DeepseekV32ForCausalLM,
        seed=64,
        config={**SIZES, **EXPERTS, **INDEXER, 'n_group': 4, 'topk_group': 2, 'routed_scaling_factor': 2.5, 'first_k_dense_replace': 1,
                'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0}},
        cases=[
            case('default', prompt=40, note='each row sees 12 of up to 72 tokens'),
            case('short', {'index_topk': 80}, note='no row has more tokens than may be chosen'),
        ],
    )  # fmt: skip
    yield checkpoint(
        name='glm-moe-dsa',
        model=GlmMoeDsaForCausalLM,
        seed=65,
        config={**SIZES, **EXPERTS, **INDEXER, 'num_hidden_layers': 3, 'n_group': 1, 'topk_group': 1, 'routed_scaling_factor': 2.5,
                'first_k_dense_replace': 1, 'indexer_types': ['full', 'shared', 'full'],
                'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0}},
        spelling='transformers 5',
        cases=[case('default', prompt=20, note='the second layer sees the tokens that the first one chose')],
    )  # fmt: skip
