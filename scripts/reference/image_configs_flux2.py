"""The tiny checkpoints of FLUX.2, with heads, axes and ratios that no published one has."""

from diffusers import AutoencoderKLFlux2, Flux2Transformer2DModel
from transformers import Mistral3ForConditionalGeneration, Qwen3ForCausalLM

from image_part import Checkpoint, Part, index

VOCABULARY = 464
FLOW = dict(
    num_train_timesteps=1000, shift=3.0, use_dynamic_shifting=True, base_shift=0.5, max_shift=1.15, base_image_seq_len=256,
    max_image_seq_len=4096,
)  # fmt: skip


def transformer(seed, **config):
    sizes = dict(
        patch_size=1, in_channels=16, num_layers=2, num_single_layers=2, attention_head_dim=20, num_attention_heads=3,
        joint_attention_dim=96, timestep_guidance_channels=32, mlp_ratio=2.61, axes_dims_rope=[4, 6, 2, 8], rope_theta=500,
        eps=1e-5, guidance_embeds=False,
    )  # fmt: skip
    return Part('model', Flux2Transformer2DModel, sizes | config, seed, 'bf16')


def vae(seed, **config):
    sizes = dict(
        in_channels=3, out_channels=3, latent_channels=4, block_out_channels=[16, 24], decoder_block_out_channels=[24, 16],
        layers_per_block=1, norm_num_groups=8, sample_size=64, batch_norm_eps=1e-2,
        down_block_types=['DownEncoderBlock2D'] * 2, up_block_types=['UpDecoderBlock2D'] * 2,
    )  # fmt: skip
    return Part('model', AutoencoderKLFlux2, sizes | config, seed, 'f16', {'decoder.conv_out': 0.5})


def text_encoder(seed):
    """As many layers as it takes to have the states after 27."""
    sizes = dict(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=40, num_hidden_layers=28, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, rms_norm_eps=1e-6, rope_theta=1e6, max_position_embeddings=1024,
        attention_bias=False, tie_word_embeddings=True,
    )  # fmt: skip
    return Part('model', Qwen3ForCausalLM, sizes, seed, 'bf16')


def mistral(seed):
    """As many layers as it takes to have the states after 30; the vision tower is not read."""
    text = dict(
        model_type='mistral', vocab_size=267, hidden_size=32, intermediate_size=44, num_hidden_layers=31, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, rms_norm_eps=1e-5, rope_theta=1e6, max_position_embeddings=1024, sliding_window=None,
    )  # fmt: skip
    vision = dict(
        model_type='pixtral', hidden_size=16, intermediate_size=20, num_hidden_layers=1, num_attention_heads=2, image_size=32, patch_size=8,
        head_dim=8,
    )  # fmt: skip
    more = dict(image_token_index=7, spatial_merge_size=2, tie_word_embeddings=False)
    return Part('model', Mistral3ForConditionalGeneration, dict(text_config=text, vision_config=vision) | more, seed, 'bf16')


INDEX = index(
    'Flux2Pipeline',
    scheduler=('diffusers', 'FlowMatchEulerDiscreteScheduler'),
    text_encoder=('transformers', 'Mistral3ForConditionalGeneration'),
    tokenizer=('transformers', 'PixtralProcessor'),
    transformer=('diffusers', 'Flux2Transformer2DModel'),
    vae=('diffusers', 'AutoencoderKLFlux2'),
)
KLEIN_INDEX = index(
    'Flux2KleinPipeline',
    scheduler=('diffusers', 'FlowMatchEulerDiscreteScheduler'),
    text_encoder=('transformers', 'Qwen3ForCausalLM'),
    tokenizer=('transformers', 'Qwen2TokenizerFast'),
    transformer=('diffusers', 'Flux2Transformer2DModel'),
    vae=('diffusers', 'AutoencoderKLFlux2'),
)
FLUX2 = {
    'flux2': Checkpoint(
        {
            'tokenizer': Part('mistral tokenizer'),
            'text_encoder': mistral(104),
            'transformer': transformer(105, guidance_embeds=True, mlp_ratio=2.6, num_layers=1, num_single_layers=3, attention_head_dim=24, num_attention_heads=2, axes_dims_rope=[6, 8, 8, 2]),
            'scheduler': Part('scheduler', 'FlowMatchEulerDiscreteScheduler', FLOW),
        },
        INDEX,
    ),
    'flux2-klein': Checkpoint(
        {
            'tokenizer': Part('copy', source='z-image/tokenizer'),
            'text_encoder': text_encoder(101),
            'transformer': transformer(102),
            'vae': vae(103),
            'scheduler': Part('scheduler', 'FlowMatchEulerDiscreteScheduler', FLOW),
        },
        KLEIN_INDEX | {'is_distilled': False},
    ),
}
