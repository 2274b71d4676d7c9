"""The latent space, fixed before any network is trained: a linear map of patches of 8×8 pixels of one frame, then of four.

    python space.py --state state/

Ten channels hold the principal components of a patch, averaged over its four frames; six hold those of what the four frames
differ by, or, in the first frame, which is alone, the next components of the patch. So what stands still has the same latents in
every frame. Each component is even or odd: a mirrored clip has mirrored latents, some of them with the other sign.
"""

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from film import frames_of
from motions import FRAMES, draw_clip

PATCH, STRIDE, CHANNELS, SHARED = 8, 4, 16, 10
EVENNESS = 0.6
"""Deviations of the components are raised to 1 − this: 0 leaves them as they are, 1 makes all equal."""
DETAIL = 0.03
"""From which mean deviation on, in −1…1, a patch has detail, or moves; half of all weight is on those."""


def patches_of(frames: np.ndarray) -> np.ndarray:
    """[n, f, h, w, 3] u8 → [n, f, h/8, w/8, 192] in −1…1."""
    n, f, h, w, _ = frames.shape
    x = frames.reshape(n, f, h // PATCH, PATCH, w // PATCH, PATCH, 3).transpose(0, 1, 2, 4, 3, 5, 6)
    return x.reshape(n, f, h // PATCH, w // PATCH, -1).astype(np.float32) / 127.5 - 1


def groups_of(patches: np.ndarray) -> np.ndarray:
    """[n, 1 + 4·k, …, 192] → [n, k, 4, …, 192]: all but the first frame."""
    return patches[:, 1:].reshape(len(patches), -1, STRIDE, *patches.shape[2:])


@dataclass
class Space:
    mean: np.ndarray  # [192]
    patch: np.ndarray  # [192, 16]: of one frame
    change: np.ndarray  # [768, 6]: of four frames, less their mean
    signs: np.ndarray  # [2, 16]: of a mirrored first frame, and of the others

    def encode(self, frames: np.ndarray) -> np.ndarray:
        """[n, 1 + 4·k, h, w, 3] u8 → latents [n, 16, 1 + k, h/8, w/8], of mean 0 and deviation about 1."""
        x = patches_of(frames)
        groups = groups_of(x)
        mean = groups.mean(2)
        change = np.moveaxis(groups - mean[:, :, None], 2, -2)
        change = change.reshape(*change.shape[:-2], -1) @ self.change
        later = np.concatenate([(mean - self.mean) @ self.patch[:, :SHARED], change], -1)
        first = (x[:, :1] - self.mean) @ self.patch
        return np.ascontiguousarray(np.moveaxis(np.concatenate([first, later], 1), -1, 1))

    def mirrored(self, latents: np.ndarray) -> np.ndarray:
        """Of one clip, [16, f, h, w]."""
        signs = np.stack([self.signs[0], *[self.signs[1]] * (latents.shape[1] - 1)], 1)
        return latents[..., ::-1] * signs[:, :, None, None]

    def save(self, path: Path) -> None:
        np.savez(path, **vars(self))


def load(state: Path) -> Space:
    return Space(**np.load(state / "space.npz"))


def balanced(rough: np.ndarray) -> np.ndarray:
    """Weights of sum 1, half of them where it is rough."""
    weights = np.where(rough, 0.5 / rough.mean(), 0.5 / (1 - rough.mean()))
    return weights / len(rough)


def components(x: np.ndarray, weights: np.ndarray, mirror: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first principal components of x and of its mirror image; the sign that each has in a mirror."""
    square = (x * weights[:, None]).T @ x
    _, vectors = np.linalg.eigh((square + square[mirror][:, mirror]) / 2)
    vectors = vectors[:, ::-1][:, :count]
    parity = (vectors * vectors[mirror]).sum(0)
    assert np.abs(parity).min() > 0.99, "components must be even or odd"
    return vectors, np.sign(parity)


def fit(frames: np.ndarray) -> Space:
    x = patches_of(frames)
    mirror = np.arange(3 * PATCH * PATCH).reshape(PATCH, PATCH, 3)[:, ::-1].ravel()
    flat = x[:, ::3].reshape(-1, x.shape[-1]).astype(np.float64)
    mean = (flat.mean(0) + flat.mean(0)[mirror]) / 2
    flat -= mean
    rough = np.abs(flat - flat.reshape(-1, PATCH**2, 3).mean(1)[:, None].repeat(PATCH**2, 1).reshape(flat.shape)).mean(
        1
    )
    patch, even = components(flat, balanced(rough > DETAIL), mirror, CHANNELS)
    groups = np.moveaxis(groups_of(x), 2, -2).reshape(-1, STRIDE, x.shape[-1]).astype(np.float64)
    change = (groups - groups.mean(1, keepdims=True)).reshape(len(groups), -1)
    steps = np.concatenate([mirror + len(mirror) * i for i in range(STRIDE)])
    moves, odd = components(change, balanced(np.abs(change).mean(1) > DETAIL), steps, CHANNELS - SHARED)
    spread = np.concatenate([(flat @ patch).std(0), (change @ moves).std(0)])
    scale = (spread / np.sqrt((spread**2).mean())) ** (1 - EVENNESS)
    scale /= np.sqrt((scale**2).mean()) * spread
    print("deviations of the latents", np.round(scale * spread, 2))
    signs = np.stack([even, np.concatenate([even[:SHARED], odd])])
    arrays = (mean, patch * scale[:CHANNELS], moves * scale[CHANNELS:], signs)
    return Space(*(a.astype(np.float32) for a in arrays))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--clips", type=int, default=500)
    args = parser.parse_args()
    args.state.mkdir(parents=True, exist_ok=True)
    rng = random.Random(77)
    frames = np.stack([frames_of(draw_clip(rng, i % 3)) for i in range(args.clips)])
    assert frames.shape[1] == FRAMES
    space = fit(frames)
    space.save(args.state / "space.npz")
    z, mirrored = space.encode(frames[:40]), space.encode(frames[:40, :, :, ::-1])
    assert np.allclose(space.mirrored(z[0]), mirrored[0], atol=1e-3), "a mirrored clip has mirrored latents"
    print("deviations of a few clips", np.round(z.std((0, 2, 3, 4)), 2))


if __name__ == "__main__":
    main()
