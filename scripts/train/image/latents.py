"""Encodes rendered shards: latents-000.npy, [2048, 2, 8, 16, 16] in f16, each picture as it is and mirrored.

    python latents.py --data data/ --vae state/vae

Works through whatever shards are there; shards already encoded are kept.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL

from autoencoder import to_floats
from pictures import wait_while


@torch.no_grad()
def encode(vae: AutoencoderKL, pictures: np.ndarray, pause: Path | None) -> np.ndarray:
    out = []
    for part in np.array_split(pictures, len(pictures) // 32):
        wait_while(pause)
        both = np.concatenate([part, part[:, :, ::-1]])
        z = vae.encode(to_floats(both).to(vae.device)).latent_dist.mode().half().cpu().numpy()
        out.append(np.stack([z[: len(part)], z[len(part) :]], axis=1))
    return np.concatenate(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vae", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pause-file", type=Path)
    args = parser.parse_args()
    vae = AutoencoderKL.from_pretrained(args.vae).to(args.device, memory_format=torch.channels_last).eval()
    for path in sorted(args.data.glob("pictures-???.npy")):
        target = path.with_name(path.name.replace("pictures", "latents"))
        if target.exists():
            continue
        began = time.time()
        latents = encode(vae, np.load(path, mmap_mode="r"), args.pause_file)
        np.save(target.with_suffix(".new.npy"), latents)
        target.with_suffix(".new.npy").replace(target)
        print(f"{target.name}: {2 * len(latents) / (time.time() - began):.0f} pictures a second", flush=True)


if __name__ == "__main__":
    main()
