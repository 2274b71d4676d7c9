"""Captions of a clip: those of its scene, with what moves. What a caption leaves out stays as it is."""

import random
from dataclasses import replace

from captions import (
    OPENING,
    around,
    caption,
    conditions,
    maybe,
    name_thing,
    put,
    setting,
    terse_caption,
)
from motions import STILL, Clip, draw_clip

FLY = [("drifts", "drifting"), ("drifts", "drifting"), ("floats", "floating"), ("flies", "flying"), ("moves", "moving")]
VERBS = {
    "balloon": {
        "up": [("rises", "rising"), ("rises", "rising"), ("floats up", "floating up"), ("goes up", "going up"), ("climbs", "climbing")],
        "down": [("sinks", "sinking"), ("comes down", "coming down"), ("floats down", "floating down"), ("descends", "descending"), ("lands", "landing")],
        "across": FLY,
    },
    "kite": {
        "up": [("rises", "rising"), ("climbs", "climbing"), ("flies up", "flying up"), ("goes up", "going up")],
        "across": [("flies", "flying"), ("flies", "flying"), ("glides", "gliding"), ("drifts", "drifting"), ("moves", "moving")],
    },
    "boat": {"across": [("sails", "sailing"), ("sails", "sailing"), ("moves", "moving"), ("drifts", "drifting"), ("glides", "gliding"), ("travels", "travelling")]},
    "sun": {"up": [("rises", "rising"), ("rises", "rising"), ("comes up", "coming up"), ("goes up", "going up")], "down": [("sets", "setting"), ("sets", "setting"), ("goes down", "going down"), ("sinks", "sinking")]},
}  # fmt: skip
VERBS["moon"] = VERBS["sun"]
"""Of each kind of thing and motion: the verb, and its participle."""
ACROSS = {
    "left": ["to the left", "to the left", "left", "from right to left", "leftwards"],
    "right": ["to the right", "to the right", "right", "from left to right", "rightwards"],
}
CAMERA = {
    "left": ["the camera pans left", "the camera pans to the left", "panning left", "the camera moves to the left", "a pan to the left"],
    "right": ["the camera pans right", "the camera pans to the right", "panning right", "the camera moves to the right", "a pan to the right"],
    "in": ["the camera zooms in", "zooming in", "a slow zoom in", "the camera moves closer", "a zoom"],
}  # fmt: skip
TURN = {
    "nightfall": ["as night falls", "while night falls", "as it gets dark", "while it gets dark", "as day turns into night", "from day to night"],
    "daybreak": ["as day breaks", "while the day breaks", "as it gets light", "while it gets light", "as night turns into day", "from night to day"],
}  # fmt: skip
TURNS_OVER = {
    "nightfall": ["night falls over", "nightfall over", "day turns into night over", "darkness falls over"],
    "daybreak": ["day breaks over", "daybreak over", "night turns into day over", "morning comes over"],
}
COVERED = ("cloudy", "rain", "snowfall")


def moving(rng: random.Random, kind: str, move: str, terse: bool) -> str:
    """What a thing does: "rises", "sailing to the left"."""
    verb = rng.choice(VERBS[kind].get(move) or VERBS[kind]["across"])[int(terse)]
    return f"{verb} {rng.choice(ACROSS[move])}" if move in ACROSS else verb


def phrases(rng: random.Random, clip: Clip, terse: bool) -> list[str]:
    """What each thing is and does, those that move first; only where nothing else moves it has a place."""
    told = []
    for thing, move in zip(clip.scene.things, clip.moves):
        if move != STILL:
            told.insert(0, f"{name_thing(rng, thing, terse)} {moving(rng, thing.kind, move, terse or maybe(rng, 0.2))}")
        elif clip.camera in ACROSS:
            told.append(name_thing(rng, thing, terse))
        else:
            told.append(put(rng, thing, terse))
    return told


def besides(rng: random.Random, clip: Clip) -> list[str]:
    """What the camera and the clouds do."""
    told = [rng.choice(CAMERA[clip.camera])] if clip.camera != STILL else []
    if clip.scene.weather in COVERED and clip.camera == STILL and maybe(rng, 0.3):
        side = "left" if clip.wind < 0 else "right"
        told.append(f"{rng.choice(['clouds drift', 'clouds move', 'drifting clouds'])} {rng.choice(ACROSS[side][:3])}")
    return told


def sentence(rng: random.Random, clip: Clip) -> str:
    say_time, say_weather, say_season = conditions(rng, clip.scene)
    land, after = setting(rng, clip.scene, say_time and not clip.turn, say_weather, say_season)
    if clip.turn:
        after.append(rng.choice(TURN[clip.turn]))
    place, told = " ".join([land, *after]), phrases(rng, clip, False)
    if clip.turn and maybe(rng, 0.6):
        over = f"{rng.choice(TURNS_OVER[clip.turn])} {' '.join([land, *after[:-1]])}"
        return f"{over} with {' and '.join(phrases(rng, clip, True))}" if told else over
    if not told:
        return place
    first, thing = told[0], clip.scene.things[0]
    if any(m != STILL for m in clip.moves):
        thing = next(t for t, m in zip(clip.scene.things, clip.moves) if m != STILL)
    if len(told) == 1:
        return f"{first} {around(rng, clip.scene, thing)} {place}"
    if maybe(rng, 0.5):
        return f"{first} {around(rng, clip.scene, thing)} {place} with {' and '.join(told[1:])}"
    joined = rng.choice([" and ", " and ", ", "]).join(told)
    return f"{joined} {around(rng, clip.scene, None if clip.scene.terrain == 'city' else thing)} {place}"


def few_words(rng: random.Random, clip: Clip) -> str:
    say_time, say_weather, say_season = conditions(rng, clip.scene)
    words = terse_caption(rng, replace(clip.scene, things=[]), say_time and not clip.turn, say_weather, say_season)
    turn = [rng.choice(TURN[clip.turn])] if clip.turn else []
    return ", ".join([*phrases(rng, clip, True), words, *turn])


def tell(rng: random.Random, clip: Clip) -> str:
    if all(m == STILL for m in clip.moves) and clip.camera == STILL and not clip.turn and maybe(rng, 0.7):
        return ", ".join([caption(rng, clip.scene), *besides(rng, clip)])
    told = few_words(rng, clip) if maybe(rng, 0.25) else sentence(rng, clip)
    opening = rng.choice(OPENING) + " " if maybe(rng, 0.05) else ""
    extra = besides(rng, clip)
    if extra and maybe(rng, 0.25):
        return ", ".join([*extra, told])
    return ", ".join([opening + told, *extra])


def all_words() -> list[str]:
    """All words that captions can contain."""
    rng, seen = random.Random(0), set()
    for i in range(60000):
        seen.update(tell(rng, draw_clip(rng, i % 3)).replace(",", " ").split())
    return sorted(seen)
