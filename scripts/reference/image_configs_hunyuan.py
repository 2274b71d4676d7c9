"""The tiny checkpoints of HunyuanVideo 1.5: heads of 20 dimensions, of which frames rotate four; four pixels and two frames to a latent."""

from diffusers import AutoencoderKLHunyuanVideo15, HunyuanVideo15Transformer3DModel

from image_part import Checkpoint, Part

SIZES = dict(
    in_channels=9, out_channels=4, num_attention_heads=3, attention_head_dim=20, num_layers=2, num_refiner_layers=2, text_embed_dim=48,
    text_embed_2_dim=28, image_embed_dim=16, rope_axes_dim=[4, 8, 8], target_size=64, task_type='t2v',
)  # fmt: skip
VAE = dict(
    latent_channels=4, block_out_channels=[12, 24, 24], layers_per_block=1, spatial_compression_ratio=4, temporal_compression_ratio=2,
    scaling_factor=0.8,
)  # fmt: skip
HUNYUAN = {
    'hunyuan': Checkpoint(
        {
            'transformer': Part('model', HunyuanVideo15Transformer3DModel, SIZES, 360, 'bf16'),
            'vae': Part('model', AutoencoderKLHunyuanVideo15, VAE, 370, 'f16', {'decoder.conv_out.conv': 0.5}),
        }
    )
}
