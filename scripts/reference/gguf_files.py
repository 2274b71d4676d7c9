"""Makes tiny checkpoints and their GGUF files:  python scripts/reference/gguf_files.py <folder of llama.cpp> [NAME…]

test/golden/gguf/<name>/ has config.json and model.safetensors with random weights, and model.gguf, which llama.cpp's own
converter made of them with all tensors in F32. So the two hold the same numbers, and what reads the second must find what
the first has. The folder is a checkout of llama.cpp, as the source distribution of llama-cpp-python 0.3.36 has it in
vendor/llama.cpp. Decoders get a vocabulary of forty tokens; gguf_greedy.mjs records what llama.cpp generates with them.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# tokenizers.py beside this file is not the package of that name.
sys.path = [path for path in sys.path if Path(path) != Path(__file__).parent]
LLAMA_CPP, ONLY = Path(sys.argv[1]), sys.argv[2:]
sys.path.insert(0, str(LLAMA_CPP))
sys.path.insert(0, str(LLAMA_CPP / 'gguf-py'))

sys.path.append(str(Path(__file__).parent))

import gguf  # noqa: E402
import torch  # noqa: E402
from conversion import ModelType, get_model_architecture, get_model_class  # noqa: E402
from checkpoint import save_mxfp4  # noqa: E402
from recipe import Draws, drawn_for, keep, keep_gguf  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, Mistral4ForCausalLM  # noqa: E402

ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'gguf'
SIZES = {
    'vocab_size': 40,
    'hidden_size': 16,
    'intermediate_size': 24,
    'num_hidden_layers': 2,
    'num_attention_heads': 4,
    'num_key_value_heads': 2,
    'max_position_embeddings': 64,
}
EXPERTS = {'num_experts': 4, 'num_experts_per_tok': 2}
LLAMA3 = {
    'rope_type': 'llama3',
    'factor': 4.0,
    'low_freq_factor': 1.0,
    'high_freq_factor': 4.0,
    'original_max_position_embeddings': 16,
}
YARN = {'rope_type': 'yarn', 'factor': 4.0, 'original_max_position_embeddings': 64, 'beta_fast': 24.0}
LONGROPE = {
    'rope_type': 'longrope', 'short_factor': [1.0, 1.25], 'long_factor': [2.0, 4.5],
    'original_max_position_embeddings': 16, 'partial_rotary_factor': 0.5, 'rope_theta': 10000.0,
}
GEMMA_ROPES = {
    'full_attention': {'rope_type': 'linear', 'factor': 8.0, 'rope_theta': 1e6},
    'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.0},
}
MINISTRAL3_ROPE = {
    'rope_type': 'yarn', 'rope_theta': 10000.0, 'factor': 4.0, 'original_max_position_embeddings': 16, 'beta_fast': 4.0,
    'beta_slow': 1.0, 'mscale': 1.0, 'mscale_all_dim': 1.0, 'llama_4_scaling_beta': 0.5,
}
GLM = {'attention_bias': True, 'partial_rotary_factor': 0.5, 'rope_theta': 10000.0, 'pad_token_id': 0}
MODELS = {
    'llama': {'model_type': 'llama', **SIZES, 'head_dim': 8, 'rope_theta': 100.0, 'rope_scaling': LLAMA3, 'attention_bias': True},
    'llama-linear': {'model_type': 'llama', **SIZES, 'rope_scaling': {'rope_type': 'linear', 'factor': 2.0}, 'tie_word_embeddings': True},
    'mistral': {'model_type': 'mistral', **SIZES, 'sliding_window': None},
    'qwen2': {'model_type': 'qwen2', **SIZES, 'tie_word_embeddings': True},
    'qwen3': {'model_type': 'qwen3', **SIZES, 'head_dim': 8, 'rope_scaling': YARN},
    'qwen3-moe': {'model_type': 'qwen3_moe', **SIZES, 'head_dim': 8, 'moe_intermediate_size': 12, 'norm_topk_prob': True, **EXPERTS},
    'olmoe': {'model_type': 'olmoe', **SIZES, 'num_key_value_heads': 4, **EXPERTS},
    'qwen2-moe': {
        'model_type': 'qwen2_moe', **SIZES, 'moe_intermediate_size': 12, 'shared_expert_intermediate_size': 20,
        'decoder_sparse_step': 1, **EXPERTS,
    },
    'mixtral': {'model_type': 'mixtral', **SIZES, 'num_local_experts': 4, 'num_experts_per_tok': 2, 'sliding_window': None},
    'phi3': {
        'model_type': 'phi3', **SIZES, 'num_key_value_heads': 2, 'hidden_size': 32, 'pad_token_id': 0, 'sliding_window': 8,
        'original_max_position_embeddings': 16, 'rope_scaling': LONGROPE, 'partial_rotary_factor': 0.5,
    },
    'smollm3': {'model_type': 'smollm3', **SIZES, 'num_hidden_layers': 4, 'rope_theta': 5000.0, 'pad_token_id': 0},
    'granite': {
        'model_type': 'granite', **SIZES, 'embedding_multiplier': 12.0, 'logits_scaling': 8.0,
        'attention_multiplier': 0.125, 'residual_multiplier': 0.25,
    },
    'gemma2': {'model_type': 'gemma2', **SIZES, 'head_dim': 8, 'query_pre_attn_scalar': 8, 'sliding_window': 16},
    'gemma3': {
        'model_type': 'gemma3_text', **SIZES, 'num_hidden_layers': 6, 'head_dim': 8, 'query_pre_attn_scalar': 8,
        'sliding_window': 16, 'rope_parameters': GEMMA_ROPES,
    },
    'bert': {'model_type': 'bert', **SIZES},
    'xlm-roberta': {'model_type': 'xlm-roberta', **SIZES, 'pad_token_id': 1, 'type_vocab_size': 1},
    'olmo2': {'model_type': 'olmo2', **SIZES, 'pad_token_id': 0},
    'olmo3': {
        'model_type': 'olmo3', **SIZES, 'num_hidden_layers': 4, 'sliding_window': 16, 'rope_theta': 5000.0, 'pad_token_id': 0,
    },
    'cohere2': {
        'model_type': 'cohere2', **SIZES, 'num_hidden_layers': 4, 'sliding_window': 16, 'rotary_pct': 1.0, 'logit_scale': 0.25,
        'rope_theta': 5000.0, 'pad_token_id': 0,
    },
    'starcoder2': {'model_type': 'starcoder2', **SIZES, 'sliding_window': None, 'bos_token_id': 0, 'eos_token_id': 0},
    # Its converter takes the hidden size for the context, and an eps of its own.
    'glm': {'model_type': 'glm', **SIZES, **GLM, 'hidden_size': 32, 'max_position_embeddings': 32, 'rms_norm_eps': 1e-5, 'head_dim': 8},
    'glm4': {'model_type': 'glm4', **SIZES, **GLM, 'head_dim': 8},
    'lfm2': {
        'model_type': 'lfm2', **SIZES, 'layer_types': ['conv', 'full_attention', 'conv'], 'num_hidden_layers': 3,
        'block_auto_adjust_ff_dim': False, 'conv_L_cache': 3, 'pad_token_id': 0,
    },
    'ministral3': {'model_type': 'ministral3', **SIZES, 'head_dim': 8, 'rope_parameters': MINISTRAL3_ROPE, 'pad_token_id': 0},
    'gpt-neox': {
        'model_type': 'gpt_neox', **SIZES, 'hidden_size': 64, 'rotary_pct': 0.25, 'use_parallel_residual': True, 'bos_token_id': 0,
        'eos_token_id': 0,
    },
    'gemma4': {
        'model_type': 'gemma4_text', **SIZES, 'num_hidden_layers': 3, 'head_dim': 8, 'global_head_dim': 16, 'num_global_key_value_heads': 1,
        'attention_k_eq_v': True, 'sliding_window': 16, 'hidden_size_per_layer_input': 0, 'final_logit_softcapping': 20.0,
        'layer_types': ['sliding_attention', 'sliding_attention', 'full_attention'],
    },
    'gemma4-e': {
        'model_type': 'gemma4_text', **SIZES, 'num_hidden_layers': 5, 'head_dim': 8, 'global_head_dim': 16, 'sliding_window': 16,
        'vocab_size_per_layer_input': 40, 'hidden_size_per_layer_input': 8, 'num_kv_shared_layers': 2, 'use_double_wide_mlp': True,
        # llama.cpp expects a windowed and a full layer before those that share.
        'layer_types': ['sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention'],
    },
}
MODELS['gemma4-moe'] = {
    **MODELS['gemma4'], 'num_hidden_layers': 2, 'layer_types': ['sliding_attention', 'full_attention'], 'enable_moe_block': True,
    'num_experts': 4, 'top_k_experts': 2, 'moe_intermediate_size': 12,
}
# Experts are codes of MXFP4 in both files, so their k's are whole blocks.
MODELS['gpt-oss'] = {
    'model_type': 'gpt_oss', **SIZES, 'hidden_size': 64, 'intermediate_size': 32, 'num_hidden_layers': 3, 'head_dim': 16,
    'num_local_experts': 4, 'num_experts_per_tok': 2, 'sliding_window': 8, 'pad_token_id': 0, 'tie_word_embeddings': False,
    'rope_parameters': {
        'rope_type': 'yarn', 'rope_theta': 5000.0, 'factor': 4.0, 'original_max_position_embeddings': 16, 'beta_fast': 32.0,
        'beta_slow': 1.0, 'truncate': False,
    },
    'quantization_config': {'quant_method': 'mxfp4'},
}
LINEAR = {
    'num_hidden_layers': 3, 'layer_types': ['linear_attention', 'linear_attention', 'full_attention'], 'head_dim': 16,
    'linear_key_head_dim': 8, 'linear_value_head_dim': 8, 'linear_num_key_heads': 2, 'linear_num_value_heads': 6,
    'rope_parameters': {'rope_type': 'default', 'rope_theta': 5000.0, 'partial_rotary_factor': 0.25, 'mrope_section': [1, 1, 0]},
    'pad_token_id': 0,
}
SHARED = {'moe_intermediate_size': 12, 'shared_expert_intermediate_size': 20, **EXPERTS}
MODELS |= {
    'qwen3-next': {'model_type': 'qwen3_next', **SIZES, **LINEAR, **SHARED, 'norm_topk_prob': True},
    'qwen3-5': {'model_type': 'qwen3_5_text', **SIZES, **LINEAR, 'tie_word_embeddings': True},
    'qwen3-5-moe': {'model_type': 'qwen3_5_moe_text', **SIZES, **LINEAR, **SHARED},
}
PHI = {**SIZES, 'num_key_value_heads': 4, 'pad_token_id': 0, 'bos_token_id': 0, 'eos_token_id': 0}
GPT2 = {'vocab_size': 40, 'n_embd': 16, 'n_layer': 2, 'n_head': 4, 'n_positions': 64, 'bos_token_id': 0, 'eos_token_id': 0}
MODELS |= {
    'exaone4': {
        'model_type': 'exaone4', **SIZES, 'num_hidden_layers': 4, 'sliding_window': 16, 'sliding_window_pattern': 4,
        'rope_parameters': {**LLAMA3, 'rope_theta': 100.0},
    },
    # The converter knows one width of feed-forward blocks.
    'phi': {'model_type': 'phi', **PHI, 'hidden_size': 32, 'intermediate_size': 128, 'partial_rotary_factor': 0.5},
    'seed-oss': {'model_type': 'seed_oss', **SIZES, 'head_dim': 8},
    'apertus': {'model_type': 'apertus', **SIZES, 'rope_parameters': {**LLAMA3, 'rope_theta': 100.0}},
    'stablelm': {'model_type': 'stablelm', **SIZES, 'hidden_size': 32, 'use_qkv_bias': True, 'partial_rotary_factor': 0.25},
    'arcee': {'model_type': 'arcee', **SIZES},
    'nemotron': {'model_type': 'nemotron', **SIZES, 'hidden_size': 32, 'partial_rotary_factor': 0.5},
    'olmo': {'model_type': 'olmo', **SIZES, 'pad_token_id': 0, 'eos_token_id': 0},
    'cohere': {'model_type': 'cohere', **SIZES, 'logit_scale': 0.25, 'rope_theta': 5000.0, 'pad_token_id': 0},
    'gpt2': {'model_type': 'gpt2', **GPT2, 'n_ctx': 64},
    'starcoder': {'model_type': 'gpt_bigcode', **GPT2},
    # Here, too, and of Falcon one context.
    'bloom': {'model_type': 'bloom', 'vocab_size': 40, 'hidden_size': 24, 'n_layer': 2, 'n_head': 6, 'seq_length': 64},
    'falcon': {
        'model_type': 'falcon', 'vocab_size': 40, 'hidden_size': 16, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'num_kv_heads': 2,
        'new_decoder_architecture': True, 'max_position_embeddings': 2048,
    },
}
MIXTURE = {**SIZES, 'head_dim': 8, 'moe_intermediate_size': 12, 'num_experts_per_tok': 2, 'pad_token_id': 0, 'rope_theta': 5000.0}
SIGMOIDS = {'n_routed_experts': 4, 'n_shared_experts': 1, 'first_k_dense_replace': 1, 'routed_scaling_factor': 1.5, 'norm_topk_prob': True}
MODELS |= {
    'ernie4-5': {'model_type': 'ernie4_5', **SIZES, 'head_dim': 8, 'rope_theta': 5000.0},
    'ernie4-5-moe': {
        'model_type': 'ernie4_5_moe', **SIZES, 'rope_theta': 5000.0, 'moe_num_experts': 4, 'moe_k': 2, 'moe_intermediate_size': 12,
        # llama.cpp takes the shared experts' width from these numbers.
        'moe_num_shared_experts': 1, 'moe_layer_start_index': 1, 'moe_layer_end_index': -1, 'tie_word_embeddings': True,
    },
    'hunyuan': {'model_type': 'hunyuan_v1_dense', **SIZES, 'head_dim': 8, 'pad_token_id': 0, 'rope_theta': 5000.0},
    'hunyuan-moe': {
        'model_type': 'hunyuan_v1_moe', **SIZES, 'pad_token_id': 0, 'rope_theta': 5000.0, 'num_experts': 4, 'moe_topk': [2, 2], 'num_shared_expert': [1, 1],
        'moe_intermediate_size': [24, 24], 'head_dim': 4,
    },
    'glm4-moe': {'model_type': 'glm4_moe', **MIXTURE, **SIGMOIDS, 'use_qk_norm': True, 'partial_rotary_factor': 0.5, 'attention_bias': True},
    'dots1': {'model_type': 'dots1', **MIXTURE, **SIGMOIDS, 'num_key_value_heads': 4, 'sliding_window': None, 'num_experts': 4, 'scoring_func': 'sigmoid'},
    'minimax-m2': {'model_type': 'minimax_m2', **MIXTURE, 'num_local_experts': 4, 'rotary_dim': 4, 'scoring_func': 'sigmoid'},
    'granite-moe': {
        'model_type': 'granitemoeshared', **SIZES, 'num_local_experts': 4, 'num_experts_per_tok': 2, 'embedding_multiplier': 12.0,
        'logits_scaling': 8.0, 'attention_multiplier': 0.125, 'residual_multiplier': 0.25, 'shared_intermediate_size': 20,
    },
    'lfm2-moe': {
        'model_type': 'lfm2_moe', **MIXTURE, 'head_dim': 4, 'num_hidden_layers': 3, 'layer_types': ['conv', 'full_attention', 'conv'],
        'num_dense_layers': 1, 'num_experts': 4,
    },
}
# Transformers has no class for Ling's mixtures: their tensors are listed below.
LING = {
    **SIZES, 'head_dim': 4, 'rms_norm_eps': 1e-6, 'rope_theta': 5000.0, 'num_experts': 4, 'num_experts_per_tok': 2, 'num_shared_experts': 1,
    'moe_intermediate_size': 12, 'first_k_dense_replace': 1, 'norm_topk_prob': True, 'tie_word_embeddings': False, 'use_bias': False,
    'use_qkv_bias': False,
}
MODELS |= {
    'bailing-moe': {'architectures': ['BailingMoeForCausalLM'], 'model_type': 'bailing_moe', **LING, 'norm_head': False, 'first_k_dense_replace': 0},
    'bailing-moe-v2': {
        'architectures': ['BailingMoeV2ForCausalLM'], 'model_type': 'bailing_moe_v2', **LING, 'use_qk_norm': True, 'partial_rotary_factor': 0.5,
        'n_group': 2, 'topk_group': 1, 'routed_scaling_factor': 1.5, 'score_function': 'sigmoid', 'moe_router_enable_expert_bias': True,
    },
}


def ling_tensors(config):
    """Names and shapes of a checkpoint of Ling's."""
    hidden, dims, experts = config['hidden_size'], config['head_dim'], config['num_experts']
    heads, kv_heads = config['num_attention_heads'], config['num_key_value_heads']
    mlp = {'gate_proj': False, 'up_proj': False, 'down_proj': True}

    def block(name, width):
        for part, is_down in mlp.items():
            yield f'{name}.{part}.weight', (hidden, width) if is_down else (width, hidden)

    yield from (('model.word_embeddings.weight', (config['vocab_size'], hidden)), ('lm_head.weight', (config['vocab_size'], hidden)))
    yield 'model.norm.weight', (hidden,)
    for i in range(config['num_hidden_layers']):
        layer = f'model.layers.{i}'
        yield from ((f'{layer}.{norm}.weight', (hidden,)) for norm in ('input_layernorm', 'post_attention_layernorm'))
        yield f'{layer}.attention.query_key_value.weight', ((heads + 2 * kv_heads) * dims, hidden)
        yield f'{layer}.attention.dense.weight', (hidden, heads * dims)
        if config.get('use_qk_norm'):
            yield from ((f'{layer}.attention.{of}_layernorm.weight', (dims,)) for of in ('query', 'key'))
        if i < config['first_k_dense_replace']:
            yield from block(f'{layer}.mlp', config['intermediate_size'])
            continue
        yield f'{layer}.mlp.gate.weight', (experts, hidden)
        if config.get('moe_router_enable_expert_bias'):
            yield f'{layer}.mlp.gate.expert_bias', (experts,)
        for name in (*(f'experts.{j}' for j in range(experts)), 'shared_experts'):
            yield from block(f'{layer}.mlp.{name}', config['moe_intermediate_size'])


# Nor has it one for DeepSeek-OCR, of which these are the text model's tensors.
MODELS['deepseek-ocr'] = {
    'architectures': ['DeepseekOCRForCausalLM'], 'model_type': 'DeepseekOCR', 'tie_word_embeddings': False,
    'language_config': {
        **SIZES, 'hidden_size': 32, 'num_key_value_heads': 4, 'n_routed_experts': 4, 'num_experts_per_tok': 2, 'n_shared_experts': 2,
        'moe_intermediate_size': 12, 'first_k_dense_replace': 1, 'n_group': 1, 'topk_group': 1, 'topk_method': 'greedy', 'use_mla': False,
        'kv_lora_rank': None, 'q_lora_rank': None, 'qk_nope_head_dim': 0, 'qk_rope_head_dim': 0, 'v_head_dim': 0,
    },
}


def deepseek_ocr_tensors(stated):
    """Names and shapes of the text model."""
    config = stated['language_config']
    hidden = config['hidden_size']

    def block(name, width):
        yield from ((f'{name}.{part}_proj.weight', (width, hidden)) for part in ('gate', 'up'))
        yield f'{name}.down_proj.weight', (hidden, width)

    yield from (('model.embed_tokens.weight', (config['vocab_size'], hidden)), ('lm_head.weight', (config['vocab_size'], hidden)))
    yield 'model.norm.weight', (hidden,)
    for i in range(config['num_hidden_layers']):
        layer = f'model.layers.{i}'
        yield from ((f'{layer}.{norm}.weight', (hidden,)) for norm in ('input_layernorm', 'post_attention_layernorm'))
        yield from ((f'{layer}.self_attn.{part}_proj.weight', (hidden, hidden)) for part in 'qkvo')
        if i < config['first_k_dense_replace']:
            yield from block(f'{layer}.mlp', config['intermediate_size'])
            continue
        yield f'{layer}.mlp.gate.weight', (config['n_routed_experts'], hidden)
        for j in range(config['n_routed_experts']):
            yield from block(f'{layer}.mlp.experts.{j}', config['moe_intermediate_size'])
        yield from block(f'{layer}.mlp.shared_experts', config['n_shared_experts'] * config['moe_intermediate_size'])


LISTED = {'bailing_moe': ling_tensors, 'bailing_moe_v2': ling_tensors, 'DeepseekOCR': deepseek_ocr_tensors}


def save_listed(config, seed, folder):
    draws = Draws(seed)
    tensors = {}
    for name, shape in LISTED[config['model_type']](config):
        is_norm = len(shape) == 1 and not name.endswith('bias')
        tensors[name] = draws(name, shape, 0.1 if name.endswith('bias') else 0.3, 1.0 if is_norm else 0.0).contiguous()
    save_file(tensors, folder / 'model.safetensors', {'format': 'pt'})
    (folder / 'config.json').write_text(json.dumps(config, indent=2) + '\n')
    return draws


# Of the mixtures, so that others keep theirs.
SEEDS = {name: 700 + i for i, name in enumerate(list(MODELS)[list(MODELS).index('ernie4-5'):])}
SEEDS |= {'gemma3': 115}  # where llama.cpp's cache of keys and values in f16 would choose other tokens
MAMBA = {'mamba_n_heads': 8, 'mamba_d_head': 8, 'mamba_d_state': 16, 'mamba_n_groups': 1, 'mamba_d_conv': 4, 'pad_token_id': 0}
HYBRID = {**SIZES, **MAMBA, 'hidden_size': 32, 'num_hidden_layers': 3, 'mamba_chunk_size': 8}
# llama.cpp's mixture of Nemotron-H has no feed-forward block without experts.
NEMOTRON_H = {
    'model_type': 'nemotron_h', **{key: value for key, value in SIZES.items() if key != 'num_hidden_layers'}, 'hidden_size': 32,
    'head_dim': 16, 'intermediate_size': 12, 'mamba_num_heads': 8, 'mamba_head_dim': 8, 'n_groups': 2, 'ssm_state_size': 16,
    'conv_kernel': 4, 'chunk_size': 8,
}
MODELS |= {
    'granite-hybrid': {
        'model_type': 'granitemoehybrid', **HYBRID, 'layer_types': ['mamba', 'attention', 'mamba'], 'shared_intermediate_size': 20,
        'num_local_experts': 4, 'num_experts_per_tok': 2, 'embedding_multiplier': 12.0, 'logits_scaling': 8.0,
        'attention_multiplier': 0.125, 'residual_multiplier': 0.25,
    },
    'falcon-h1': {
        'model_type': 'falcon_h1', **HYBRID, 'num_hidden_layers': 2, 'mamba_d_ssm': 64, 'mamba_rms_norm': True, 'head_dim': 8,
        'mamba_norm_before_gate': False, 'attention_in_multiplier': 1.25, 'attention_out_multiplier': 0.75, 'key_multiplier': 0.5,
        'ssm_in_multiplier': 1.5, 'ssm_out_multiplier': 0.75, 'ssm_multipliers': [0.5, 1.0, 1.5, 2.0, 0.75],
        'mlp_multipliers': [0.75, 1.5], 'embedding_multiplier': 1.5, 'lm_head_multiplier': 0.5,
    },
    'nemotron-h-moe': {
        **NEMOTRON_H, 'layers_block_type': ['linear_attention', 'moe', 'full_attention', 'moe'], 'n_routed_experts': 4,
        'num_experts_per_tok': 2, 'moe_intermediate_size': 12, 'moe_shared_expert_intermediate_size': 20, 'routed_scaling_factor': 1.5,
    },
}
SEEDS |= {'granite-hybrid': 30, 'falcon-h1': 31, 'nemotron-h-moe': 32}
# The converter makes one key head of all; experts are chosen within two of four groups.
MODELS['deepseek-v3'] = {
    'model_type': 'deepseek_v3', **SIZES, 'num_hidden_layers': 2, 'num_key_value_heads': 4, 'q_lora_rank': 12, 'kv_lora_rank': 16,
    'qk_nope_head_dim': 8, 'qk_rope_head_dim': 8, 'v_head_dim': 12, 'n_routed_experts': 8, 'num_experts_per_tok': 2,
    'n_shared_experts': 1, 'moe_intermediate_size': 12, 'n_group': 4, 'topk_group': 2, 'first_k_dense_replace': 1,
    'routed_scaling_factor': 2.5, 'norm_topk_prob': True, 'scoring_func': 'sigmoid', 'num_mtp_layers': 0, 'pad_token_id': 0,
    'rope_parameters': {**YARN, 'rope_theta': 5000.0, 'original_max_position_embeddings': 16, 'mscale': 1.0, 'mscale_all_dim': 1.0},
}
SEEDS['deepseek-v3'] = 272  # for the same reason as of gemma3
MODELS |= {
    'mistral4': {
        'model_type': 'mistral4', **SIZES, 'num_key_value_heads': 4, 'q_lora_rank': 12, 'kv_lora_rank': 16, 'qk_nope_head_dim': 8, 'qk_rope_head_dim': 8,
        'v_head_dim': 12, 'n_routed_experts': 4, 'num_experts_per_tok': 2, 'n_shared_experts': 1, 'moe_intermediate_size': 12, 'pad_token_id': 0,
        'rope_parameters': {**MINISTRAL3_ROPE, 'beta_fast': 32.0},
    },
    # llama.cpp has the multipliers of the published model.
    'minicpm3': {
        'model_type': 'minicpm3', **SIZES, 'num_key_value_heads': 4, 'q_lora_rank': 12, 'kv_lora_rank': 16, 'qk_nope_head_dim': 8, 'qk_rope_head_dim': 8,
        'tie_word_embeddings': False, 'pad_token_id': 0,
        'rope_parameters': {'rope_type': 'longrope', 'rope_theta': 10000.0, 'short_factor': [1.0, 1.1, 1.25, 1.5],
                            'long_factor': [1.0, 1.5, 2.5, 4.0], 'original_max_position_embeddings': 64, 'factor': 1.0},
    },
}
MODELS |= {
    'gemma': {'model_type': 'gemma', **SIZES, 'head_dim': 8},
    'llama4': {
        'model_type': 'llama4_text', **SIZES, 'num_hidden_layers': 4, 'head_dim': 8, 'intermediate_size': 12, 'intermediate_size_mlp': 24,
        'num_local_experts': 4, 'interleave_moe_layer_step': 2, 'pad_token_id': 0, 'rope_parameters': {**LLAMA3, 'rope_theta': 100.0},
    },
    'mpt': {'model_type': 'mpt', 'vocab_size': 40, 'd_model': 16, 'n_layers': 2, 'n_heads': 4, 'max_seq_len': 64},
    'phimoe': {
        'model_type': 'phimoe', **SIZES, 'num_local_experts': 4, 'attention_bias': True, 'lm_head_bias': True, 'original_max_position_embeddings': 16,
        'sliding_window': None,
        'rope_parameters': {**LONGROPE, 'partial_rotary_factor': 1.0, 'short_mscale': 1.224744871391589, 'long_mscale': 1.224744871391589},
    },
}
SEEDS |= {'gemma': 278, 'mistral4': 273, 'minicpm3': 274, 'llama4': 277, 'mpt': 275, 'phimoe': 276}
# Classes that the converter knows by the names of repositories, or within others.
NAMED_OTHERWISE = {'mistral4': 'Mistral3ForConditionalGeneration', 'mpt': 'MPTForCausalLM', 'phimoe': 'PhiMoEForCausalLM'}
# llama.cpp divides the squares of gates by one less than their number, which makes no difference where there are many, knows one rank and one number
# of columns for each layer, and shares keys from layer 20 on.
MODELS['gemma3n'] = {
    'model_type': 'gemma3n_text', **SIZES, 'hidden_size': 32, 'intermediate_size': 512, 'head_dim': 8, 'sliding_window': 16,
    'vocab_size_per_layer_input': 40, 'hidden_size_per_layer_input': 256, 'num_kv_shared_layers': 0, 'laurel_rank': 64,
    'activation_sparsity_pattern': [0.95, 0.95], 'layer_types': ['sliding_attention', 'full_attention'],
}
SEEDS |= {'gemma3n': 800, 'deepseek-ocr': 801}
ENCODERS = {'bert': 'BertModel', 'xlm-roberta': 'XLMRobertaModel'}


def draw(model, seed):
    draws = Draws(seed)
    for name, weight in model.named_parameters():
        weight.data = draws(name, weight.shape, 0.3, 1.0 if weight.dim() == 1 else 0.0)
    for name, bias in model.named_buffers():
        if name.endswith(('correction_bias', 'expert_bias')):
            bias.data = draws(name, bias.shape, 0.2 if model.config.model_type == 'nemotron_h' else 0.1)
    for scalar in (buffer for name, buffer in model.named_buffers() if name.endswith('layer_scalar')):
        scalar.fill_(0.75)
    for name, values in model.named_buffers():
        if name.endswith('e_score_correction_bias'):  # of routers
            values.data = draws(name, values.shape, 0.1)
    return draws


def vocabulary(model):
    """Forty tokens, so that llama.cpp and the engine open the file: the last position's logits are what is compared."""
    specials = ['</s>', '<unk>', '<s>', '<|endoftext|>']
    tokens = ['a', 'b', 'ab', 'Ċ', 'Ġ', *specials]
    tokens += [f'{chr(97 + i % 26)}{i}' for i in range(SIZES['vocab_size'] - len(tokens))]
    writer = model.gguf_writer
    writer.add_tokenizer_model('gpt2')
    writer.add_tokenizer_pre('gpt-2')
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in specials else 1 for token in tokens])
    writer.add_token_merges(['a b'])
    writer.add_bos_token_id(7)
    writer.add_eos_token_id(8)


def no_vocabulary(model):
    model.gguf_writer.add_tokenizer_model('none')


def convert(folder, target, name):
    hparams = json.loads((folder / 'config.json').read_text())
    kind = hparams['model_type']
    architecture = NAMED_OTHERWISE.get(kind) or get_model_architecture(hparams, ModelType.TEXT)
    model_class = get_model_class(architecture, mmproj=False)
    # The class for Mistral 3 only chooses another.
    model_class = getattr(model_class, 'Mistral4Model' if kind == 'mistral4' else 'Ministral3Model', model_class)
    if kind.startswith('gemma'):
        (folder / 'tokenizer.json').write_text(json.dumps({'model': {'vocab': {str(i): i for i in range(40)}}, 'added_tokens': []}))
    # Tiny checkpoints have no layers that predict several tokens ahead.
    own = {'set_vocab': no_vocabulary if name in ENCODERS else vocabulary, 'no_mtp': True}
    plain = type(model_class.__name__, (model_class,), {**own, 'model_arch': model_class.model_arch})
    # AutoConfig drops keys of older spellings, which some converters read.
    hparams = {**model_class.load_hparams(folder, False), **hparams}
    plain(folder, gguf.LlamaFileType.ALL_F32, target, model_name=name, hparams=hparams).write()
    (folder / 'tokenizer.json').unlink(missing_ok=True)


def vocabulary_of(folder):
    """Tokens and their kinds by tokenizer.json, which AutoTokenizer would extend by tokens of the class."""
    tokenizer = json.loads((folder / 'tokenizer.json').read_text())
    special = {token['content'] for token in tokenizer['added_tokens']}
    tokens = sorted(tokenizer['model']['vocab'], key=tokenizer['model']['vocab'].get)
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    return tokens, [control if token in special else normal for token in tokens]


def convert_embedding(name, pre):
    """The GGUF file of a checkpoint in test/golden/embedding, with its own vocabulary. Its pre-tokenizer is unknown to the converter."""
    source = ROOT.parent / 'embedding' / name
    target = ROOT / 'embedding' / f'{name}.gguf'
    target.parent.mkdir(exist_ok=True)
    hparams = json.loads((source / 'config.json').read_text())
    model_class = get_model_class(get_model_architecture(hparams, ModelType.TEXT), mmproj=False)
    own = {'get_vocab_base': lambda self: (*vocabulary_of(source), pre), 'model_arch': model_class.model_arch}
    plain = type(model_class.__name__, (model_class,), own)
    # AutoConfig takes other values where settings have NomicBERT's own names.
    stated = {'hparams': hparams} if 'n_embd' in hparams else {}
    plain(source, gguf.LlamaFileType.MOSTLY_F16, target, model_name=name, **stated).write()
    keep_gguf(target, drawn_for(source / 'model.safetensors'))


def convert_judge(name, pre, **more):
    """The GGUF file of a checkpoint in test/golden/classifiers, which ranks documents. `more`: what the converter finds in published folders."""
    source = ROOT.parent / 'classifiers' / name
    target = ROOT / 'embedding' / f'{name}-rank.gguf'
    hparams = json.loads((source / 'config.json').read_text())
    model_class = get_model_class(get_model_architecture(hparams, ModelType.TEXT), mmproj=False)
    own = {'get_vocab_base': lambda self: (*vocabulary_of(source), pre), 'model_arch': model_class.model_arch, **more}
    if pre == 'bert-bge':  # the golden's vocabulary is BERT's
        own['set_vocab'] = get_model_class('BertModel', mmproj=False).set_vocab
    plain = type(model_class.__name__, (model_class,), own)
    plain(source, gguf.LlamaFileType.ALL_F32, target, model_name=name).write()
    keep_gguf(target, drawn_for(source / 'model.safetensors'))


def answers(self):
    """The tokens of the answers, which the converter would look for by their texts."""
    self.is_rerank = self.is_tied_embeddings = True
    self.token_true_id, self.token_false_id = 7, 11


JUDGES = {
    'xlm-roberta': ('bert-bge', {}),
    'judge': ('gpt-2', {'_is_qwen3_reranker': lambda self: True, '_find_rerank_config': answers}),
}


def adapt(base, names):
    """A LoRA adapter of linear layers as PEFT saves it, and the GGUF file that llama.cpp's converter makes of it."""
    folder = ROOT / 'lora'
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    weights = load_file(ROOT / base / 'model.safetensors')
    draws = Draws(77)
    factors = {}
    for name, weight in weights.items():
        if any(f'{module}.weight' in name for module in names):
            stem = f'base_model.model.{name.removesuffix(".weight")}'
            factors[f'{stem}.lora_A.weight'] = draws(f'{stem}.lora_A.weight', (3, weight.shape[1]), 1)
            factors[f'{stem}.lora_B.weight'] = draws(f'{stem}.lora_B.weight', (weight.shape[0], 3), 1)
    save_file(factors, folder / 'adapter_model.safetensors')
    keep(folder / 'adapter_model.safetensors', draws)
    settings = {'peft_type': 'LORA', 'task_type': 'CAUSAL_LM', 'base_model_name_or_path': base, 'r': 3, 'lora_alpha': 6, 'target_modules': names}
    (folder / 'adapter_config.json').write_text(json.dumps(settings, indent=2) + '\n')
    script = LLAMA_CPP / 'convert_lora_to_gguf.py'
    target = folder / 'gguf' / 'adapter.gguf'
    target.parent.mkdir()
    subprocess.run(
        [sys.executable, script, '--base', ROOT / base, '--outtype', 'f32', '--outfile', target, folder],
        check=True,
    )
    keep_gguf(target, draws)


def main():
    for seed, (name, stated) in enumerate(MODELS.items()):
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        if ONLY and name not in ONLY:
            continue
        folder = ROOT / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        kind = stated['model_type']
        if kind in LISTED:
            draws = save_listed(stated, SEEDS[name], folder)
            keep(folder / 'model.safetensors', draws)
            convert(folder, folder / 'model.gguf', name)
            keep_gguf(folder / 'model.gguf', draws, pool=ROOT / 'codes.safetensors')
            continue
        config = AutoConfig.for_model(**stated)
        maker = AutoModel if kind in ENCODERS else AutoModelForCausalLM
        model = (Mistral4ForCausalLM(config) if kind == 'mistral4' else maker.from_config(config)).float()
        draws = draw(model, SEEDS.get(name, seed))
        model.eval()
        with tempfile.TemporaryDirectory() as kept:
            model.save_pretrained(kept)
            published = json.loads((Path(kept) / 'config.json').read_text())
            # The converter reads these keys as published files spell them.
            spelled = ('rotary_pct', *(['layer_types'] if kind == 'granitemoehybrid' else []))
            published |= {key: stated[key] for key in spelled if key in stated}
            (folder / 'config.json').write_text(json.dumps(published, indent=2) + '\n')
            (folder / 'model.safetensors').write_bytes((Path(kept) / 'model.safetensors').read_bytes())
        if kind == 'gpt_oss':
            save_mxfp4(model, draws, torch.float32, folder)
        keep(folder / 'model.safetensors', draws)
        if kind in ENCODERS:
            (folder / 'modules.json').write_text(json.dumps([
                {'idx': 0, 'name': '0', 'path': '', 'type': 'sentence_transformers.models.Transformer'},
                {'idx': 1, 'name': '1', 'path': '1_Pooling', 'type': 'sentence_transformers.models.Pooling'},
                {'idx': 2, 'name': '2', 'path': '2_Normalize', 'type': 'sentence_transformers.models.Normalize'},
            ]) + '\n')
            (folder / '1_Pooling').mkdir()
            pooling = {'pooling_mode_cls_token': True, 'pooling_mode_mean_tokens': False}
            (folder / '1_Pooling' / 'config.json').write_text(json.dumps(pooling) + '\n')
        convert(folder, folder / 'model.gguf', name)
        keep_gguf(folder / 'model.gguf', draws, pool=ROOT / 'codes.safetensors')
        print(name, (folder / 'model.gguf').stat().st_size)
    if ONLY:
        return
    if sys.argv[2:]:
        return
    convert_embedding('bert', 'bert-bge')
    convert_embedding('nomic', 'bert-bge')
    convert_embedding('qwen3', 'gpt-2')
    for name, (pre, more) in JUDGES.items():
        convert_judge(name, pre, **more)
    adapt('llama', ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'])


main()
