"""The tiny checkpoints of PixArt, with heads and widths that no published one has; the autoencoder is that of Stable Diffusion 1."""

from diffusers import PixArtTransformer2DModel

from image_configs_flux import t5
from image_part import Checkpoint, Part, index

SCHEDULE = dict(num_train_timesteps=1000, beta_start=0.0001, beta_end=0.004, beta_schedule='linear', algorithm_type='dpmsolver++', solver_order=2)


def transformer(seed, **config):
    """28 latents along a side in training: positions are divided by 1 and their base is 14."""
    sizes = dict(
        sample_size=28, num_layers=3, in_channels=4, out_channels=8, attention_head_dim=20, num_attention_heads=3, cross_attention_dim=60,
        caption_channels=48, use_additional_conditions=False,
    )  # fmt: skip
    return Part('model', PixArtTransformer2DModel, sizes | config, seed, 'f16')


def pipeline(name):
    return index(
        name,
        tokenizer=('transformers', 'T5TokenizerFast'),
        text_encoder=('transformers', 'T5EncoderModel'),
        transformer=('diffusers', 'PixArtTransformer2DModel'),
        vae=('diffusers', 'AutoencoderKL'),
        scheduler=('diffusers', 'DPMSolverMultistepScheduler'),
    )


def parts(seed, denoiser):
    return {
        'tokenizer': Part('t5 tokenizer'),
        'text_encoder': t5(seed),
        'transformer': denoiser,
        'vae': Part('copy', source='sd1/vae'),
        'scheduler': Part('scheduler', 'DPMSolverMultistepScheduler', SCHEDULE),
    }


PIXART = {
    'pixart': Checkpoint(parts(131, transformer(132, interpolation_scale=0.5)), pipeline('PixArtSigmaPipeline')),
    # 32 latents along a side in training, for which there are sizes in bins.
    'pixart-binned': Checkpoint({'transformer': transformer(135, sample_size=32, num_layers=1)}),
    # The size of the image is an input where the trained one has 128 latents along a side; no variance, no biases of queries.
    'pixart-alpha': Checkpoint(
        parts(
            133,
            transformer(
                134, sample_size=128, use_additional_conditions=None, attention_head_dim=24, num_attention_heads=2, cross_attention_dim=48,
                out_channels=4, attention_bias=False, num_layers=2,
            ),
        ),
        pipeline('PixArtAlphaPipeline'),
    ),
}  # fmt: skip
