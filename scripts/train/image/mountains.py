"""Mountain ranges: lit and shaded flanks, caps of snow."""

import random

from brush import SIZE, paint, polygon, shade, vertical
from palette import Palette, mix, rgb
from scenes import Scene


def peak(canvas, rng: random.Random, x: float, y: float, width: float, foot: float, colours, snow: float) -> None:
    """One mountain: lit and shaded flanks that meet in a crooked ridge, and a cap of snow."""
    light, dark, white, blue = colours

    def flank(side: int) -> list[tuple[float, float]]:
        steps, points = 5, [(x, y)]
        for i in range(1, steps + 1):
            share = i / steps
            jut = rng.uniform(-0.05, 0.05) * width * (i < steps)
            points.append((x + side * width * share**1.12 + jut, y + (foot - y) * share))
        return points

    left, right = flank(-1), flank(1)
    ridge = [(x, y)]
    for i in range(1, 6):
        ridge.append((x + width * (0.10 * (i % 2) - 0.02 + rng.uniform(-0.03, 0.05)), y + (foot - y) * i / 5))
    canvas.drawPath(polygon(left + ridge[::-1]), light)
    canvas.drawPath(polygon(ridge + right[::-1]), dark)
    if snow <= 0:
        return

    def along(side: list[tuple[float, float]], depth: float) -> tuple[float, float]:
        k = min(len(side) - 1.001, depth * (len(side) - 1))
        (x0, y0), (x1, y1) = side[int(k)], side[int(k) + 1]
        return x0 + (x1 - x0) * (k % 1), y0 + (y1 - y0) * (k % 1)

    def cap(edge: list[tuple[float, float]]) -> list[tuple[float, float]]:
        whole = [p for i, p in enumerate(edge) if i < snow * (len(edge) - 1)] + [along(edge, snow)]
        middle = along(ridge, snow)
        teeth = []
        for i in range(1, 4):
            share = i / 4
            tooth = (0.16 if i % 2 else -0.06) * snow * (foot - y) * rng.uniform(0.7, 1.3)
            teeth.append(
                (
                    whole[-1][0] + (middle[0] - whole[-1][0]) * share,
                    whole[-1][1] + (middle[1] - whole[-1][1]) * share + tooth,
                )
            )
        core = [p for i, p in enumerate(ridge) if i < snow * (len(ridge) - 1)] + [middle]
        return whole + teeth + core[::-1]

    canvas.drawPath(polygon(cap(left)), white)
    canvas.drawPath(polygon(cap(right)), blue)


def paint_mountains(
    canvas, rng: random.Random, scene: Scene, palette: Palette, foot: float, height: float = 1.0
) -> None:
    snow = {"summer": 0.30, "spring": 0.42, "autumn": 0.36, "winter": 0.74}[scene.season]
    for distance, count, rise, rock in ((0.85, 5, 30, "7785a5"), (0.5, 4, 42, "5f6b8c")):
        rise *= height
        order = [((i + rng.uniform(0.1, 0.9)) / count * SIZE * 1.2 - 0.1 * SIZE) for i in range(count)]
        rng.shuffle(order)
        for x in order:
            tall = rise * rng.uniform(0.65, 1.12)
            y = foot - tall
            near, far = palette.land(rock, distance), palette.land(shade(rgb(rock), -0.28), distance)
            bottom = mix(near, palette.haze, 0.55)
            lightside = vertical(y, foot, [near, bottom])
            darkside = vertical(y, foot, [far, mix(far, palette.haze, 0.5)])
            white = paint(palette.land(shade(rgb("fdfaf6"), 0), distance * 0.7))
            blue = paint(palette.land("c0cde6", distance * 0.7))
            cap = snow * rng.uniform(0.85, 1.1)
            peak(canvas, rng, x, y, tall * rng.uniform(0.75, 1.0), foot + 6, (lightside, darkside, white, blue), cap)
