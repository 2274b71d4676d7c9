"""The land of each terrain, painted from the horizon to the viewer."""

import math
import random

import skia

from brush import SIZE, across, paint, polygon, shade, smooth, vertical, waves
from mountains import paint_mountains
from palette import COVERED, FOLIAGE, GRASS, Colour, Palette, mix, rgb
from plants import round_tree, tree_row
from scenes import Scene

HORIZON = 0.58 * SIZE
SHORE = 0.80 * SIZE


def hill(rng: random.Random, base: float, height: float, bends: float = 1.3) -> list[tuple[float, float]]:
    wave = waves(rng, ((bends, height), (2.4 * bends, 0.35 * height), (6 * bends, 0.06 * height)))
    return [(x, base + wave(x)) for x in range(-8, SIZE + 12, 4)]


def fill_land(
    canvas: skia.Canvas, outline: list[tuple[float, float]], top: Colour, bottom: Colour, depth: float
) -> None:
    first = min(y for _, y in outline)
    canvas.drawPath(smooth(outline), vertical(first, first + depth, [top, bottom]))


def mist(canvas, y: float, height: float, palette: Palette, strength: float) -> None:
    p = vertical(y - height, y + height, [palette.haze] * 3, [0.0, strength, 0.0])
    canvas.drawRect(skia.Rect(0, y - height, SIZE, y + height), p)


def grass_of(scene: Scene, palette: Palette, distance: float) -> tuple[Colour, Colour]:
    light, dark = GRASS[scene.season]
    return palette.land(light, distance), palette.land(dark, distance)


def near_ground(canvas, rng: random.Random, scene: Scene, palette: Palette, base: float = SHORE) -> None:
    """The strip at the viewer's feet on which things stand, with tufts, flowers or drifts."""
    light, dark = grass_of(scene, palette, 0.05)
    outline = hill(rng, base, 1.8, 0.8)
    fill_land(canvas, outline, light, dark, SIZE - base + 4)
    fleck = {"summer": "93c55f", "spring": "ffe3ef", "autumn": "e0953b", "winter": "ffffff"}[scene.season]
    for _ in range(26 if scene.season != "winter" else 8):
        x, y = rng.uniform(0, SIZE), rng.uniform(base + 5, SIZE)
        wide = 1.0 + 2.2 * (y - base) / (SIZE - base)
        canvas.drawOval(skia.Rect.MakeXYWH(x, y, wide * 2.2, wide * 0.7), paint(palette.land(fleck, 0.05), 0.45))
    if scene.season == "spring":
        for _ in range(22):
            x, y = rng.uniform(0, SIZE), rng.uniform(base + 4, SIZE)
            canvas.drawCircle(
                x, y, 0.7 + (y - base) / 30, paint(palette.land(rng.choice(("ff9ec4", "fff2a8", "ffffff")), 0), 0.9)
            )


def water(canvas, rng: random.Random, scene: Scene, palette: Palette, top: float, bottom: float) -> None:
    """Water takes the sky's colours, darker towards the viewer, with streaks of light and of shade."""
    tone = {"day": "2b82b8", "sunrise": "6c97d6", "sunset": "5b4a96", "night": "12265c"}[scene.time]
    covered = COVERED[scene.weather] * 0.5
    tone = mix(rgb(tone), palette.sky[0], covered)
    far, near = mix(palette.sky[2], tone, 0.25), mix(palette.sky[0], tone, 0.65)
    canvas.drawRect(skia.Rect(0, top, SIZE, bottom), vertical(top, bottom, [far, mix(far, near, 0.6), near]))
    for _ in range(34):
        share = rng.random() ** 0.8
        y = top + 1 + share * (bottom - top - 1)
        wide = rng.uniform(5, 14) * (0.5 + 1.4 * share)
        tint, strength = (palette.sky[2], 0.34) if rng.random() < 0.6 else (shade(near, -0.25), 0.25)
        box = skia.Rect.MakeXYWH(rng.uniform(-10, SIZE), y, wide, 0.6 + 0.9 * share)
        canvas.drawOval(box, paint(tint, strength))


def sand(canvas, rng: random.Random, scene: Scene, palette: Palette, base: float) -> None:
    light, dark = ("f4f7fb", "cdd9e8") if scene.season == "winter" else ("f3dcaa", "d9b77c")
    outline = hill(rng, base, 2.2, 0.7)
    foam = [(x, y - 1.6) for x, y in outline]
    canvas.drawPath(smooth(foam), paint(palette.land("ffffff", 0), 0.75))
    fill_land(canvas, outline, palette.land(light, 0.05), palette.land(dark, 0.05), SIZE - base + 4)
    for _ in range(14):
        x, y = rng.uniform(0, SIZE), rng.uniform(base + 4, SIZE)
        canvas.drawOval(
            skia.Rect.MakeXYWH(x, y, rng.uniform(4, 10), 0.9), paint(palette.land(shade(rgb(dark), -0.1), 0), 0.35)
        )


def paint_sea(canvas, rng, scene, palette) -> None:
    if rng.random() < 0.5:
        side = rng.choice((-0.2, 0.75)) * SIZE
        cape = [(side + k * 8, HORIZON - abs(math.sin(k * 0.5)) * rng.uniform(4, 8)) for k in range(8)]
        canvas.drawPath(
            polygon([(side, HORIZON + 1), *cape, (side + 60, HORIZON + 1)]), paint(palette.land("6a7d8e", 0.85))
        )
    water(canvas, rng, scene, palette, HORIZON, SIZE)
    sand(canvas, rng, scene, palette, SHORE + 3)


def paint_lake(canvas, rng, scene, palette) -> None:
    paint_mountains(canvas, rng, scene, palette, HORIZON, 0.72)
    mist(canvas, HORIZON - 2, 9, palette, 0.45)
    tree_row(canvas, rng, scene, palette, HORIZON + 1, 7, 0.55, 4.2)
    water(canvas, rng, scene, palette, HORIZON, SIZE)
    canvas.drawRect(
        skia.Rect(0, HORIZON, SIZE, HORIZON + 7),
        vertical(HORIZON, HORIZON + 7, [palette.land("35523f", 0.5)] * 2, [0.55, 0.0]),
    )
    near_ground(canvas, rng, scene, palette, SHORE + 2)


def paint_alps(canvas, rng, scene, palette) -> None:
    paint_mountains(canvas, rng, scene, palette, HORIZON + 6, 1.08)
    mist(canvas, HORIZON + 3, 11, palette, 0.5)
    light, dark = grass_of(scene, palette, 0.45)
    fill_land(canvas, hill(rng, HORIZON + 9, 3.5), mix(light, palette.haze, 0.2), dark, 20)
    tree_row(canvas, rng, scene, palette, HORIZON + 15, 11, 0.35, 5.5)
    near_ground(canvas, rng, scene, palette, SHORE - 4)


def lee_side(canvas, rng: random.Random, outline: list[tuple[float, float]], dark: Colour) -> None:
    """The shade behind a dune's crest: along the crest, then back below it in one sweep."""
    first = rng.randrange(4, len(outline) - 12)
    crest = outline[first : first + rng.randrange(9, 14)]
    (x0, y0), (x1, y1) = crest[0], crest[-1]
    path = skia.Path()
    path.moveTo(x0, y0)
    for x, y in crest[1:]:
        path.lineTo(x, y)
    path.quadTo(x1 - 14, y1 + 5, (x0 + x1) / 2 - 4, (y0 + y1) / 2 + 9)
    path.quadTo(x0 + 2, y0 + 14, x0 - 12, y0 + 22)
    path.quadTo(x0 + 1, y0 + 10, x0, y0)
    path.close()
    canvas.drawPath(path, paint(dark, 0.42, blur=1.0))


def paint_desert(canvas, rng, scene, palette) -> None:
    for distance, base, height in ((0.8, 0, 3), (0.5, 8, 5), (0.22, 17, 6), (0.0, 32, 4)):
        outline = hill(rng, HORIZON + base, height, 1.0)
        top, bottom = palette.land("f2c37c", distance), palette.land("c07f45", distance)
        fill_land(canvas, outline, top, bottom, 40)
        lee_side(canvas, rng, outline, shade(bottom, -0.2))
    for _ in range(rng.randrange(3)):
        x, foot, tall = rng.uniform(8, 120), HORIZON + rng.uniform(16, 26), rng.uniform(8, 12)
        p = paint(palette.land("4d7a4e", 0.25), stroke=tall * 0.2)
        canvas.drawLine(x, foot, x, foot - tall, p)
        for side, up in ((-1, 0.45), (1, 0.6)):
            arm = skia.Path()
            arm.moveTo(x, foot - tall * (up - 0.1))
            arm.quadTo(
                x + side * tall * 0.34, foot - tall * (up - 0.1), x + side * tall * 0.32, foot - tall * (up + 0.22)
            )
            canvas.drawPath(arm, paint(palette.land("4d7a4e", 0.25), stroke=tall * 0.14))


def paint_forest(canvas, rng, scene, palette) -> None:
    light, dark = grass_of(scene, palette, 0.5)
    fill_land(canvas, hill(rng, HORIZON - 8, 5), palette.land("6d8f86", 0.8), palette.haze, 26)
    tree_row(canvas, rng, scene, palette, HORIZON - 2, 17, 0.8, 5.0)
    mist(canvas, HORIZON, 8, palette, 0.4)
    tree_row(canvas, rng, scene, palette, HORIZON + 8, 27, 0.45, 7.5)
    fill_land(canvas, hill(rng, HORIZON + 8, 1.5), light, dark, 24)
    mist(canvas, HORIZON + 10, 7, palette, 0.3)
    tree_row(canvas, rng, scene, palette, HORIZON + 17, 34, 0.14, 15.0)
    near_ground(canvas, rng, scene, palette, HORIZON + 17)


def tower(
    canvas,
    rng: random.Random,
    x: float,
    foot: float,
    wide: float,
    tall: float,
    wall: Colour,
    glow: float,
    palette: Palette,
) -> None:
    box = skia.Rect.MakeXYWH(x, foot - tall, wide, tall)
    canvas.drawRect(box, across(x, x + wide, [shade(wall, 0.08), shade(wall, -0.16)]))
    if rng.random() < 0.25:
        canvas.drawPath(
            polygon([(x, foot - tall), (x + wide / 2, foot - tall - wide * 0.7), (x + wide, foot - tall)]),
            paint(shade(wall, -0.1)),
        )
    lamp = mix(rgb("ffd97a"), palette.haze, 0.1)
    pane = shade(wall, -0.3)
    rows, columns = int(tall // 5), max(1, int(wide // 4))
    for row in range(rows):
        for column in range(columns):
            on = rng.random() < glow
            p = paint(lamp if on else pane, 0.95 if on else 0.35)
            canvas.drawRect(
                skia.Rect.MakeXYWH(x + 1.4 + column * (wide - 1.6) / columns, foot - tall + 2 + row * 5, 1.8, 2.6), p
            )


def paint_city(canvas, rng, scene, palette) -> None:
    glow = {"day": 0.0, "sunrise": 0.2, "sunset": 0.4, "night": 0.55}[scene.time]
    walls = ("8c96ab", "a79a98", "7c8aa3", "b5a48f", "8f7f8c")
    for distance, tall, base in ((0.85, 34, 8), (0.5, 30, 12), (0.2, 21, 16)):
        x = -rng.uniform(0, 8)
        while x < SIZE:
            wide = rng.uniform(8, 15)
            wall = palette.land(rng.choice(walls), distance)
            tower(
                canvas,
                rng,
                x,
                HORIZON + base,
                wide,
                tall * rng.uniform(0.5, 1.25),
                wall,
                glow * (1 - 0.45 * distance),
                palette,
            )
            x += wide + rng.uniform(-0.5, 2)
        mist(canvas, HORIZON + base, 8, palette, 0.35)
    tree_row(canvas, rng, scene, palette, HORIZON + 20, 8, 0.1, 7)
    near_ground(canvas, rng, scene, palette, HORIZON + 19)


def paint_meadow(canvas, rng, scene, palette) -> None:
    fill_land(canvas, hill(rng, HORIZON - 4, 5), palette.land("7f97ad", 0.85), palette.haze, 22)
    for distance, base, height in ((0.62, 3, 4), (0.38, 10, 5), (0.18, 19, 4)):
        light, dark = grass_of(scene, palette, distance)
        fill_land(canvas, hill(rng, HORIZON + base, height, 1.1), mix(light, palette.haze, 0.1), dark, 24)
        if distance > 0.3:
            for _ in range(3):
                x, foot = rng.uniform(0, SIZE), HORIZON + base + 5
                colour = palette.land(rng.choice(FOLIAGE[scene.season][:2]), distance)
                round_tree(canvas, x, foot, 7.5 * (1.3 - distance), colour, palette.land("5a4331", distance))
    near_ground(canvas, rng, scene, palette, SHORE - 3)


LANDS = {
    "mountains": paint_alps, "sea": paint_sea, "desert": paint_desert, "forest": paint_forest,
    "city": paint_city, "meadow": paint_meadow, "lake": paint_lake,
}  # fmt: skip
