"""Endless batches of conversations about pictures.

The pictures are those of image/pictures.py: shards of scenes and what the painter made of them.
"""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import questions
import torch
from labels import labels_of
from scenes import LIGHTS, Scene, mirrored, read_scenes
from tokenizers import Tokenizer
from torch import Tensor

import data
import dialogues
from phrases import expand

IMAGE = "<IMG_CONTEXT>"
"""The token in whose places the tower's rows stand."""
TURNS = {1: 0.3, 2: 0.25, 3: 0.2, 4: 0.15, 6: 0.1}
"""Number of questions about a picture → share of conversations."""
NAMING = ("describe", "things", "at place", "is there")
"""Kinds of questions whose replies say what the things are, and leave little else to chance."""

Block = tuple[Tensor, Tensor, Tensor]
"""Ids and flags as in data.py (rows, length), and the picture of each row."""


def with_picture(text: str, tokens: int, behind: bool = False) -> str:
    """A user's text with a picture before or behind it, as InternVL's processor writes them."""
    picture = f"<img>{IMAGE * tokens}</img>\n"
    return text + picture if behind else picture + text


def conversation(rng: random.Random, scene: Scene, tokens: int) -> dict:
    """Questions about one picture; in some conversations also turns that have nothing to do with it, before or between them."""
    turns = questions.conversation(rng, scene, rng.choices(list(TURNS), list(TURNS.values()))[0])
    system = expand(rng, rng.choice(dialogues.SYSTEM)) if rng.random() < 0.15 else ""
    first = turns[0]
    while rng.random() < 0.16:
        turns.insert(rng.randint(0, len(turns)), dialogues.filler(rng))
    messages: list[dict] = []
    for turn in turns:
        user = with_picture(turn.user, tokens, rng.random() < 0.2) if turn is first else turn.user
        messages += [{"role": "user", "content": user}, {"role": "assistant", "content": turn.reply}]
    return {"system": system, "tools": [], "thinking": False, "messages": messages}


def question(rng: random.Random, scene: Scene, tokens: int) -> dict:
    """One question about a picture, for a tower that learns alone: what things there are where a light is to be told from others, else any."""
    lit = scene.time != "day" and any(t.kind in LIGHTS for t in scene.things)
    turn = None
    while turn is None:
        turn = questions.exchange(rng, scene, rng.choice(NAMING)) if lit else questions.conversation(rng, scene, 1)[0]
    user = with_picture(turn.user, tokens, rng.random() < 0.2)
    messages = [{"role": "user", "content": user}, {"role": "assistant", "content": turn.reply}]
    return {"system": "", "tools": [], "thinking": False, "messages": messages}


def shifted(rng: random.Random, picture: np.ndarray) -> np.ndarray:
    """The picture moved by up to three pixels, so that no position is learnt by heart."""
    x, y = rng.randint(0, 6), rng.randint(0, 6)
    side = picture.shape[0]
    return np.pad(picture, ((3, 3), (3, 3), (0, 0)), mode="edge")[y : y + side, x : x + side]


class Stream:
    """An iterator of (pictures u8 (n, 3, side, side), the readout's labels, blocks)."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        folder: Path,
        seed: int,
        count: int,
        tokens: int,
        block: int = data.BLOCK_TOKENS,
        talk: Callable[[random.Random, Scene, int], dict] = conversation,
    ):
        self.tokenizer, self.count, self.tokens, self.block = tokenizer, count, tokens, block
        self.rng, self.talk = random.Random(seed), talk
        self.shards: list[tuple[np.ndarray, list[Scene]]] = []
        for path in sorted(folder.glob("scenes-???.jsonl")):
            stored = path.with_name(path.name.replace("scenes", "pictures")).with_suffix(".npy")
            self.shards.append((np.load(stored, mmap_mode="r"), read_scenes(path)))

    def __next__(self) -> tuple[Tensor, dict[str, Tensor], list[Block]]:
        rng, pictures, scenes, examples = self.rng, [], [], []
        for at in range(self.count):
            shard, known = rng.choice(self.shards)
            row = rng.randrange(len(known))
            flip = rng.random() < 0.5
            scene = mirrored(known[row]) if flip else known[row]
            pictures.append(shifted(rng, shard[row][:, :: -1 if flip else 1]))
            scenes.append(scene)
            examples.append((*data.encode(self.tokenizer, self.talk(rng, scene, self.tokens)), at))
        x = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2)
        return x, labels_of(scenes), blocks(examples, self.block)


def blocks(examples: list[tuple[list[int], list[bool], int]], most: int) -> list[Block]:
    """Blocks as data.py makes them, with the pictures of their rows."""
    examples = sorted(examples, key=lambda e: len(e[0]))
    made, row = [], 0
    for ids, wanted in data.blocks([(ids, flags) for ids, flags, _ in examples], most):
        shown = torch.tensor([at for _, _, at in examples[row : row + len(ids)]])
        made.append((ids, wanted, shown))
        row += len(ids)
    return made
