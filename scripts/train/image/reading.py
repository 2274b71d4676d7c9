"""Reads a picture: which things it shows, in which colours and places, and terrain, time, weather and season.

    python reading.py --state state/ --minutes 12

The reader is a small network of its own. It learns from pictures that the painter paints for it alone, combinations held out from
the denoiser among them, softened and disturbed so that it also reads what is not quite sharp. It shares no weights, no latents
and no captions with what it judges. `evaluate.py --drawn` says what it misses on the painter's own pictures.
"""

import argparse
import random
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from render import render
from scenes import COLOURS, KINDS, PLACES, SEASONS, TERRAINS, TIMES, WEATHERS, Scene, draw_scene

FIELDS = {"terrain": TERRAINS, "time": TIMES, "weather": WEATHERS, "season": SEASONS}
NOWHERE = -100  # cross_entropy's own word for "no label"


@dataclass
class Reading:
    fields: dict[str, str]
    things: dict[str, tuple[str, str]]  # kind → colour, place


class Reader(nn.Module):
    """[n, 3, 128, 128] in 0…1 → logits: kinds [n, 9], their colours [n, 9, 9] and places [n, 9, 3], and each field."""

    def __init__(self, widths: tuple[int, ...] = (24, 48, 96, 128)) -> None:
        super().__init__()
        layers, before = [], 3
        for width in widths:
            layers += [nn.Conv2d(before, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            before = width
        self.body = nn.Sequential(*layers)  # 128 → 8
        self.squeeze = nn.Conv2d(before, 48, 1)
        self.hidden = nn.Sequential(nn.Flatten(), nn.Dropout(0.1), nn.Linear(48 * 64, 384), nn.ReLU())
        self.kinds = nn.Linear(384, len(KINDS))
        self.colours = nn.Linear(384, len(KINDS) * len(COLOURS))
        self.places = nn.Linear(384, len(KINDS) * len(PLACES))
        self.fields = nn.ModuleDict({name: nn.Linear(384, len(values)) for name, values in FIELDS.items()})

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        h = self.hidden(F.relu(self.squeeze(self.body(x * 4 - 2))))
        many = {
            "kinds": self.kinds(h),
            "colours": self.colours(h).view(-1, len(KINDS), len(COLOURS)),
            "places": self.places(h).view(-1, len(KINDS), len(PLACES)),
        }
        return many | {name: head(h) for name, head in self.fields.items()}


def labels_of(scenes: list[Scene]) -> dict[str, Tensor]:
    """What a scene shows, as indices; colours and places only of the kinds that are there."""
    kinds = torch.zeros(len(scenes), len(KINDS))
    colours, places = (torch.full((len(scenes), len(KINDS)), NOWHERE) for _ in range(2))
    for row, scene in enumerate(scenes):
        for thing in scene.things:
            kind = KINDS.index(thing.kind)
            kinds[row, kind] = 1
            colours[row, kind], places[row, kind] = COLOURS.index(thing.colour), PLACES.index(thing.place)
    fields = {n: torch.tensor([values.index(getattr(s, n)) for s in scenes]) for n, values in FIELDS.items()}
    return {"kinds": kinds, "colours": colours, "places": places} | fields


def loss_of(logits: dict[str, Tensor], labels: dict[str, Tensor]) -> Tensor:
    loss = F.binary_cross_entropy_with_logits(logits["kinds"], labels["kinds"]) * len(KINDS) / 3
    for name in ("colours", "places"):
        loss = loss + F.cross_entropy(logits[name].flatten(0, 1), labels[name].flatten(), ignore_index=NOWHERE)
    return loss + sum(F.cross_entropy(logits[name], labels[name]) for name in FIELDS) / 2


def disturb(x: Tensor) -> Tensor:
    """Softens, darkens and roughens pictures, each batch differently."""
    if random.random() < 0.6:
        size = random.choice((48, 64, 80, 96))
        x = F.interpolate(F.interpolate(x, size=size, mode="area"), size=x.shape[-1], mode="bilinear")
    gain, lift = 1 + 0.08 * torch.randn(len(x), 1, 1, 1), 0.03 * torch.randn(len(x), 3, 1, 1)
    x = torch.roll(x, (random.randint(-3, 3), random.randint(-3, 3)), (2, 3))
    return (x * gain + lift + 0.03 * random.random() * torch.randn_like(x)).clamp(0, 1)


def tensor_of(pictures: np.ndarray) -> Tensor:
    return torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255


@torch.no_grad()
def read(reader: Reader, pictures: list[np.ndarray]) -> list[Reading]:
    """Of pictures [128, 128, 3] u8."""
    logits = reader.eval()(tensor_of(np.stack(pictures)))
    readings = []
    for row in range(len(pictures)):
        fields = {n: values[int(logits[n][row].argmax())] for n, values in FIELDS.items()}
        things = {
            kind: (COLOURS[int(logits["colours"][row, k].argmax())], PLACES[int(logits["places"][row, k].argmax())])
            for k, kind in enumerate(KINDS)
            if logits["kinds"][row, k] > 0
        }
        readings.append(Reading(fields, things))
    return readings


def load(state: Path) -> Reader:
    reader = Reader()
    reader.load_state_dict(torch.load(state / "reader.pt"))
    return reader


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--pictures", type=int, default=16000)
    parser.add_argument("--minutes", type=float, default=12)
    args = parser.parse_args()
    rng = random.Random(91)
    scenes = [draw_scene(rng, rng.choices(range(4), (0.1, 0.4, 0.3, 0.2))[0]) for _ in range(args.pictures)]
    pictures, labels = np.stack([render(s) for s in scenes]), labels_of(scenes)
    torch.manual_seed(4)
    reader = Reader().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(reader.parameters(), lr=2e-3, weight_decay=0.05)
    began, step, progress = time.time(), 0, 0.0
    while progress < 1:
        rows = torch.randint(0, len(scenes), (64,))
        x = disturb(tensor_of(pictures[rows.numpy()])).contiguous(memory_format=torch.channels_last)
        loss = loss_of(reader(x), {n: values[rows] for n, values in labels.items()})
        optimizer.zero_grad()
        loss.backward()
        progress, step = (time.time() - began) / (60 * args.minutes), step + 1
        optimizer.param_groups[0]["lr"] = 2e-3 * min(1.0, step / 100, max(0.01, 1.6 * (1 - progress)))
        optimizer.step()
        if step % 200 == 0:
            print(f"step {step} loss {loss.item():.3f} run {progress:.2f}", flush=True)
    torch.save(reader.state_dict(), args.state / "reader.pt")


if __name__ == "__main__":
    main()
