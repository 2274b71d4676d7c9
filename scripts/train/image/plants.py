"""Trees of the land: conifers, round trees, and rows of both."""

import random

import skia

from brush import SIZE, across, paint, polygon, shade
from palette import FOLIAGE, Colour, Palette
from scenes import Scene


def conifer(canvas, x: float, foot: float, tall: float, colour: Colour, snow: Colour | None) -> None:
    for tier in range(3):
        top, low = foot - tall * (1 - 0.24 * tier), foot - tall * (0.52 - 0.24 * tier)
        half = tall * (0.15 + 0.075 * tier)
        canvas.drawPath(
            polygon([(x, top), (x - half, low), (x + half, low)]),
            across(x - half, x + half, [shade(colour, 0.14), shade(colour, -0.2)]),
        )
        if snow:
            edge = top + (low - top) * 0.5
            canvas.drawPath(
                polygon([(x, top), (x - half * 0.52, edge), (x - half * 0.1, edge - 1), (x + half * 0.5, edge)]),
                paint(snow),
            )


def round_tree(canvas, x: float, foot: float, tall: float, colour: Colour, trunk: Colour) -> None:
    canvas.drawRect(skia.Rect(x - tall * 0.04, foot - tall * 0.4, x + tall * 0.04, foot), paint(trunk))
    for dx, dy, r in ((-0.17, 0.50, 0.2), (0.17, 0.48, 0.2), (0.0, 0.68, 0.24), (0.0, 0.48, 0.22)):
        canvas.drawCircle(x + dx * tall, foot - dy * tall, r * tall, paint(shade(colour, -0.12)))
    canvas.drawCircle(
        x - 0.06 * tall, foot - 0.66 * tall, 0.17 * tall, paint(shade(colour, 0.13), 0.8, blur=tall * 0.05)
    )


def tree_row(
    canvas, rng: random.Random, scene: Scene, palette: Palette, base: float, tall: float, distance: float, gap: float
) -> None:
    x = -4 + rng.uniform(0, gap)
    snow = palette.land("f4f8fc", distance) if scene.season == "winter" else None
    leafy = 0.15 if scene.season == "winter" else 0.45
    while x < SIZE + 6:
        height = tall * rng.uniform(0.7, 1.2)
        foot = base + rng.uniform(-0.06, 0.08) * tall
        colour = palette.land(rng.choice(FOLIAGE[scene.season][: 2 if rng.random() < 0.8 else 3]), distance)
        if rng.random() < leafy:
            round_tree(canvas, x, foot, height * 0.85, colour, palette.land("5a4331", distance))
        else:
            evergreen = colour if scene.season != "autumn" else palette.land(rng.choice(("4d7a4a", "d9822b")), distance)
            conifer(canvas, x, foot, height, evergreen, snow)
        x += gap * rng.uniform(0.7, 1.3)
