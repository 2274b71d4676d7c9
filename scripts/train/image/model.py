"""The denoiser and its noise schedule: diffusers' UNet2DConditionModel and DDPMScheduler."""

import torch
from diffusers import DDPMScheduler, UNet2DConditionModel

WIDTHS = [64, 128]
HEAD = 32

SCHEDULE = {
    "num_train_timesteps": 1000,
    "beta_start": 0.00085,
    "beta_end": 0.012,
    "beta_schedule": "scaled_linear",
    "prediction_type": "v_prediction",
    "rescale_betas_zero_snr": True,
    "timestep_spacing": "trailing",
    "clip_sample": False,
    "steps_offset": 1,
}
"""Settings of the noise schedule. Its last step is pure noise (zero SNR, trailing spacing); otherwise night skies are drawn grey."""


def make_unet(text_width: int) -> UNet2DConditionModel:
    """Attention at 8×8 only; `attention_head_dim` is diffusers' name for the number of heads."""
    return UNet2DConditionModel(
        sample_size=16,
        in_channels=8,
        out_channels=8,
        down_block_types=["DownBlock2D", "CrossAttnDownBlock2D"],
        up_block_types=["CrossAttnUpBlock2D", "UpBlock2D"],
        block_out_channels=WIDTHS,
        layers_per_block=1,
        cross_attention_dim=text_width,
        attention_head_dim=[width // HEAD for width in WIDTHS],
        use_linear_projection=True,
    )


class Noise:
    """Noised latents and their v targets."""

    def __init__(self, device: str) -> None:
        self.scheduler = DDPMScheduler(**SCHEDULE)
        self.alphas = self.scheduler.alphas_cumprod.to(device)

    def add(self, x: torch.Tensor, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        noise = torch.randn_like(x)
        a = self.alphas[t].sqrt().view(-1, 1, 1, 1)
        s = (1 - self.alphas[t]).sqrt().view(-1, 1, 1, 1)
        return a * x + s * noise, a * noise - s * x
