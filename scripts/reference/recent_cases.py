"""The tiny checkpoints of decoders that differ from others in their routers, their masks or the order of their norms."""

from transformers import (
    CwmForCausalLM, GemmaForCausalLM, Jais2ForCausalLM, Llama4ForCausalLM, MinistralForCausalLM, MptForCausalLM, PhimoeForCausalLM,
    VaultGemmaForCausalLM,
)  # fmt: skip

from dense_cases import old, tiny

LONG = {
    'rope_type': 'longrope', 'rope_theta': 10000.0, 'short_factor': [1.0 + i / 10 for i in range(8)], 'long_factor': [1.0 + i for i in range(8)],
    'original_max_position_embeddings': 64, 'short_mscale': 1.25, 'long_mscale': 1.25,
}  # fmt: skip

RECENT = (
    tiny('cwm', CwmForCausalLM, 137, 'the first layer of each four sees all tokens', head_dim=24, sliding_window=8),
    tiny('jais2', Jais2ForCausalLM, 138, 'LayerNorms around a block without a gate, squared ReLU; all projections have biases',
         rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0}),
    tiny('gemma', GemmaForCausalLM, 135, 'two norms a layer, of 1 + w; tanh GELU', head_dim=24, rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0},
         tie_word_embeddings=True),
    tiny('llama4', Llama4ForCausalLM, 133, 'chunks of 24 tokens, a layer without positions whose queries grow, experts by gates on their inputs',
         num_hidden_layers=3, head_dim=16, intermediate_size=40, intermediate_size_mlp=80, num_local_experts=5, no_rope_layers=[1, 0, 1],
         moe_layers=[1, 2], attention_chunk_size=24, floor_scale=8, attn_scale=0.5,
         rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0}),
    tiny('ministral', MinistralForCausalLM, 134, 'a windowed layer, and one that sees all', head_dim=24, sliding_window=8,
         layer_types=['sliding_attention', 'full_attention'], rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0}),
    old('mpt', MptForCausalLM, 131, 'ALiBi with six heads; LayerNorms without biases', d_model=96, n_layers=2, n_heads=6, max_seq_len=128),
    tiny('phimoe', PhimoeForCausalLM, 132, 'LayerNorms; two experts, each by its share of a softmax over logits near its own', rope_parameters=LONG,
         intermediate_size=40, num_local_experts=6, attention_bias=True, lm_head_bias=True, router_jitter_noise=0.2),
    tiny('vaultgemma', VaultGemmaForCausalLM, 136, 'Gemma 2 with two norms a layer', num_hidden_layers=3, head_dim=24, query_pre_attn_scalar=16, sliding_window=8,
         attn_logit_softcapping=4.0, final_logit_softcapping=30.0, rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0}),
)  # fmt: skip
