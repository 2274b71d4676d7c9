"""Tiny checkpoints of the families of src/models/text/mixtures: mixtures of experts whose layers are Llama's, and their dense relatives."""

from cases import Case, Checkpoint
from transformers import Ernie4_5ForCausalLM, HunYuanDenseV1ForCausalLM

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

MIXTURES = (ERNIE, HUNYUAN)
