"""Colours of sky, light, haze and land for a time, a weather and a season."""

import random
from dataclasses import dataclass

from scenes import Scene

Colour = tuple[float, float, float]  # 0…1, sRGB


def rgb(code: str) -> Colour:
    return tuple(int(code[i : i + 2], 16) / 255 for i in (0, 2, 4))


def mix(a: Colour, b: Colour, share: float) -> Colour:
    return tuple(x + (y - x) * share for x, y in zip(a, b))


def lit(a: Colour, light: Colour) -> Colour:
    return tuple(min(1.0, x * y) for x, y in zip(a, light))


NAMED = {
    name: rgb(code)
    for name, code in {
        "red": "d92b2b", "orange": "f58220", "yellow": "fbd12e", "green": "2f9e4b", "blue": "2a66d4",
        "purple": "8440b0", "pink": "f587b5", "white": "f8f7f2", "black": "26262c",
    }.items()
}  # fmt: skip

# zenith, middle, horizon
SKIES = {
    "day": [("3a86d0", "7fbdea", "dceff5"), ("4b95d6", "9bd0ef", "eef5ee"), ("2f79c4", "6fb3e6", "cfe8f4")],
    "sunrise": [("7a94cf", "f2b9bd", "ffe6b8"), ("8fa8dc", "f7c6b0", "fff0c4"), ("6d82bd", "e9a3b4", "ffd9a6")],
    "sunset": [("3c3f7d", "d1607c", "ffc065"), ("4a3a78", "e8705a", "ffd27a"), ("2f3a74", "b75a8c", "ff9d5c")],
    "night": [("070b26", "131f4e", "34457f"), ("0a0d2c", "1b2258", "433f80"), ("050d22", "0f2747", "265474")],
}
LIGHT = {
    "day": (1.0, 1.0, 0.98),
    "sunrise": (1.0, 0.90, 0.86),
    "sunset": (0.93, 0.72, 0.66),
    "night": (0.42, 0.48, 0.74),
}
# colour that a covered sky tends to
COVER = {
    "day": {"cloudy": "aab8c6", "rain": "7d8b9a", "fog": "d5dde0", "snowfall": "c3cedb"},
    "sunrise": {"cloudy": "c4aebb", "rain": "948c9e", "fog": "ecdcd4", "snowfall": "d9cdd6"},
    "sunset": {"cloudy": "9a7088", "rain": "6d5f78", "fog": "dcae9c", "snowfall": "b597a8"},
    "night": {"cloudy": "222b4d", "rain": "182038", "fog": "48547a", "snowfall": "39466f"},
}
COVERED = {"clear": 0.0, "cloudy": 0.45, "rain": 0.8, "fog": 0.8, "snowfall": 0.7}
HAZE = {"clear": 1.0, "cloudy": 1.05, "rain": 1.3, "fog": 2.3, "snowfall": 1.5}

GRASS = {
    "summer": ("6fae4a", "3f7d36"),
    "spring": ("9bcf5f", "5a9c46"),
    "autumn": ("c79a47", "8a6a30"),
    "winter": ("f3f7fb", "c3d3e6"),
}
FOLIAGE = {
    "summer": ("3f8a45", "2e7040", "5a9e4a"),
    "spring": ("7dbb55", "5aa050", "f2b3c6"),
    "autumn": ("d9822b", "c4512d", "e3b23c"),
    "winter": ("3f6b66", "56807d", "e6eef5"),
}


@dataclass
class Palette:
    sky: tuple[Colour, Colour, Colour]
    light: Colour
    haze: Colour
    hazing: float

    def land(self, colour: Colour | str, distance: float) -> Colour:
        """`colour` in this light, seen through haze; distance 0 (near) to 1 (horizon)."""
        near = lit(rgb(colour) if isinstance(colour, str) else colour, self.light)
        return mix(near, self.haze, min(0.93, distance * self.hazing * 0.62))


def palette_of(scene: Scene, rng: random.Random) -> Palette:
    sky = [rgb(code) for code in rng.choice(SKIES[scene.time])]
    covered = COVERED[scene.weather]
    if covered:
        cover = rgb(COVER[scene.time][scene.weather])
        sky = [mix(c, cover, covered * share) for c, share in zip(sky, (1.0, 0.9, 0.7))]
    dim = 1 - 0.16 * (scene.weather == "rain")
    light = tuple(dim * v for v in LIGHT[scene.time])
    if covered:
        light = mix(light, (sum(light) / 3,) * 3, 0.35)
    haze = mix(sky[2], sky[1], 0.25 if scene.time != "night" else 0.45)
    return Palette(tuple(sky), light, haze, HAZE[scene.weather])
