"""The tiny checkpoints of Qwen-Image: widths, depths and levels of autoencoder and towers that no published one has."""

from diffusers import AutoencoderKLQwenImage, QwenImageTransformer2DModel
from transformers import Qwen2_5_VLForConditionalGeneration

from image_part import Checkpoint, Part, index

VOCABULARY = 472
IMAGE_PAD, VISION_START, VISION_END = 461, 459, 460
FLOW = dict(
    num_train_timesteps=1000, shift=1.0, use_dynamic_shifting=True, base_shift=0.5, max_shift=0.9, base_image_seq_len=16,
    max_image_seq_len=64, shift_terminal=0.02, time_shift_type='exponential',
)  # fmt: skip


def transformer(seed, **config):
    sizes = dict(
        patch_size=2, in_channels=16, out_channels=4, num_layers=2, attention_head_dim=12, num_attention_heads=3,
        joint_attention_dim=64, guidance_embeds=False, axes_dims_rope=[2, 6, 4],
    )  # fmt: skip
    return Part('model', QwenImageTransformer2DModel, sizes | config, seed, 'bf16')


def vae(seed, **config):
    sizes = dict(
        base_dim=8, z_dim=4, dim_mult=[1, 2, 3], num_res_blocks=1, attn_scales=[], temperal_downsample=[False, True],
        latents_mean=[-0.75, 0.5, 1.25, 0.1], latents_std=[2.5, 1.5, 0.75, 3.0],
    )  # fmt: skip
    return Part('model', AutoencoderKLQwenImage, sizes | config, seed, 'f16', {'decoder.conv_out': 0.5})


def text_encoder(seed):
    text = dict(
        vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=1, rms_norm_eps=1e-6, rope_theta=1e6, max_position_embeddings=2048, model_type='qwen2_5_vl_text',
        rope_scaling={'type': 'default', 'rope_type': 'default', 'mrope_section': [4, 6, 6]}, tie_word_embeddings=False,
    )  # fmt: skip
    vision = dict(
        depth=3, hidden_size=32, num_heads=2, intermediate_size=44, out_hidden_size=64, patch_size=14, window_size=56,
        fullatt_block_indexes=[1], spatial_merge_size=2, temporal_patch_size=2, hidden_act='silu', in_channels=3,
        model_type='qwen2_5_vl',
    )  # fmt: skip
    ids = dict(
        image_token_id=IMAGE_PAD, vision_start_token_id=VISION_START, vision_end_token_id=VISION_END, video_token_id=VOCABULARY - 1,
        tie_word_embeddings=False,
    )  # fmt: skip
    return Part('model', Qwen2_5_VLForConditionalGeneration, dict(text_config=text, vision_config=vision) | ids, seed, 'bf16')


INDEX = index(
    'QwenImagePipeline',
    scheduler=('diffusers', 'FlowMatchEulerDiscreteScheduler'),
    text_encoder=('transformers', 'Qwen2_5_VLForConditionalGeneration'),
    tokenizer=('transformers', 'Qwen2Tokenizer'),
    transformer=('diffusers', 'QwenImageTransformer2DModel'),
    vae=('diffusers', 'AutoencoderKLQwenImage'),
)
EDIT_INDEX = index(
    'QwenImageEditPlusPipeline',
    processor=('transformers', 'Qwen2VLProcessor'),
    **{name: place for name, place in INDEX.items() if not name.startswith('_')},
)
# As the image processors of Qwen2-VL are published.
PROCESSOR = dict(
    min_pixels=3136, max_pixels=12845056, patch_size=14, temporal_patch_size=2, merge_size=2, image_processor_type='Qwen2VLImageProcessor',
    image_mean=[0.48145466, 0.4578275, 0.40821073], image_std=[0.26862954, 0.26130258, 0.27577711],
)  # fmt: skip
QWEN_IMAGE = {
    'qwen-image-edit': Checkpoint(
        {
            'transformer': transformer(74, zero_cond_t=True),
            'processor': Part('file', config={'preprocessor_config.json': PROCESSOR}),
            '': Part('file', config={'svc.json': {'width': 80, 'height': 80}}),
        },
        EDIT_INDEX,
    ),
    'qwen-image': Checkpoint(
        {
            'tokenizer': Part('qwen tokenizer', config=dict(more=['<|vision_start|>', '<|vision_end|>', '<|image_pad|>'])),
            'text_encoder': text_encoder(71),
            'transformer': transformer(72),
            'vae': vae(73),
            'scheduler': Part('scheduler', 'FlowMatchEulerDiscreteScheduler', FLOW),
        },
        INDEX,
    ),
}
