"""Trains and applies the network that recognizes the content of an image: its things with their colours and positions, and terrain, time, weather and season.

    python reading.py --state state/

The reader is a small network of its own. It learns from pictures that the painter paints for it alone, combinations held out from
the denoiser among them, softened and disturbed so that it also reads what is not quite sharp. It shares no weights, no latents
and no captions with what it judges. `evaluate.py --drawn` says what it misses on the painter's own pictures.
"""

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from labels import CELLS, FIELDS, NOWHERE, labels_of, loss_of
from scenes import COLOURS, KINDS, PLACES, draw_scene
from torch import Tensor, nn
from torch.nn import functional as F

from render import render


@dataclass
class Reading:
    fields: dict[str, str]
    things: dict[str, tuple[str, str]]  # kind → colour, place
    twice: set[str]  # kinds that stand in two places


SECOND = -2  # a peak's logit apart from the first: of the painter's own things, each drawn once, 1.5 % have one


class Reader(nn.Module):
    """[n, 3, 128, 128] in 0…1 → logits: where each kind is [n, 9, 8, 8], the colour of each there [n, 9, 9], and each field.

    A cell's logit says how likely the kind's middle lies there: the largest one decides whether it is there at all.
    """

    def __init__(self, widths: tuple[int, ...] = (16, 32, 64, 96)) -> None:
        super().__init__()
        layers, before = [], 3
        for width in widths:
            layers += [nn.Conv2d(before, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            before = width
        self.body = nn.Sequential(*layers)  # 128 → 8
        self.cells = nn.Conv2d(before, len(KINDS) * (1 + len(COLOURS)), 1)
        self.squeeze = nn.Conv2d(before, 24, 1)
        self.fields = nn.ModuleDict({n: nn.Linear(24 * CELLS * CELLS, len(values)) for n, values in FIELDS.items()})

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        h = self.body(x * 4 - 2)
        cells = self.cells(h).unflatten(1, (len(KINDS), 1 + len(COLOURS)))
        where, colours = cells[:, :, 0], cells[:, :, 1:]
        share = where.flatten(2).softmax(2)  # [n, kinds, cells]
        colours = (colours.flatten(3) * share.unsqueeze(2)).sum(3)
        wide = F.relu(self.squeeze(h)).flatten(1)
        return {"where": where, "colours": colours} | {n: head(wide) for n, head in self.fields.items()}


def mirrored_half(x: Tensor, labels: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
    """Every second picture as in a mirror."""
    cells, half = labels["cells"].clone(), slice(0, None, 2)
    cells[half] = torch.where(cells[half] == NOWHERE, NOWHERE, cells[half] + CELLS - 1 - 2 * (cells[half] % CELLS))
    x = x.clone()
    x[half] = x[half].flip(3)
    return x, labels | {"cells": cells}


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


def place_of(where: Tensor) -> str:
    """Of one kind's cells [8, 8]: the third in which its middle lies."""
    columns = where.flatten().softmax(0).view(CELLS, CELLS).sum(0)
    x = float((columns * (torch.arange(CELLS) + 0.5)).sum() / CELLS)
    return PLACES[0] if x < 0.36 else PLACES[2] if x > 0.64 else PLACES[1]


def second_peak(where: Tensor) -> float:
    """Of one kind's cells [8, 8]: the largest that does not touch the largest of all."""
    top = int(where.argmax())
    rows, columns = torch.meshgrid(torch.arange(CELLS), torch.arange(CELLS), indexing="ij")
    apart = torch.maximum((rows - top // CELLS).abs(), (columns - top % CELLS).abs()) >= 2
    return float(where[apart].max())


@torch.no_grad()
def read(reader: Reader, pictures: list[np.ndarray]) -> list[Reading]:
    """Of pictures [128, 128, 3] u8."""
    logits = reader.eval()(tensor_of(np.stack(pictures)))
    readings = []
    for row in range(len(pictures)):
        fields = {n: values[int(logits[n][row].argmax())] for n, values in FIELDS.items()}
        where, colours = logits["where"][row], logits["colours"][row]
        things = {
            kind: (COLOURS[int(colours[k].argmax())], place_of(where[k]))
            for k, kind in enumerate(KINDS)
            if where[k].max() > 0
        }
        twice = {kind for k, kind in enumerate(KINDS) if kind in things and second_peak(where[k]) > SECOND}
        readings.append(Reading(fields, things, twice))
    return readings


def load(state: Path) -> Reader:
    reader = Reader()
    reader.load_state_dict(torch.load(state / "reader.pt"))
    return reader


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--pictures", type=int, default=16000)
    parser.add_argument("--steps", type=int, default=1500)
    args = parser.parse_args()
    rng = random.Random(91)
    scenes = [draw_scene(rng, rng.choices(range(4), (0.1, 0.4, 0.3, 0.2))[0]) for _ in range(args.pictures)]
    pictures, labels = np.stack([render(s) for s in scenes]), labels_of(scenes)
    torch.manual_seed(4)
    reader = Reader().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(reader.parameters(), lr=2e-3, weight_decay=0.05)
    for step in range(args.steps):
        rows = torch.randint(0, len(scenes), (64,))
        x, wanted = mirrored_half(tensor_of(pictures[rows.numpy()]), {n: values[rows] for n, values in labels.items()})
        loss = loss_of(reader(disturb(x).contiguous(memory_format=torch.channels_last)), wanted)
        optimizer.zero_grad()
        loss.backward()
        progress = step / args.steps
        optimizer.param_groups[0]["lr"] = 2e-3 * min(1.0, (step + 1) / 100, max(0.01, 1.6 * (1 - progress)))
        optimizer.step()
        if step % 100 == 99:
            print(f"step {step + 1} loss {loss.item():.3f}", flush=True)
    torch.save(reader.state_dict(), args.state / "reader.pt")


if __name__ == "__main__":
    main()
