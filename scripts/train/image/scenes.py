"""What a picture can show: terrains, times, weathers, seasons, and none to three objects in named colours, sizes and places.

`draw_scene` makes a scene at random; `held_out` says which combinations training never sees.
"""

import json
import random
import zlib
from dataclasses import dataclass, field
from pathlib import Path

TERRAINS = ("mountains", "sea", "desert", "forest", "city", "meadow", "lake")
TIMES = ("day", "sunrise", "sunset", "night")
WEATHERS = ("clear", "cloudy", "rain", "fog", "snowfall")
SEASONS = ("summer", "spring", "autumn", "winter")
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "white", "black")
SIZES = ("small", "medium", "big")
PLACES = ("left", "centre", "right")
HEIGHTS = ("low", "high")
SKY_KINDS = ("balloon", "kite", "sun", "moon", "star")
GROUND_KINDS = ("house", "tree", "tent", "boat")
KINDS = SKY_KINDS + GROUND_KINDS
USUAL_COLOUR = {"sun": "yellow", "moon": "white", "star": "yellow", "tree": "green"}
"""The colour of a thing whose colour nobody names; other things come in any."""
LIGHTS = {
    "sun": ("yellow", "orange", "red", "white", "pink"),
    "moon": ("white", "yellow", "orange", "red", "blue", "pink"),
    "star": ("yellow", "white", "blue", "red", "pink", "orange", "green", "purple"),
}

SHARED_COLOURS = tuple(c for c in LIGHTS["moon"] if all(c in colours for colours in LIGHTS.values()))
"""Those that do not tell which light it is."""


@dataclass
class Thing:
    kind: str
    colour: str
    size: str
    place: str
    height: str  # of things in the sky
    x: float  # centre, and foot or centre, as shares of the picture
    y: float
    scale: float
    form: int  # which of a kind's shapes


@dataclass
class Scene:
    terrain: str
    time: str
    weather: str
    season: str
    seed: int  # of everything the words do not say
    things: list[Thing] = field(default_factory=list)


def pick(rng: random.Random, weights: dict[str, float]) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


def kinds_of(terrain: str, time: str) -> list[str]:
    """What can appear there: boats need water, the sun a day, moon and star a dark sky."""
    ground = ["house", "tree", "tent", *(["boat", "boat"] if terrain in ("sea", "lake") else [])]
    lights = ["moon", "star"] if time == "night" else ["sun", "moon"] if time in ("sunrise", "sunset") else ["sun"]
    return ground + ["balloon", "balloon", "kite", *lights]


def draw_thing(rng: random.Random, kind: str, place: str, time: str, above: bool) -> Thing:
    colours = [c for c in LIGHTS.get(kind, COLOURS) if not (time == "night" and c == "black")]
    usual = USUAL_COLOUR.get(kind)
    colour = usual if usual and rng.random() < 0.35 else rng.choice(colours)
    size = pick(rng, {"small": 0.25, "medium": 0.5, "big": 0.25})
    height = "high" if above else rng.choice(HEIGHTS)
    if above and size == "big":
        size = "medium"
    x = {"left": 0.21, "centre": 0.5, "right": 0.79}[place] + rng.uniform(-0.045, 0.045)
    if kind in SKY_KINDS:
        y = {"low": 0.37, "high": 0.19}[height] + rng.uniform(-0.03, 0.03)
        if kind in ("balloon", "kite"):
            y += 0.03
    else:
        y = 0.70 if kind == "boat" else 0.88
        y += rng.uniform(-0.02, 0.03)
    scale = {"small": 0.66, "medium": 1.0, "big": 1.42}[size] * rng.uniform(0.95, 1.05)
    return Thing(kind, colour, size, place, height, x, y, scale, rng.randrange(1 << 16))


def draw_things(rng: random.Random, scene: Scene, count: int) -> list[Thing]:
    """Each thing in a third of its own, or one above another; at most one of a kind, and one light."""
    things: list[Thing] = []
    free = list(PLACES)
    for _ in range(count):
        taken = {t.kind for t in things}
        if taken & {"sun", "moon"}:
            taken |= {"sun", "moon"}
        kinds = [k for k in kinds_of(scene.terrain, scene.time) if k not in taken]
        kind = rng.choice(kinds)
        grounded = [t for t in things if t.kind in GROUND_KINDS and t.size != "big"]
        above = kind in SKY_KINDS and bool(grounded) and rng.random() < 0.25
        place = rng.choice(grounded).place if above else rng.choice(free)
        if above and any(t.kind in SKY_KINDS and t.place == place for t in things):
            above, place = False, rng.choice(free)
        if not above:
            free.remove(place)
        things.append(draw_thing(rng, kind, place, scene.time, above))
    return things


def draw_scene(rng: random.Random, count: int) -> Scene:
    terrain = rng.choice(TERRAINS)
    time = pick(rng, {"day": 0.34, "sunrise": 0.16, "sunset": 0.25, "night": 0.25})
    weather = pick(rng, {"clear": 0.52, "cloudy": 0.18, "rain": 0.1, "fog": 0.1, "snowfall": 0.1})
    season = pick(rng, {"summer": 0.4, "spring": 0.15, "autumn": 0.2, "winter": 0.25})
    if terrain == "desert":
        weather, season = "clear" if weather == "snowfall" else weather, "summer"
    if terrain == "sea" and season != "winter":
        season = "summer"
    if weather == "snowfall":
        season = "winter"
    scene = Scene(terrain, time, weather, season, rng.getrandbits(48))
    scene.things = draw_things(rng, scene, count)
    return scene


def draw_lit_scene(rng: random.Random, count: int) -> Scene:
    """A scene with a light, not by day, where only the form of the light tells which it is.

    In `draw_scene` the colour nearly does: at night four of five yellow lights are stars, and most white ones are moons.
    """
    while True:
        scene = draw_scene(rng, count)
        lights = [t for t in scene.things if t.kind in LIGHTS]
        if lights and scene.time != "day":
            for light in lights:
                light.colour = rng.choice(SHARED_COLOURS)
            return scene


def held_out(scene: Scene) -> bool:
    """One in ten of all combinations of kind, colour and terrain is never trained on."""
    return any(zlib.crc32(f"{t.kind} {t.colour} {scene.terrain}".encode()) % 10 == 0 for t in scene.things)


def mirrored(scene: Scene) -> Scene:
    """The scene whose picture is the mirror image."""
    swap = {"left": "right", "right": "left", "centre": "centre"}
    things = [Thing(**{**vars(t), "place": swap[t.place], "x": 1 - t.x}) for t in scene.things]
    return Scene(scene.terrain, scene.time, scene.weather, scene.season, scene.seed, things)


def read_scenes(path: Path) -> list[Scene]:
    """The scenes of a shard, as pictures.py writes them."""
    raw = [json.loads(line) for line in path.read_text().splitlines()]
    return [Scene(**{**r, "things": [Thing(**t) for t in r["things"]]}) for r in raw]
