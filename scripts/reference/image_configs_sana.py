"""The tiny checkpoints of Sana, with heads, ratios and widths that no published one has."""

from diffusers import AutoencoderDC, SanaTransformer2DModel
from transformers import Gemma2Model

from image_part import Checkpoint, Part, index

VOCABULARY = 700
FLOW = dict(
    num_train_timesteps=1000, algorithm_type='dpmsolver++', flow_shift=3.0, prediction_type='flow_prediction', solver_order=2,
    solver_type='midpoint', use_flow_sigmas=True, final_sigmas_type='zero', lower_order_final=True,
)  # fmt: skip
RESIDUAL, ATTENTION = 'ResBlock', 'EfficientViTBlock'


def transformer(seed, **config):
    sizes = dict(
        in_channels=16, out_channels=16, num_attention_heads=3, attention_head_dim=12, num_layers=3, num_cross_attention_heads=2,
        cross_attention_head_dim=20, cross_attention_dim=36, caption_channels=40, mlp_ratio=2.45, sample_size=16,
        qk_norm='rms_norm_across_heads',
    )  # fmt: skip
    return Part('model', SanaTransformer2DModel, sizes | config, seed, 'bf16')


def text_encoder(seed):
    """A window of 8 tokens in every other layer, scores with a cap."""
    sizes = dict(
        vocab_size=VOCABULARY, hidden_size=40, intermediate_size=56, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
        head_dim=16, query_pre_attn_scalar=12, sliding_window=8, rms_norm_eps=1e-6, attn_logit_softcapping=4.0,
        final_logit_softcapping=10.0, rope_theta=10000.0, max_position_embeddings=2048, bos_token_id=2, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return Part('model', Gemma2Model, sizes, seed, 'bf16')


def vae(seed, **config):
    """As many resolutions as published ones have."""
    sizes = dict(
        latent_channels=16, attention_head_dim=12, scaling_factor=0.41407, upsample_block_type='interpolate', downsample_block_type='Conv',
        encoder_block_out_channels=[8, 8, 16, 16, 32, 32], decoder_block_out_channels=[8, 8, 16, 16, 32, 32],
        encoder_layers_per_block=[1, 1, 1, 1, 2, 1], decoder_layers_per_block=[1, 1, 1, 2, 1, 1],
    )  # fmt: skip
    for side in ('encoder', 'decoder'):
        sizes[f'{side}_block_types'] = [RESIDUAL] * 3 + [ATTENTION] * 3
        sizes[f'{side}_qkv_multiscales'] = [[], [], [], [5], [5], [5]]
    return Part('model', AutoencoderDC, sizes | config, seed, 'f16', {'decoder.conv_out': 0.5})


def shuffled(seed):
    """Kernels of two sizes and of none, ReLU, averages of channels where pixels are moved, and no shortcuts at the ends."""
    sizes = dict(
        latent_channels=6, attention_head_dim=8, encoder_block_out_channels=[12, 24, 32], decoder_block_out_channels=[12, 24, 32],
        encoder_layers_per_block=[2, 1, 1], decoder_layers_per_block=[1, 2, 1], encoder_block_types=[RESIDUAL, ATTENTION, ATTENTION],
        decoder_block_types=[RESIDUAL, ATTENTION, RESIDUAL], encoder_qkv_multiscales=[[], [3, 5], []],
        decoder_qkv_multiscales=[[], [3, 5], []], decoder_act_fns=['relu', 'silu', 'relu'], encoder_out_shortcut=False,
        decoder_in_shortcut=False, decoder_conv_act_fn='silu',
    )  # fmt: skip
    return Part('model', AutoencoderDC, sizes, seed, 'f16')


INDEX = index(
    'SanaPipeline',
    tokenizer=('transformers', 'GemmaTokenizerFast'),
    text_encoder=('transformers', 'Gemma2Model'),
    transformer=('diffusers', 'SanaTransformer2DModel'),
    vae=('diffusers', 'AutoencoderDC'),
    scheduler=('diffusers', 'DPMSolverMultistepScheduler'),
)
SANA = {
    'sana': Checkpoint(
        {
            'tokenizer': Part('gemma tokenizer'),
            'text_encoder': text_encoder(121),
            'transformer': transformer(122),
            'vae': vae(123),
            'scheduler': Part('scheduler', 'DPMSolverMultistepScheduler', FLOW),
        },
        INDEX,
    ),
    'autoencoder-dc': Checkpoint({'': shuffled(124)}),
    # Positions, biases of queries, and a norm with weights; no norms of heads.
    'sana-placed': Checkpoint(
        {
            'transformer': transformer(
                125, num_attention_heads=2, attention_head_dim=20, cross_attention_dim=40, sample_size=12, interpolation_scale=2,
                qk_norm=None, attention_bias=True, norm_elementwise_affine=True, num_layers=2, timestep_scale=0.7, mlp_ratio=2.4,
            ),
        },
    ),
    # Patches of 2 × 2 latents, and heads of 10 dimensions before the text.
    'sana-patched': Checkpoint(
        {
            'transformer': transformer(
                127, patch_size=2, cross_attention_head_dim=10, sample_size=13, interpolation_scale=1.5, num_layers=2,
            ),
        },
    ),
    # The guidance scale is an input.
    'sana-sprint': Checkpoint({'transformer': transformer(126, guidance_embeds=True, num_layers=2)}),
}  # fmt: skip
