"""The tiny autoencoders of videos: widths and numbers of blocks that no published one has."""

from diffusers import AutoencoderKLLTXVideo, AutoencoderKLWan

from image_part import Checkpoint, Part


def wan(seed, channels, **config):
    sizes = dict(
        z_dim=channels, dim_mult=[1, 2, 4, 4], num_res_blocks=1, temperal_downsample=[False, True, True],
        latents_mean=[round(0.3 * (i % 5) - 0.5, 2) for i in range(channels)], latents_std=[round(0.75 + 0.25 * i, 2) for i in range(channels)],
    )  # fmt: skip
    return Part('model', AutoencoderKLWan, sizes | config, seed, 'f16', {'decoder.conv_out': 0.5})


def ltx(seed, **config):
    """Patches of 4 × 4 pixels, two doublings."""
    return Part('model', AutoencoderKLLTXVideo, dict(latent_channels=6) | config, seed, 'f16', {'decoder.conv_out.conv': 0.5})


DOWN, DOWN_095 = 'LTXVideoDownBlock3D', 'LTXVideo095DownBlock3D'
TIMED = dict(
    block_out_channels=[8, 16, 32, 32], down_block_types=[DOWN_095] * 3, decoder_block_out_channels=[16, 32],
    layers_per_block=[1, 1, 1, 2], decoder_layers_per_block=[1, 1, 2], spatio_temporal_scaling=[True] * 3,
    decoder_spatio_temporal_scaling=[True] * 2, decoder_inject_noise=[False] * 3, upsample_residual=[True] * 2,
    upsample_factor=[2] * 2, downsample_type=['spatial', 'temporal', 'spatiotemporal'], timestep_conditioning=True,
    spatial_compression_ratio=16, temporal_compression_ratio=4,
)  # fmt: skip
VIDEO = {
    'autoencoder-ltx': Checkpoint(
        {
            '': ltx(
                340, block_out_channels=[8, 12, 12], down_block_types=[DOWN] * 3, decoder_block_out_channels=[12, 16, 16],
                layers_per_block=[1, 2, 1, 1], decoder_layers_per_block=[1, 1, 2, 1], spatio_temporal_scaling=[True, True, False],
                decoder_spatio_temporal_scaling=[True, True, False], decoder_inject_noise=[False] * 4, upsample_residual=[False] * 3,
                upsample_factor=[1] * 3, downsample_type=['conv'] * 3,
            )
        }
    ),
    'autoencoder-ltx-timed': Checkpoint({'': ltx(341, **TIMED)}),
    'autoencoder-ltx-noisy': Checkpoint({'': ltx(347, **TIMED | dict(decoder_inject_noise=[True, False, True]))}),
    'autoencoder-wan': Checkpoint({'': wan(330, 4, base_dim=4)}),
    'autoencoder-wan-residual': Checkpoint(
        {'': wan(331, 6, base_dim=8, decoder_base_dim=12, is_residual=True, in_channels=12, out_channels=12, patch_size=2, scale_factor_spatial=16)}
    ),
}
