"""The tiny autoencoders of videos: widths and numbers of blocks that no published one has."""

from diffusers import AutoencoderKLWan

from image_part import Checkpoint, Part


def wan(seed, channels, **config):
    sizes = dict(
        z_dim=channels, dim_mult=[1, 2, 4, 4], num_res_blocks=1, temperal_downsample=[False, True, True],
        latents_mean=[round(0.3 * (i % 5) - 0.5, 2) for i in range(channels)], latents_std=[round(0.75 + 0.25 * i, 2) for i in range(channels)],
    )  # fmt: skip
    return Part('model', AutoencoderKLWan, sizes | config, seed, 'f16', {'decoder.conv_out': 0.5})


VIDEO = {
    'autoencoder-wan': Checkpoint({'': wan(330, 4, base_dim=4)}),
    'autoencoder-wan-residual': Checkpoint(
        {'': wan(331, 6, base_dim=8, decoder_base_dim=12, is_residual=True, in_channels=12, out_channels=12, patch_size=2, scale_factor_spatial=16)}
    ),
}
