"""What a scene shows, as class indices, and the loss of a network that reads it."""

import torch
from objects import box_of
from scenes import COLOURS, KINDS, SEASONS, TERRAINS, TIMES, WEATHERS, Scene
from torch import Tensor
from torch.nn import functional as F

FIELDS = {"terrain": TERRAINS, "time": TIMES, "weather": WEATHERS, "season": SEASONS}
NOWHERE = -100  # cross_entropy's own word for "no label"
CELLS = 8
"""Cells along one side of a picture."""


def labels_of(scenes: list[Scene]) -> dict[str, Tensor]:
    """Returns the labels of scenes as class indices; cells and colours exist only for kinds that the scene contains."""
    cells, colours = (torch.full((len(scenes), len(KINDS)), NOWHERE) for _ in range(2))
    for row, scene in enumerate(scenes):
        for thing in scene.things:
            kind, (left, top, right, bottom) = KINDS.index(thing.kind), box_of(thing)
            x, y = (min(CELLS - 1, max(0, int((a + b) / 2 * CELLS))) for a, b in ((left, right), (top, bottom)))
            cells[row, kind], colours[row, kind] = y * CELLS + x, COLOURS.index(thing.colour)
    fields = {n: torch.tensor([values.index(getattr(s, n)) for s in scenes]) for n, values in FIELDS.items()}
    return {"cells": cells, "colours": colours} | fields


def loss_of(logits: dict[str, Tensor], labels: dict[str, Tensor]) -> Tensor:
    where, cells = logits["where"].flatten(2), labels["cells"]
    there = (cells != NOWHERE).float()
    loss = 2 * F.binary_cross_entropy_with_logits(where.amax(2), there) * len(KINDS) / 3
    for values, targets in ((where, cells), (logits["colours"], labels["colours"])):
        loss = loss + F.cross_entropy(values.flatten(0, 1), targets.flatten(), ignore_index=NOWHERE)
    return loss + sum(F.cross_entropy(logits[name], labels[name]) for name in FIELDS) / 2
