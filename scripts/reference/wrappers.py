"""Makes tiny checkpoints of classes that wrap a text model, and the logits that they give for a prompt of text alone:

    python scripts/reference/wrappers.py [NAME…]

test/golden/wrappers/<name>/ is a checkpoint with random weights as the class saves it; logits.safetensors beside it holds `ids` and
`logits`, [tokens, vocabulary], computed by the wrapping class in f32.
"""

import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from recipe import Draws, keep

ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'wrappers'
TEXT = dict(
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=96,
    max_position_embeddings=128,
    eos_token_id=2,
    bos_token_id=1,
    pad_token_id=0,
)
VISION = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2, image_size=16, patch_size=8)
ROPE = dict(rope_type='default', rope_theta=10000.0)


def llava():
    text = dict(TEXT, model_type='llama')
    vision = dict(VISION, model_type='clip_vision_model')
    return transformers.LlavaForConditionalGeneration(transformers.LlavaConfig(text_config=text, vision_config=vision))


def mistral3():
    """Ties its head, by the outer configuration; text_config says otherwise."""
    text = dict(TEXT, model_type='mistral', head_dim=16)
    vision = dict(VISION, model_type='pixtral', head_dim=16)
    config = transformers.Mistral3Config(text_config=text, vision_config=vision)
    return transformers.Mistral3ForConditionalGeneration(config)


def ministral3():
    rope = dict(ROPE, rope_type='yarn', factor=4.0, original_max_position_embeddings=16, llama_4_scaling_beta=0.3)
    text = dict(TEXT, model_type='ministral3', head_dim=16, rope_parameters=rope)
    vision = dict(VISION, model_type='pixtral', head_dim=16)
    config = transformers.Mistral3Config(text_config=text, vision_config=vision)
    return transformers.Mistral3ForConditionalGeneration(config)


def qwen2_vl():
    rope = dict(ROPE, mrope_section=[2, 3, 3])
    text = dict(TEXT, model_type='qwen2_vl_text', rope_parameters=rope)
    vision = dict(depth=1, embed_dim=32, hidden_size=64, num_heads=2, mlp_ratio=2)
    config = transformers.Qwen2VLConfig(text_config=text, vision_config=vision)
    return transformers.Qwen2VLForConditionalGeneration(config)


def qwen3_vl():
    rope = dict(ROPE, mrope_section=[3, 3, 2], mrope_interleaved=True)
    text = dict(TEXT, model_type='qwen3_vl_text', head_dim=16, rope_parameters=rope)
    vision = dict(depth=1, hidden_size=32, out_hidden_size=64, num_heads=2, intermediate_size=48, num_position_embeddings=16,
                  deepstack_visual_indexes=[0])
    config = transformers.Qwen3VLConfig(text_config=text, vision_config=vision)
    return transformers.Qwen3VLForConditionalGeneration(config)


LINEAR = dict(head_dim=16, layer_types=['linear_attention', 'full_attention'], linear_key_head_dim=8, linear_value_head_dim=12,
              linear_num_key_heads=2, linear_num_value_heads=4)
LINEAR_ROPE = dict(ROPE, mrope_section=[1, 1, 0], mrope_interleaved=True, partial_rotary_factor=0.25)
LINEAR_VISION = dict(depth=1, hidden_size=32, out_hidden_size=64, num_heads=2, intermediate_size=48, num_position_embeddings=16)


def qwen3_5():
    text = dict(TEXT, **LINEAR, model_type='qwen3_5_text', rope_parameters=LINEAR_ROPE)
    config = transformers.Qwen3_5Config(text_config=text, vision_config=LINEAR_VISION, tie_word_embeddings=True)
    return transformers.Qwen3_5ForConditionalGeneration(config)


def qwen3_5_moe():
    """Experts are saved as published: all of a layer in one tensor."""
    experts = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=32)
    text = dict(TEXT, **LINEAR, **experts, model_type='qwen3_5_moe_text', rope_parameters=LINEAR_ROPE)
    del text['intermediate_size']
    config = transformers.Qwen3_5MoeConfig(text_config=text, vision_config=LINEAR_VISION)
    return transformers.Qwen3_5MoeForConditionalGeneration(config)


def smolvlm():
    text = dict(TEXT, model_type='llama')
    config = transformers.SmolVLMConfig(text_config=text, vision_config=VISION)
    return transformers.SmolVLMForConditionalGeneration(config)


def gemma3():
    text = dict(TEXT, model_type='gemma3_text', head_dim=16, sliding_window=8, query_pre_attn_scalar=20,
                layer_types=['sliding_attention', 'full_attention'])
    vision = dict(VISION, model_type='siglip_vision_model')
    config = transformers.Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    return transformers.Gemma3ForConditionalGeneration(config)


def gemma4():
    text = dict(TEXT, model_type='gemma4_text', head_dim=16, global_head_dim=32, num_global_key_value_heads=1, attention_k_eq_v=True,
                sliding_window=8, hidden_size_per_layer_input=0, layer_types=['sliding_attention', 'full_attention'],
                use_bidirectional_attention='vision')
    vision = dict(VISION, model_type='gemma4_vision', head_dim=16, global_head_dim=16, patch_size=4, pooling_kernel_size=2,
                  position_embedding_size=16)
    config = transformers.Gemma4Config(text_config=text, vision_config=vision, audio_config=None)
    return transformers.Gemma4ForConditionalGeneration(config)


def draw(model, seed):
    """Standard deviations by role, so that attention is not flat; stored in f16 and computed with what is stored."""
    draws = Draws(seed)
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            weight.data = draws(name, weight.shape, 0.2, 1.0 if 'norm' in name and 'bias' not in name else 0.0)
        else:
            gain = 2.0 if 'q_proj' in name or 'k_proj' in name else 1.0
            weight.data = draws(name, weight.shape, gain / weight.shape[-1] ** 0.5)
        weight.data = weight.data.half().float()
    return draws


def make(name, build, seed):
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    model = build().eval().float()
    draws = draw(model, seed)
    ids = torch.randint(3, TEXT['vocab_size'], (1, 40))
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0]
    save_file({'ids': ids[0].int(), 'logits': logits.contiguous()}, folder / 'logits.safetensors')
    model.half().save_pretrained(folder)
    if name == 'qwen3-5-moe':
        save_file({key: value.contiguous() for key, value in model.state_dict().items()}, folder / 'model.safetensors')
    keep(folder / 'model.safetensors', draws)
    (folder / 'generation_config.json').unlink(missing_ok=True)


for seed, build in enumerate((llava, mistral3, qwen2_vl, qwen3_vl, smolvlm, gemma3, ministral3, gemma4, qwen3_5, qwen3_5_moe)):
    name = build.__name__.replace('_', '-')
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        continue
    torch.manual_seed(seed)
    make(name, build, seed)
