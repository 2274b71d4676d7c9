"""The tiny checkpoint of Lumina 2: two query heads to a key head, and a feed-forward part that is no multiple of the width."""

from diffusers import AutoencoderKL, Lumina2Transformer2DModel

from image_part import Checkpoint, Part, index

TRANSFORMER = dict(
    sample_size=8, in_channels=16, hidden_size=48, num_layers=2, num_refiner_layers=1, num_attention_heads=4, num_kv_heads=2, multiple_of=20,
    ffn_dim_multiplier=0.7, axes_dim_rope=[4, 4, 4], axes_lens=[300, 32, 32], cap_feat_dim=40,
)  # fmt: skip
# Four levels, because the pipeline takes 8 pixels for a latent whatever the autoencoder does.
AUTOENCODER = dict(
    in_channels=3, out_channels=3, latent_channels=16, block_out_channels=[8, 8, 8, 16], layers_per_block=1, norm_num_groups=8, sample_size=64,
    down_block_types=['DownEncoderBlock2D'] * 4, up_block_types=['UpDecoderBlock2D'] * 4, use_quant_conv=False, use_post_quant_conv=False,
    scaling_factor=0.3611, shift_factor=0.1159,
)  # fmt: skip
LUMINA2 = {
    'lumina2': Checkpoint(
        {
            'tokenizer': Part('copy', source='sana/tokenizer'),
            'text_encoder': Part('copy', source='sana/text_encoder'),
            'transformer': Part('model', Lumina2Transformer2DModel, TRANSFORMER, 141, 'bf16'),
            'vae': Part('model', AutoencoderKL, AUTOENCODER, 142, 'f16', {'decoder.conv_out': 0.5}),
            'scheduler': Part('scheduler', 'FlowMatchEulerDiscreteScheduler', dict(num_train_timesteps=1000, shift=6.0)),
        },
        index(
            'Lumina2Pipeline',
            scheduler=('diffusers', 'FlowMatchEulerDiscreteScheduler'),
            text_encoder=('transformers', 'Gemma2Model'),
            tokenizer=('transformers', 'GemmaTokenizerFast'),
            transformer=('diffusers', 'Lumina2Transformer2DModel'),
            vae=('diffusers', 'AutoencoderKL'),
        ),
    ),
}
