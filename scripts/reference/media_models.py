"""The tiny models of media.py: widths, depths and patches that no published one has."""

import transformers
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

SPECIALS = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|vision_start|>', '<|vision_end|>', '<|image_pad|>', '<|video_pad|>']
BYTES = 256
IDS = {
    f'{name}_token_id': BYTES + SPECIALS.index(text)
    for name, text in dict(image='<|image_pad|>', video='<|video_pad|>', vision_start='<|vision_start|>', vision_end='<|vision_end|>').items()
}
ROPE = dict(rope_type='default', rope_theta=10000.0)
TEXT = dict(hidden_size=48, intermediate_size=72, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=1024,
            bos_token_id=None, eos_token_id=BYTES + 2, pad_token_id=BYTES, tie_word_embeddings=False)  # fmt: skip
PATCH = dict(patch_size=6, temporal_patch_size=2, merge_size=2, size=dict(shortest_edge=12 * 12 * 4, longest_edge=12 * 12 * 24))




def with_images(processor_class):
    """A processor that is given no videos."""

    class Images(processor_class):
        def __init__(self, words, image_processor):
            self.tokenizer, self.image_processor = words, image_processor
            for name in ('image', 'video'):
                setattr(self, f'{name}_token', getattr(words, f'{name}_token'))
                setattr(self, f'{name}_token_id', getattr(words, f'{name}_token_id'))

        def __call__(self, text, images=None, **kwargs):
            given = self.image_processor(images=images, return_tensors='pt') if images else {}
            grids = iter(given.get('image_grid_thw', []))
            cells = self.image_processor.merge_size**2
            pieces = text[0].split(self.image_token)
            whole = pieces[0]
            for piece in pieces[1:]:
                whole += self.image_token * (int(next(grids).prod()) // cells) + piece
            ids = self.tokenizer(whole, add_special_tokens=False, return_tensors='pt')
            types = (ids['input_ids'] == self.image_token_id).int()
            return {**ids, **given, 'mm_token_type_ids': types} if images else dict(ids)

    return Images


def qwen2_5_vl(vocabulary):
    text = dict(TEXT, vocab_size=vocabulary, model_type='qwen2_5_vl_text', rope_parameters=dict(ROPE, mrope_section=[2, 3, 3]))
    vision = dict(depth=3, hidden_size=40, num_heads=2, intermediate_size=52, out_hidden_size=48, patch_size=6, window_size=24,
                  fullatt_block_indexes=[1], spatial_merge_size=2, temporal_patch_size=2, tokens_per_second=2)  # fmt: skip
    config = transformers.Qwen2_5_VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=False, **IDS)
    model = transformers.Qwen2_5_VLForConditionalGeneration(config)
    return model, Qwen2VLImageProcessorPil(**PATCH), with_images(object)


def qwen2_vl(vocabulary):
    text = dict(TEXT, vocab_size=vocabulary, model_type='qwen2_vl_text', rope_parameters=dict(ROPE, mrope_section=[2, 3, 3]))
    vision = dict(depth=2, embed_dim=40, hidden_size=48, num_heads=2, mlp_ratio=2, patch_size=6, spatial_merge_size=2, temporal_patch_size=2)
    config = transformers.Qwen2VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=False, **IDS)
    return transformers.Qwen2VLForConditionalGeneration(config), Qwen2VLImageProcessorPil(**PATCH), with_images(object)


VISION3 = dict(depth=3, hidden_size=40, num_heads=2, intermediate_size=52, out_hidden_size=48, patch_size=6, spatial_merge_size=2,
               temporal_patch_size=2, num_position_embeddings=25)  # fmt: skip


def qwen3_vl(vocabulary):
    rope = dict(ROPE, mrope_section=[4, 2, 2], mrope_interleaved=True)
    text = dict(TEXT, num_hidden_layers=3, head_dim=16, vocab_size=vocabulary, model_type='qwen3_vl_text', rope_parameters=rope)
    vision = dict(VISION3, deepstack_visual_indexes=[0, 2])
    config = transformers.Qwen3VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=False, **IDS)
    return transformers.Qwen3VLForConditionalGeneration(config), Qwen2VLImageProcessorPil(**PATCH, **HALVES), with_images(object)


def qwen3_vl_moe(vocabulary):
    """The first layer has no experts."""
    rope = dict(ROPE, mrope_section=[4, 2, 2], mrope_interleaved=True)
    experts = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=28, mlp_only_layers=[0])
    text = dict(TEXT, **experts, num_hidden_layers=3, head_dim=16, vocab_size=vocabulary, model_type='qwen3_vl_moe_text', rope_parameters=rope)
    vision = dict(VISION3, deepstack_visual_indexes=[0, 2])
    config = transformers.Qwen3VLMoeConfig(text_config=text, vision_config=vision, tie_word_embeddings=False, **IDS)
    return transformers.Qwen3VLMoeForConditionalGeneration(config), Qwen2VLImageProcessorPil(**PATCH, **HALVES), with_images(object)


HALVES = dict(image_mean=[0.5, 0.5, 0.5], image_std=[0.5, 0.5, 0.5])
LINEAR = dict(head_dim=16, layer_types=['linear_attention', 'full_attention'], linear_key_head_dim=8, linear_value_head_dim=12,
              linear_num_key_heads=2, linear_num_value_heads=4)  # fmt: skip


def qwen3_5(vocabulary):
    rope = dict(ROPE, mrope_section=[2, 1, 1], mrope_interleaved=True, partial_rotary_factor=0.5)
    text = dict(TEXT, **LINEAR, vocab_size=vocabulary, model_type='qwen3_5_text', rope_parameters=rope)
    config = transformers.Qwen3_5Config(text_config=text, vision_config=VISION3, tie_word_embeddings=False, **IDS)
    return transformers.Qwen3_5ForConditionalGeneration(config), Qwen2VLImageProcessorPil(**PATCH, **HALVES), with_images(object)


def qwen3_5_moe(vocabulary):
    rope = dict(ROPE, mrope_section=[2, 1, 1], mrope_interleaved=True, partial_rotary_factor=0.5)
    experts = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=28, shared_expert_intermediate_size=20)
    text = dict(TEXT, **LINEAR, **experts, vocab_size=vocabulary, model_type='qwen3_5_moe_text', rope_parameters=rope)
    del text['intermediate_size']
    config = transformers.Qwen3_5MoeConfig(text_config=text, vision_config=VISION3, tie_word_embeddings=False, **IDS)
    return transformers.Qwen3_5MoeForConditionalGeneration(config), Qwen2VLImageProcessorPil(**PATCH, **HALVES), with_images(object)


MODELS = {
    'qwen2-5-vl': qwen2_5_vl,
    'qwen2-vl': qwen2_vl,
    'qwen3-vl': qwen3_vl,
    'qwen3-vl-moe': qwen3_vl_moe,
    'qwen3-5': qwen3_5,
    'qwen3-5-moe': qwen3_5_moe,
}
