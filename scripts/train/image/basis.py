"""The latent space, fixed before any network is trained: the eight principal components of patches of 8×8 pixels.

    python basis.py --data data/ --state state/

Patches on things count as much as all others together, so that their colours and outlines get their share.
Being linear and local it costs nothing to compute, for pictures and crops alike, and denoiser, decoder and encoder can be trained
at the same time. The decoder, a network, restores far more than the components hold; the encoder learns to give them.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from objects import box_of
from scenes import read_scenes

PATCH, CHANNELS = 8, 8
EVENNESS = 0.6
"""Deviations of the components are raised to 1 − this: 0 leaves them as they are, 1 makes all equal."""


def patches_of(pictures: np.ndarray) -> np.ndarray:
    """[n, h, w, 3] u8 → [n, h/8, w/8, 192] in −1…1."""
    n, h, w, _ = pictures.shape
    x = pictures.reshape(n, h // PATCH, PATCH, w // PATCH, PATCH, 3).transpose(0, 1, 3, 2, 4, 5)
    return x.reshape(n, h // PATCH, w // PATCH, -1).astype(np.float32) / 127.5 - 1


@dataclass
class Basis:
    weight: np.ndarray  # [192, 8]
    bias: np.ndarray  # [8]

    def encode(self, pictures: np.ndarray) -> np.ndarray:
        """[n, h, w, 3] u8 → latents [n, 8, h/8, w/8], of mean 0 and deviation about 1."""
        return np.ascontiguousarray((patches_of(pictures) @ self.weight + self.bias).transpose(0, 3, 1, 2))


def load(state: Path) -> Basis:
    saved = np.load(state / "basis.npz")
    return Basis(saved["weight"], saved["bias"])


def fit(pictures: np.ndarray, on_things: np.ndarray) -> tuple[Basis, np.ndarray]:
    """Returns the basis, and the standard deviation of each of its components."""
    x = patches_of(pictures).reshape(-1, 3 * PATCH * PATCH)
    weights = np.where(on_things.ravel(), 0.5 / on_things.mean(), 0.5 / (1 - on_things.mean()))[:, None] / len(x)
    mean = (x * weights).sum(0)
    values, vectors = np.linalg.eigh(((x - mean) * weights).T @ (x - mean))
    vectors = vectors[:, ::-1][:, :CHANNELS]
    z = (x - x.mean(0)) @ vectors
    spread = z.std(0)
    scale = (spread / np.sqrt((spread**2).mean())) ** (1 - EVENNESS)
    scale /= np.sqrt((scale**2).mean()) * spread
    weight = (vectors * scale).astype(np.float32)
    return Basis(weight, (-(x.mean(0) @ vectors) * scale).astype(np.float32)), spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    args = parser.parse_args()
    pictures = np.array(np.load(args.data / "pictures-000.npy", mmap_mode="r")[:1000])
    cells = pictures.shape[1] // PATCH
    on_things = np.zeros((len(pictures), cells, cells), bool)
    for cell, scene in zip(on_things, read_scenes(args.data / "scenes-000.jsonl")):
        for thing in scene.things:
            left, top, right, bottom = (max(0, v) * cells for v in box_of(thing))
            cell[int(top) : int(bottom) + 1, int(left) : int(right) + 1] = True
    basis, spread = fit(pictures, on_things)
    np.savez(args.state / "basis.npz", weight=basis.weight, bias=basis.bias)
    z = basis.encode(pictures)
    print("components' deviations", np.round(spread, 2), "latents'", np.round(z.std((0, 2, 3)), 2))


if __name__ == "__main__":
    main()
