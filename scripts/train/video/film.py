"""Paints a clip with the picture model's painter: what stays is painted once, what moves anew in every frame.

python film.py sheet.png --count 12     # a contact sheet of clips at random, one a row
"""

import argparse
import math
import random

import numpy as np
import skia
from motions import FRAMES, STILL, TURNS, Clip, draw_clip
from PIL import Image

from brush import SIZE
from landscape import LANDS
from objects import paint_thing
from palette import palette_of
from render import clouds, falling, reflections, sheet, sky, vignette
from scenes import GROUND_KINDS, Scene, Thing
from telling import tell

LIGHTS = ("sun", "moon", "star")
WINDOW = 0.78
"""The side of what a moving camera sees, as a share of the scene; a zoom begins at 1."""
DRIFT = 0.2
"""How far clouds drift in a clip, as a share of the picture."""
FALL = {"rain": (-2.4, 11.0), "snowfall": (0.5, 2.2)}
"""How far rain and snow fall from one frame to the next, in units of the painter."""


def seeded(scene: Scene, layer: str) -> random.Random:
    """One source of chance for each layer, so that a change of light leaves the land as it is."""
    return random.Random(f"{scene.seed} {layer}")


class Stage:
    """The layers of a scene at one time, `fine` times as large as a picture."""

    def __init__(self, scene: Scene, fine: float) -> None:
        self.scene, self.fine = scene, fine
        self.palette = palette_of(scene, seeded(scene, "palette"))
        self.sky = self.layer(lambda canvas: sky(canvas, seeded(scene, "sky"), scene, self.palette))
        self.land = self.layer(lambda canvas: LANDS[scene.terrain](canvas, seeded(scene, "land"), scene, self.palette))
        self.clouds = self.layer(lambda canvas: self.tiled(canvas, clouds, ((-1, 0), (0, 0), (1, 0))))
        tiles = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)] if scene.weather in FALL else [(0, 0)]
        self.falling = self.layer(lambda canvas: self.tiled(canvas, falling, tiles))

    def layer(self, draw) -> skia.Image:
        side = math.ceil(SIZE * self.fine)
        surface = skia.Surface(side, side)
        canvas = surface.getCanvas()
        canvas.clear(0)
        canvas.scale(self.fine, self.fine)
        draw(canvas)
        return surface.makeImageSnapshot()

    def tiled(self, canvas, draw, tiles) -> None:
        """Draws a layer that repeats itself, so that it can be shifted without end."""
        for x, y in tiles:
            canvas.save()
            canvas.translate(x * SIZE, y * SIZE)
            draw(canvas, seeded(self.scene, draw.__name__), self.scene, self.palette)
            canvas.restore()

    def put(self, canvas, image: skia.Image, dx: float = 0.0, dy: float = 0.0) -> None:
        """Draws a layer, shifted, and again where that leaves a gap."""
        canvas.save()
        canvas.scale(1 / self.fine, 1 / self.fine)
        dx, dy = (round(v * self.fine) % image.width() for v in (dx, dy))
        smooth = skia.SamplingOptions(skia.FilterMode.kLinear)
        for x in {dx, dx - image.width()} if dx else {0}:
            for y in {dy, dy - image.height()} if dy else {0}:
                canvas.drawImage(image, x, y, smooth)
        canvas.restore()

    def draw(self, canvas, things: list[Thing], frame: int, wind: int) -> None:
        scene = Scene(**{**vars(self.scene), "things": things})
        self.put(canvas, self.sky)
        for thing in things:
            if thing.kind in LIGHTS:
                paint_thing(canvas, thing, scene, self.palette)
        self.put(canvas, self.clouds, wind * DRIFT * SIZE * frame / (FRAMES - 1))
        self.put(canvas, self.land)
        if scene.terrain in ("sea", "lake"):
            reflections(canvas, seeded(scene, "reflections"), scene)
        if scene.weather == "fog":
            self.put(canvas, self.falling)
        for thing in sorted(things, key=lambda t: (t.kind in GROUND_KINDS, t.y)):
            if thing.kind not in LIGHTS:
                paint_thing(canvas, thing, scene, self.palette)
        if scene.weather in FALL:
            dx, dy = FALL[scene.weather]
            self.put(canvas, self.falling, dx * frame, dy * frame)


def window_of(camera: str, share: float) -> tuple[float, float, float]:
    """left, top and side of what the camera sees, as shares of the scene."""
    if camera == STILL:
        return 0.0, 0.0, 1.0
    if camera == "in":
        side = 1 - (1 - WINDOW + 0.06) * share
        return (1 - side) / 2, (1 - side) * 0.7, side
    return (1 - WINDOW) * (share if camera == "right" else 1 - share), (1 - WINDOW) * 0.75, WINDOW


def frames_of(clip: Clip) -> np.ndarray:
    """[13, 128, 128, 3] u8."""
    times = TURNS[clip.turn] or (clip.scene.time,)
    stages = [
        Stage(Scene(**{**vars(clip.scene), "time": time}), 1.0 if clip.camera == STILL else 1.3) for time in times
    ]
    surface = skia.Surface(SIZE, SIZE)
    canvas = surface.getCanvas()
    frames = np.empty((FRAMES, SIZE, SIZE, 3), np.uint8)
    for frame in range(FRAMES):
        share = frame / (FRAMES - 1)
        left, top, side = window_of(clip.camera, share)
        position = share * (len(stages) - 1)
        first = min(int(position), max(0, len(stages) - 2))
        for stage, alpha in ((stages[first], 1.0), (stages[min(first + 1, len(stages) - 1)], position - first)):
            if alpha > 0:
                canvas.saveLayerAlpha(None, round(255 * alpha))
                canvas.scale(1 / side, 1 / side)
                canvas.translate(-left * SIZE, -top * SIZE)
                stage.draw(canvas, clip.at(share), frame, clip.wind)
                canvas.restore()
        vignette(canvas)
        frames[frame] = surface.toarray(colorType=skia.kRGBA_8888_ColorType)[:, :, :3]
    return frames


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    clips = [draw_clip(rng, i % 3) for i in range(args.count)]
    for clip in clips:
        print(tell(rng, clip))
    Image.fromarray(sheet([f for clip in clips for f in frames_of(clip)[::2]], (FRAMES + 1) // 2)).save(args.out)


if __name__ == "__main__":
    main()
