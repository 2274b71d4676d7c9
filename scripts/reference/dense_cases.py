"""The tiny checkpoints of dense decoders that differ from others in their norms, their activation, their positions or the names of their tensors."""

from transformers import (
    ApertusForCausalLM,
    ArceeForCausalLM,
    BloomForCausalLM,
    CohereForCausalLM,
    Exaone4ForCausalLM,
    FalconForCausalLM,
    GPT2LMHeadModel,
    GraniteForCausalLM,
    LlamaForCausalLM,
    GPTBigCodeForCausalLM,
    GPTJForCausalLM,
    HeliumForCausalLM,
    NemotronForCausalLM,
    OlmoForCausalLM,
    OPTForCausalLM,
    Phi3ForCausalLM,
    PhiForCausalLM,
    SeedOssForCausalLM,
    StableLmForCausalLM,
)

from cases import Case, Checkpoint
from deci import DeciLMForCausalLM, block
from layouts import Layout

SIZES = dict(
    vocab_size=331, hidden_size=64, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=128, tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0,
)  # fmt: skip
LLAMA3 = {
    'rope_type': 'llama3', 'rope_theta': 10000.0, 'factor': 8.0, 'low_freq_factor': 1.0, 'high_freq_factor': 4.0,
    'original_max_position_embeddings': 32,
}  # fmt: skip


N = dict(n_embd=64, n_layer=2, n_head=4, n_inner=80, n_positions=128)
FALCON = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_hidden_size=80, max_position_embeddings=128)


def old(name, model, seed, note, attention='eager', **config):
    """A class with names of its own for its sizes."""
    shared = dict(vocab_size=331, tie_word_embeddings=False, dtype='bfloat16', bos_token_id=1, eos_token_id=2, pad_token_id=0)
    return Checkpoint(name, model, seed, {**shared, **config}, [Case('default', note=note)], 'transformers 5', attention=attention)


INTERNLM2 = {
    'model.embed_tokens': 'model.tok_embeddings', 'lm_head': 'output', 'input_layernorm': 'attention_norm',
    'post_attention_layernorm': 'ffn_norm', 'self_attn.o_proj': 'attention.wo', 'mlp.gate_proj': 'feed_forward.w1',
    'mlp.up_proj': 'feed_forward.w3', 'mlp.down_proj': 'feed_forward.w2',
}  # fmt: skip
EXAONE = {
    'model.layers.': 'transformer.h.', 'model.embed_tokens': 'transformer.wte', 'model.norm': 'transformer.ln_f', 'input_layernorm': 'ln_1',
    'post_attention_layernorm': 'ln_2', 'self_attn.': 'attn.attention.', 'attention.o_proj': 'attention.out_proj',
    'mlp.gate_proj': 'mlp.c_fc_0', 'mlp.up_proj': 'mlp.c_fc_1', 'mlp.down_proj': 'mlp.c_proj',
}  # fmt: skip


PHI4MM = {f'{one}.weight': f'{one}.base_layer.weight' for one in ('qkv_proj', 'o_proj', 'gate_up_proj', 'down_proj')}
LONGROPE = {'rope_type': 'longrope', 'short_factor': [1.0, 1.05, 1.1, 1.2, 1.35, 1.5], 'long_factor': [1.0, 1.3, 2.0, 3.1, 4.4, 6.0]}


def named(name, model, seed, note, layout, own=(), other=(), **config):
    """A class that transformers does not have. `own`: keys of its own; `other`: its names for the keys of `model`."""
    plain = {**SIZES, 'rms_norm_eps': 1e-5, **config}
    values = {**plain, **dict(own), 'architectures': [layout.class_name], 'torch_dtype': plain['dtype']}
    for key, theirs in dict(other).items():
        values[theirs] = values.pop(key)
    layout.config = {key: value for key, value in values.items() if key not in ('dtype', 'rope_parameters', *MULTIPLIERS)}
    return Checkpoint(name, model, seed, plain, [Case('default', note=note)], layout=layout)


MULTIPLIERS = ('embedding_multiplier', 'residual_multiplier', 'attention_multiplier', 'logits_scaling', 'attention_out_bias')


def tiny(name, model, seed, note, spelling='transformers 5', **config):
    return Checkpoint(name, model, seed, {**SIZES, **config}, [Case('default', note=note)], spelling)


DENSE = (
    tiny('exaone4', Exaone4ForCausalLM, 101, 'norms follow each block; the full layer has no positions', 'published',
         num_hidden_layers=3, head_dim=24, sliding_window=8, sliding_window_pattern=2, rope_parameters=LLAMA3),
    tiny('phi', PhiForCausalLM, 102, 'blocks beside each other read one norm; the head has a bias', 'published', num_key_value_heads=4,
         rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0, 'partial_rotary_factor': 0.5}),
    tiny('seed-oss', SeedOssForCausalLM, 103, 'queries, keys and values have biases', head_dim=24, attention_dropout=0.0, residual_dropout=0.0),
    tiny('apertus', ApertusForCausalLM, 104, 'no gate, xIELU', rope_parameters=LLAMA3),
    tiny('stablelm', StableLmForCausalLM, 105, 'LayerNorms around a gated block; a quarter of a head is rotated', use_qkv_bias=True, head_dim=16),
    tiny('stablelm-parallel', StableLmForCausalLM, 106, 'blocks beside each other', use_parallel_residual=True, num_key_value_heads=4),
    tiny('arcee', ArceeForCausalLM, 107, 'no gate, squared ReLU'),
    tiny('nemotron', NemotronForCausalLM, 108, 'LayerNorms whose weights lack 1; half of a head is rotated', head_dim=24),
    tiny('olmo', OlmoForCausalLM, 109, 'LayerNorms without weights'),
    tiny('helium', HeliumForCausalLM, 110, 'a rotation turns neighbours', head_dim=16, attention_bias=True),
    tiny('cohere', CohereForCausalLM, 111, 'all layers are rotated and see all tokens', tie_word_embeddings=True, logit_scale=0.25),
    old('gpt2', GPT2LMHeadModel, 112, 'matrices by columns, learned positions', **N),
    old('gpt-bigcode', GPTBigCodeForCausalLM, 113, 'all queries share a key', **N),
    old('gptj', GPTJForCausalLM, 114, 'blocks beside each other, half of a head is rotated by neighbours', **N, rotary_dim=8),
    old('opt', OPTForCausalLM, 115, 'positions begin with the third row', hidden_size=64, ffn_dim=80, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=128, pad_token_id=1, word_embed_proj_dim=64),
    old('bloom', BloomForCausalLM, 116, 'ALiBi with six heads; embeddings are normed', hidden_size=96, n_layer=2, n_head=6),
    old('falcon', FalconForCausalLM, 117, 'all queries share a key, and both blocks a norm', **FALCON),
    old('falcon-40b', FalconForCausalLM, 118, 'keys stand beside their queries; each block has a norm', **FALCON, new_decoder_architecture=True,
        num_kv_heads=2),
    # Eager attention of transformers 5.23 adds ALiBi twice.
    old('falcon-rw', FalconForCausalLM, 119, 'ALiBi; blocks one after the other, with biases', 'sdpa', **FALCON, alibi=True, multi_query=False,
        parallel_attn=False, bias=True),
    tiny('deci', DeciLMForCausalLM, 120, 'layers differ in their heads and widths; one lacks attention, one the other block', num_hidden_layers=4,
         block_configs=[block(4, 0.5), block(None, 2.625), block(2, 5.25), block(1, None)]),
    named('internlm2', LlamaForCausalLM, 121, 'keys stand beside their queries', Layout('InternLM2ForCausalLM', {}, INTERNLM2, 'attention.wqkv'),
          {'model_type': 'internlm2', 'bias': False, 'rope_theta': 10000.0}),
    named('internlm3', SeedOssForCausalLM, 122, 'queries, keys and values have biases', Layout('InternLM3ForCausalLM', {}),
          {'model_type': 'internlm3', 'qkv_bias': True, 'bias': False, 'rope_theta': 10000.0}, head_dim=24, rms_norm_eps=1e-5),
    named('exaone', LlamaForCausalLM, 123, 'names of its own', Layout('ExaoneForCausalLM', {}, EXAONE),
          {'model_type': 'exaone', 'activation_function': 'silu', 'rope_theta': 10000.0},
          {'num_hidden_layers': 'num_layers', 'rms_norm_eps': 'layer_norm_epsilon'}),
    named('minicpm', GraniteForCausalLM, 124, 'three multipliers', Layout('MiniCPMForCausalLM', {}),
          {'model_type': 'minicpm', 'scale_emb': 6.0, 'scale_depth': 1.4, 'dim_model_base': 16}, embedding_multiplier=6.0,
          residual_multiplier=1.4 / 2**0.5, attention_multiplier=0.25, logits_scaling=4.0, tie_word_embeddings=True),
    named('phi4mm', Phi3ForCausalLM, 190, 'LoRAs would stand beside the matrices', Layout('Phi4MMForCausalLM', {}, PHI4MM),
          {'model_type': 'phi4mm', 'rope_theta': 10000.0, 'rope_scaling': {**LONGROPE, 'type': 'longrope'}, 'partial_rotary_factor': 0.75,
           'sliding_window': 262144}, original_max_position_embeddings=16, tie_word_embeddings=True,
          rope_parameters={**LONGROPE, 'rope_theta': 10000.0, 'partial_rotary_factor': 0.75}),
)  # fmt: skip
