"""The stages `decoder` and `encoder`: the autoencoder learns to paint from the latents of `space.py`, and to give them.

Both learn from crops in space and time of clips that are painted as training goes, the decoder at last from whole ones (`--size 128`).
"""

import argparse
import random

import numpy as np
import space as spaces
import torch
import torch.nn.functional as F
from diffusers import AutoencoderKLWan
from diffusers.models.autoencoders.autoencoder_kl_wan import WanRMS_norm
from film import frames_of
from models import make_vae
from motions import FRAMES, draw_clip

POOL = 96
"""Clips that are held ready for crops; each step paints one anew."""
NOISE = 0.06
"""What the latents of a denoiser are off by."""


def to_floats(frames: np.ndarray) -> torch.Tensor:
    """[n, f, h, w, 3] u8 → [n, 3, f, h, w] in −1…1."""
    return torch.from_numpy(frames).permute(0, 4, 1, 2, 3).float() / 127.5 - 1


def to_frames(x: torch.Tensor) -> np.ndarray:
    return ((x.clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 4, 1).contiguous().numpy()


def normalized(self: WanRMS_norm, x: torch.Tensor) -> torch.Tensor:
    """WanRMS_norm.forward in operations that are twice as fast on a CPU."""
    length = x.square().sum(1, keepdim=True, dtype=torch.float32)
    return x * torch.rsqrt(length + 1e-24).to(x.dtype) * (self.scale * self.gamma).to(x.dtype)


def make_fast_vae() -> AutoencoderKLWan:
    vae = make_vae()
    for module in vae.modules():
        if isinstance(module, WanRMS_norm):
            module.forward = normalized.__get__(module)
    return vae


def decode(vae: AutoencoderKLWan, z: torch.Tensor) -> torch.Tensor:
    """As `vae.decode`, but values beyond −1…1 stay, so that they have a gradient."""
    vae.clear_cache()
    x, parts = vae.post_quant_conv(z), []
    for i in range(z.shape[2]):
        vae._conv_idx = [0]
        parts.append(
            vae.decoder(x[:, :, i : i + 1], feat_cache=vae._feat_map, feat_idx=vae._conv_idx, first_chunk=i == 0)
        )
    vae.clear_cache()
    return torch.cat(parts, 2)


def differences(x: torch.Tensor) -> list[torch.Tensor]:
    """Between neighbours in height, width and time."""
    return [x.diff(dim=3), x.diff(dim=4), x.diff(dim=2)]


class Crops:
    def __init__(self, args: argparse.Namespace, seed: int) -> None:
        self.rng, self.size, self.count = random.Random(seed), args.size, args.batch
        self.space = spaces.load(args.state)
        self.pool = [self.paint() for _ in range(POOL)]

    def paint(self) -> np.ndarray:
        return frames_of(draw_clip(self.rng, self.rng.choice((0, 1, 1, 2, 2))))

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Crops of 5 or 9 frames, or whole clips, and their latents."""
        rng, size = self.rng, self.size
        self.pool[rng.randrange(POOL)] = self.paint()
        length = FRAMES if size == self.pool[0].shape[1] else rng.choice((5, 9))
        frames = np.empty((self.count, length, size, size, 3), np.uint8)
        for row in range(self.count):
            clip, first = self.pool[rng.randrange(POOL)], rng.randint(0, FRAMES - length)
            y, x = (spaces.PATCH * rng.randint(0, (clip.shape[1] - size) // spaces.PATCH) for _ in range(2))
            crop = clip[first : first + length, y : y + size, x : x + size]
            frames[row] = crop[:, :, ::-1] if rng.random() < 0.5 else crop
        return to_floats(frames), torch.from_numpy(self.space.encode(frames))


class Decoder:
    def __init__(self, args: argparse.Namespace, seed: int) -> None:
        self.vae, self.crops = make_fast_vae(), Crops(args, seed)
        self.module = torch.nn.ModuleDict({"post": self.vae.post_quant_conv, "decoder": self.vae.decoder})
        self.muon, self.adam = [(self.module, 0.01)], [(self.module, 1.5e-3)]

    def loss(self) -> torch.Tensor:
        x, z = self.crops.next()
        with torch.autocast("cpu", torch.bfloat16):
            y = decode(self.vae, z + NOISE * torch.randn_like(z)).float()
        return F.l1_loss(y, x) + sum(
            s * F.l1_loss(a, b) for s, a, b in zip((0.7, 0.7, 0.7), differences(y), differences(x))
        )

    @torch.no_grad()
    def show(self) -> list[np.ndarray]:
        """Frames of painted clips, each row above what is made of its latents."""
        rng = random.Random(3)
        clips = np.stack([frames_of(draw_clip(rng, 1 + i % 2)) for i in range(4)])
        made = to_frames(decode(self.vae, torch.from_numpy(self.crops.space.encode(clips))))
        print(f"  mean error {np.abs(made.astype(float) - clips).mean():.2f} of 255", flush=True)
        return [frame for a, b in zip(clips, made) for frames in (a, b) for frame in frames[::2]]


class Encoder:
    def __init__(self, args: argparse.Namespace, seed: int) -> None:
        self.vae, self.crops = make_fast_vae(), Crops(args, seed)
        self.module = torch.nn.ModuleDict({"encoder": self.vae.encoder})
        self.muon, self.adam = [(self.module, 0.01)], [(self.module, 1.5e-3)]

    def loss(self) -> torch.Tensor:
        x, z = self.crops.next()
        with torch.autocast("cpu", torch.bfloat16):
            given = self.vae.encode(x).latent_dist.mean.float()
        return F.mse_loss(given, z)
