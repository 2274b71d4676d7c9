"""Fits the linear map from a latent to its patch of pixels, by which previews are drawn: `previews.safetensors`.

    python previews.py --model ../../../models/svc-scenes-mini

`patches` f32 [channels + 1, 8, 8, 3], the offset last: the least squares fit to what the encoder makes of painted pictures, in −1…1.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from safetensors.numpy import save_file

import basis
from pictures import scenes_of
from render import render

PICTURES = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    args = parser.parse_args()
    vae = AutoencoderKL.from_pretrained(args.model / "vae", torch_dtype=torch.float32)
    pictures = np.stack([render(scene) for scene in scenes_of(900)[:PICTURES]])
    with torch.no_grad():
        x = torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 127.5 - 1
        latents = torch.cat([vae.encode(part).latent_dist.mean for part in x.split(50)]) * vae.config.scaling_factor
    given = latents.permute(0, 2, 3, 1).reshape(-1, basis.CHANNELS).numpy()
    patches = basis.patches_of(pictures).reshape(len(given), -1)
    factors, *_ = np.linalg.lstsq(np.c_[given, np.ones(len(given))], patches, rcond=None)
    error = np.abs(np.c_[given, np.ones(len(given))] @ factors - patches).mean() * 127.5
    side = basis.PATCH
    table = factors.reshape(-1, side, side, 3).astype(np.float32)
    save_file({"patches": np.ascontiguousarray(table)}, args.model / "previews.safetensors")
    (args.model / "previews.safetensors").chmod(0o644)
    print(f"pixels are off by {error:.1f} of 255 on average")


if __name__ == "__main__":
    main()
