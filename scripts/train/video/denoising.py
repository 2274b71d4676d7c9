"""The stage `denoiser`: transformer and text encoder learn, by flow matching, to make latents from noise and a caption."""

import argparse
import random

import numpy as np
import space as spaces
import torch
from film import window_of
from listening import caption_of
from models import Denoiser as Networks
from motions import FRAMES, Clip, clip_of, mirrored_clip
from objects import box_of
from transformers import T5Tokenizer

THING_WEIGHT = 4.0
WORDS = 48
"""Tokens of the longest caption, and a few more: a fixed number, for which the transformer is compiled once."""
FRESH = 2000
"""Batches after which a stream looks for shards painted since."""


def weights_of(clip: Clip, size: int) -> np.ndarray:
    """[frames, size, size]: the loss weighs more where things are."""
    weights = np.ones((1 + (FRAMES - 1) // spaces.STRIDE, size, size), np.float32)
    for frame in range(FRAMES):
        share = frame / (FRAMES - 1)
        left, top, side = window_of(clip.camera, share)
        for thing in clip.at(share):
            box = box_of(thing)
            x0, x1 = ((v - left) / side * size for v in box[::2])
            y0, y1 = ((v - top) / side * size for v in box[1::2])
            rows, columns = (slice(max(0, int(a)), max(0, min(size, int(b) + 1))) for a, b in ((y0, y1), (x0, x1)))
            weights[-(-frame // spaces.STRIDE), rows, columns] = THING_WEIGHT
    return weights


class Stream:
    """Latents, captions and loss weights of clips, half of them mirrored."""

    def __init__(self, args: argparse.Namespace, seed: int) -> None:
        self.rng, self.space, self.folder = random.Random(seed), spaces.load(args.state), args.state / "clips"
        self.shards: dict[str, np.ndarray] = {}
        self.lines: list[tuple[str, int, str]] = []
        self.given = 0

    def look(self) -> None:
        for path in sorted(self.folder.glob("latents-???.npy")):
            if path.name not in self.shards:
                self.shards[path.name] = np.load(path, mmap_mode="r")
                clips = path.with_name(path.name.replace("latents", "clips")).with_suffix(".jsonl")
                self.lines += [(path.name, row, line) for row, line in enumerate(clips.read_text().splitlines())]

    def next(self, count: int) -> tuple[torch.Tensor, list[str], torch.Tensor]:
        if self.given % FRESH == 0:
            self.look()
        self.given += 1
        latents, captions, weights = [], [], []
        for name, row, line in self.rng.choices(self.lines, k=count):
            clip, x = clip_of(line), self.shards[name][row].astype(np.float32)
            if self.rng.random() < 0.5:
                clip, x = mirrored_clip(clip), self.space.mirrored(x)
            latents.append(x)
            captions.append(caption_of(self.rng, clip))
            weights.append(weights_of(clip, x.shape[-1]))
        return torch.from_numpy(np.stack(latents)), captions, torch.from_numpy(np.stack(weights)).unsqueeze(1)


def noise_levels(count: int) -> torch.Tensor:
    """Mostly the middle ones, where most is decided; some of all."""
    middle = torch.sigmoid(0.2 + 1.1 * torch.randn(count))
    return torch.where(torch.rand(count) < 0.1, torch.rand(count), middle).clamp(0.001, 1.0)


class Denoiser:
    def __init__(self, args: argparse.Namespace, seed: int) -> None:
        self.tokenizer = T5Tokenizer.from_pretrained(args.state / "tokenizer")
        self.module, self.stream, self.batch = Networks(len(self.tokenizer)), Stream(args, seed), args.batch
        if (args.state / "text.pt").exists():
            taught = torch.load(args.state / "text.pt", weights_only=False)["average"]
            self.module.text.load_state_dict({k[5:]: w for k, w in taught.items() if k.startswith("text.")})
        self.module.compile_blocks()
        self.muon = [(self.module.transformer, 0.01)]
        self.adam = [(self.module.transformer, 1.5e-3), (self.module.text, 2e-4)]

    def loss(self) -> torch.Tensor:
        x, captions, weights = self.stream.next(self.batch)
        batch = self.tokenizer(captions, padding="max_length", truncation=True, max_length=WORDS, return_tensors="pt")
        levels, noise = noise_levels(len(x)), torch.randn_like(x)
        share = levels.view(-1, 1, 1, 1, 1)
        with torch.autocast("cpu", torch.bfloat16):
            flow = self.module(x + share * (noise - x), 1000 * levels, batch.input_ids, batch.attention_mask)
        return ((flow.float() - (noise - x)).square() * weights).mean()
