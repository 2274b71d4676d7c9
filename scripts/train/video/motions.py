"""What a clip can show: a scene of the picture model's world, and what moves in it.

Things rise, sink, drift or sail, or the camera moves, or the light changes; every motion is certain to be seen. `draw_clip` makes a clip at random.
"""

import json
import random
from dataclasses import dataclass, field, replace

from scenes import SKY_KINDS, Scene, Thing, draw_scene, mirrored, pick

FRAMES = 13
FPS = 8
STILL = "still"
CAMERAS = (STILL, "left", "right", "in")
TURNS = {"": (), "nightfall": ("day", "sunset", "night"), "daybreak": ("night", "sunrise", "day")}
"""The times that a change of light goes through."""
COUNTS = {0: 0.14, 1: 0.5, 2: 0.36}
"""Number of things in a clip → share of clips."""
SAILS = {"left": 0.42, "right": 0.42, STILL: 0.16}
MOVES = {
    "balloon": {"up": 0.32, "down": 0.22, "left": 0.18, "right": 0.18, STILL: 0.1},
    "kite": {"left": 0.3, "right": 0.3, "up": 0.2, STILL: 0.2},
    "boat": SAILS,
}
LIGHT_MOVES = {
    "sunrise": {"up": 0.75, STILL: 0.25},
    "sunset": {"down": 0.75, STILL: 0.25},
    "night": {"up": 0.4, "down": 0.25, STILL: 0.35},
}
"""How sun and moon move at a time."""
MIRROR = {"left": "right", "right": "left"}


@dataclass
class Clip:
    scene: Scene  # as it begins
    moves: list[str] = field(default_factory=list)  # of each thing: still, left, right, up, down
    travels: list[tuple[float, float]] = field(default_factory=list)  # of each thing: how far, in shares of the picture
    camera: str = STILL
    turn: str = ""  # how the light changes
    wind: int = 1  # −1: clouds drift to the left

    def at(self, share: float) -> list[Thing]:
        """The things after a share of the clip."""
        return [
            replace(thing, x=thing.x + dx * share, y=thing.y + dy * share)
            for thing, (dx, dy) in zip(self.scene.things, self.travels)
        ]


def moves_of(scene: Scene, thing: Thing) -> dict[str, float]:
    """What a thing can do: a light moves with its time, and nothing crosses the sky where something else flies."""
    if thing.kind in ("sun", "moon"):
        return (
            LIGHT_MOVES.get(scene.time, {STILL: 1.0}) if thing.kind == "sun" or scene.time == "night" else {STILL: 1.0}
        )
    moves = MOVES.get(thing.kind, {STILL: 1.0})
    others = [t for t in scene.things if t is not thing and t.kind in ("balloon", "kite") and thing.kind in SKY_KINDS]
    return {m: share for m, share in moves.items() if not (others and m in MIRROR)}


def send(rng: random.Random, thing: Thing, move: str) -> tuple[float, float]:
    """Puts a thing where its motion starts; returns how far it travels."""
    if move in MIRROR:
        far = rng.uniform(0.38, 0.52)
        start = rng.uniform(0.16, 0.84 - far)
        thing.x = start if move == "right" else 1 - start
        thing.place = MIRROR[move]
        return (far if move == "right" else -far), 0.0
    if move == STILL:
        return 0.0, 0.0
    high = rng.uniform(0.19, 0.25) if thing.kind in ("balloon", "kite") else rng.uniform(0.2, 0.28)
    low = rng.uniform(0.5, 0.56) if thing.kind in ("balloon", "kite") else rng.uniform(0.62, 0.68)
    thing.y = low if move == "up" else high
    thing.height = "low" if move == "up" else "high"
    return 0.0, high - low if move == "up" else low - high


def without_lights(scene: Scene) -> Scene:
    return replace(scene, things=[t for t in scene.things if t.kind not in ("sun", "moon", "star")])


def draw_clip(rng: random.Random, count: int) -> Clip:
    scene = draw_scene(rng, count)
    for thing in scene.things:
        thing.scale = min(thing.scale, 1.2) if thing.kind in SKY_KINDS else thing.scale
    clip = Clip(scene, wind=rng.choice((-1, 1)))
    kind = pick(
        rng, {"things": 0.78, "camera": 0.11, "turn": 0.11} if count else {"things": 0.2, "camera": 0.4, "turn": 0.4}
    )
    if kind == "turn" and scene.weather in ("clear", "cloudy"):
        clip.turn = rng.choice(("nightfall", "daybreak"))
        clip.scene = without_lights(replace(scene, time=TURNS[clip.turn][0]))
    elif kind == "camera":
        clip.camera = pick(rng, {"left": 0.35, "right": 0.35, "in": 0.3})
        for thing in scene.things:
            thing.y, thing.height = max(thing.y, 0.36), "low"  # it sees less of the sky
    for thing in clip.scene.things:
        free = clip.camera == STILL and not (clip.turn and rng.random() < 0.6)
        move = pick(rng, moves_of(clip.scene, thing)) if free else STILL
        clip.moves.append(move)
        clip.travels.append(send(rng, thing, move))
    return clip


def mirrored_clip(clip: Clip) -> Clip:
    """The clip whose frames are the mirror images."""
    return Clip(
        mirrored(clip.scene),
        [MIRROR.get(move, move) for move in clip.moves],
        [(-dx, dy) for dx, dy in clip.travels],
        MIRROR.get(clip.camera, clip.camera),
        clip.turn,
        -clip.wind,
    )


def line_of(clip: Clip) -> str:
    """As clips.py writes it."""
    scene = {**vars(clip.scene), "things": [vars(t) for t in clip.scene.things]}
    return json.dumps({**vars(clip), "scene": scene})


def clip_of(line: str) -> Clip:
    raw = json.loads(line)
    scene = Scene(**{**raw["scene"], "things": [Thing(**t) for t in raw["scene"]["things"]]})
    return Clip(**{**raw, "scene": scene})
