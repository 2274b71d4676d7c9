"""Paints a scene: sky, lights, clouds, land, things, weather.

python render.py sheet.png --count 48     # a contact sheet of scenes at random
"""

import argparse
import random

import numpy as np
import skia
from PIL import Image

from brush import SIZE, paint, radial, shade, vertical
from landscape import HORIZON, LANDS, SHORE
from objects import paint_thing
from palette import NAMED, Palette, mix, palette_of, rgb
from scenes import GROUND_KINDS, Scene, draw_scene


def sky(canvas, rng: random.Random, scene: Scene, palette: Palette) -> None:
    top, middle, low = palette.sky
    canvas.drawRect(skia.Rect(0, 0, SIZE, SIZE), vertical(0, HORIZON + 4, [top, mix(top, middle, 0.55), middle, low]))
    if scene.time in ("sunrise", "sunset") and scene.weather in ("clear", "cloudy"):
        x, warm = rng.uniform(0.2, 0.8) * SIZE, rgb("ffe9a8" if scene.time == "sunrise" else "ffd06b")
        canvas.drawCircle(x, HORIZON, 62, radial(x, HORIZON, 62, [warm, warm], [0.6, 0.0]))
    if scene.time == "night" and scene.weather in ("clear", "cloudy"):
        for _ in range(38 if scene.weather == "clear" else 12):
            x, y, r = rng.uniform(0, SIZE), rng.uniform(0, HORIZON * 0.85), rng.choice((0.5, 0.6, 0.8, 1.1))
            canvas.drawCircle(x, y, r, paint((0.95, 0.96, 1.0), rng.uniform(0.5, 0.95)))


def cloud(canvas, rng: random.Random, x: float, y: float, wide: float, bright, dark, strength: float) -> None:
    puffs = [(rng.uniform(-0.5, 0.5), rng.uniform(0.10, 0.24)) for _ in range(8)]
    for colour, lift, alpha in ((dark, 0.07, 0.55), (bright, 0.0, 0.85)):
        for dx, r in puffs:
            rise = r * (1 - 1.5 * abs(dx))
            box = skia.Rect.MakeXYWH(
                x + (dx - r) * wide, y - (rise + r * 0.5 - lift) * wide, 2 * r * wide, 1.25 * r * wide
            )
            canvas.drawOval(box, paint(colour, alpha * strength, blur=0.035 * wide + 0.5))


def clouds(canvas, rng: random.Random, scene: Scene, palette: Palette) -> None:
    bright = {"day": "ffffff", "sunrise": "ffe3d6", "sunset": "ffb391", "night": "4a5787"}[scene.time]
    bright = mix(rgb(bright), palette.sky[1], {"clear": 0.1, "cloudy": 0.12}.get(scene.weather, 0.45))
    dark = mix(palette.sky[1], palette.sky[0], 0.5)
    dark = shade(dark, -0.12) if scene.weather in ("rain", "cloudy") else dark
    count = {"clear": rng.choice((0, 0, 1, 2, 2)), "cloudy": 7, "rain": 7, "fog": 1, "snowfall": 4}[scene.weather]
    strength = {"clear": 0.8, "fog": 0.35, "snowfall": 0.6}.get(scene.weather, 0.95)
    for _ in range(count):
        y = rng.uniform(0.04, 0.42) * SIZE
        cloud(canvas, rng, rng.uniform(0, SIZE), y, rng.uniform(26, 56) * (1.15 - y / SIZE), bright, dark, strength)


def reflections(canvas, rng: random.Random, scene: Scene) -> None:
    """Draws the reflection of sun or moon on water, a vertical path of light."""
    for thing in scene.things:
        if thing.kind in ("sun", "moon"):
            for _ in range(26):
                share = rng.random()
                y, wide = HORIZON + 1 + share * (SHORE - HORIZON), (2 + 6 * share) * thing.scale
                x = thing.x * SIZE + rng.gauss(0, 1.2 + 3 * share)
                canvas.drawOval(
                    skia.Rect.MakeXYWH(x - wide, y, 2 * wide, 0.9 + 0.7 * share),
                    paint(shade(NAMED[thing.colour], 0.35), 0.42),
                )


def falling(canvas, rng: random.Random, scene: Scene, palette: Palette) -> None:
    if scene.weather == "rain":
        canvas.drawRect(skia.Rect(0, 0, SIZE, SIZE), paint(palette.sky[1], 0.10))
        for _ in range(64):
            x, y, long = rng.uniform(-4, SIZE), rng.uniform(-6, SIZE), rng.uniform(6, 11)
            canvas.drawLine(x, y, x - long * 0.22, y + long, paint((0.88, 0.93, 1.0), 0.42, stroke=0.9))
    elif scene.weather == "snowfall":
        for _ in range(90):
            r = rng.choice((0.7, 0.9, 1.2, 1.6))
            canvas.drawCircle(
                rng.uniform(0, SIZE), rng.uniform(0, SIZE), r, paint((1, 1, 1), rng.uniform(0.6, 0.95), blur=0.3)
            )
    elif scene.weather == "fog":
        for y, tall, strength in ((HORIZON + 6, 26, 0.55), (HORIZON + 26, 16, 0.3)):
            p = vertical(y - tall, y + tall, [palette.haze] * 3, [0.0, strength, 0.0])
            canvas.drawRect(skia.Rect(0, y - tall, SIZE, y + tall), p)


def vignette(canvas) -> None:
    dark = (0.03, 0.03, 0.10)
    canvas.drawRect(skia.Rect(0, 0, SIZE, SIZE), radial(SIZE / 2, SIZE / 2, SIZE * 0.78, [dark] * 3, [0.0, 0.0, 0.16]))


def render(scene: Scene) -> np.ndarray:
    """Returns the image of a scene, [128, 128, 3] u8."""
    rng = random.Random(scene.seed)
    palette = palette_of(scene, rng)
    surface = skia.Surface(SIZE, SIZE)
    canvas = surface.getCanvas()
    sky(canvas, rng, scene, palette)
    for thing in sorted(scene.things, key=lambda t: t.kind not in ("sun", "moon", "star")):
        if thing.kind in ("sun", "moon", "star"):
            paint_thing(canvas, thing, scene, palette)
    clouds(canvas, rng, scene, palette)
    LANDS[scene.terrain](canvas, rng, scene, palette)
    if scene.terrain in ("sea", "lake"):
        reflections(canvas, rng, scene)
    if scene.weather == "fog":
        falling(canvas, rng, scene, palette)
    for thing in sorted(scene.things, key=lambda t: (t.kind in GROUND_KINDS, t.y)):
        if thing.kind not in ("sun", "moon", "star"):
            paint_thing(canvas, thing, scene, palette)
    if scene.weather != "fog":
        falling(canvas, rng, scene, palette)
    vignette(canvas)
    return surface.toarray(colorType=skia.kRGBA_8888_ColorType)[:, :, :3].copy()


def sheet(pictures: list[np.ndarray], columns: int, gap: int = 3) -> np.ndarray:
    """Pictures side by side on white, row by row."""
    tall, wide = pictures[0].shape[:2]
    rows = -(-len(pictures) // columns)
    whole = np.full((rows * (tall + gap) + gap, columns * (wide + gap) + gap, 3), 255, np.uint8)
    for i, picture in enumerate(pictures):
        y, x = gap + (i // columns) * (tall + gap), gap + (i % columns) * (wide + gap)
        whole[y : y + tall, x : x + wide] = picture
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--count", type=int, default=48)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    scenes = [draw_scene(rng, i % 4) for i in range(args.count)]
    Image.fromarray(sheet([render(s) for s in scenes], args.columns)).save(args.out)


if __name__ == "__main__":
    main()
