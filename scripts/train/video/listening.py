"""The stage `text`: the text encoder learns to tell a clip from its caption, before the denoiser uses it.

Linear heads on the mean of the words read what the picture model's text encoder learns to read, and what moves.
"""

import argparse
import random

import torch
import torch.nn.functional as F
from captions import maybe
from models import TEXT_WIDTH, make_text
from motions import CAMERAS, STILL, TURNS, Clip, draw_clip
from scenes import KINDS
from telling import tell
from text import SCENE_FIELDS, THING_FIELDS, answers
from transformers import T5Tokenizer
from words import written

MOVES = (STILL, "left", "right", "up", "down")
UNTOLD = 0.1


def told_of(clip: Clip) -> list[int]:
    """Returns the target class of each head; −1 if the clip has none."""
    moves = {thing.kind: move for thing, move in zip(clip.scene.things, clip.moves)}
    found = [MOVES.index(moves[kind]) if kind in moves else -1 for kind in KINDS]
    return [*answers(clip.scene), *found, CAMERAS.index(clip.camera), list(TURNS).index(clip.turn)]


class Text:
    def __init__(self, args: argparse.Namespace, seed: int) -> None:
        self.rng, self.batch = random.Random(seed), 64
        self.tokenizer = T5Tokenizer.from_pretrained(args.state / "tokenizer")
        self.sizes = [len(values) for values in SCENE_FIELDS.values()]
        self.sizes += [n for _ in KINDS for n in (2, *(len(values) for values in THING_FIELDS.values()))]
        self.sizes += [len(MOVES)] * len(KINDS) + [len(CAMERAS), len(TURNS)]
        torch.manual_seed(4)
        encoder = make_text(len(self.tokenizer))
        self.module = torch.nn.ModuleDict({"text": encoder, "heads": torch.nn.Linear(TEXT_WIDTH, sum(self.sizes))})
        self.muon, self.adam = [], [(self.module, 2e-3)]

    def loss(self) -> torch.Tensor:
        clips = [draw_clip(self.rng, self.rng.choice((0, 1, 1, 2))) for _ in range(self.batch)]
        batch = self.tokenizer([written(self.rng, tell(self.rng, c)) for c in clips], padding=True, return_tensors="pt")
        hidden = self.module["text"](batch.input_ids, batch.attention_mask).last_hidden_state
        mask = batch.attention_mask[:, :, None]
        logits = self.module["heads"]((hidden * mask).sum(1) / mask.sum(1)).split(self.sizes, dim=1)
        wanted = torch.tensor([told_of(clip) for clip in clips])
        losses = [F.cross_entropy(x, wanted[:, i], ignore_index=-1, reduction="sum") for i, x in enumerate(logits)]
        return sum(losses) / len(clips)


def caption_of(rng: random.Random, clip: Clip) -> str:
    """A caption as the denoiser hears it: now and then none."""
    return "" if maybe(rng, UNTOLD) else written(rng, tell(rng, clip))
