"""Words of scenes, and what all questions share: a phrasing, an answer, a verdict.

The last phrasing of each kind of question is held out: training never sees it.
"""

import random
from collections.abc import Callable

from captions import article
from scenes import SEASONS, Scene, Thing

from exchange import Exchange
from phrases import expand, roughen, sentence

COUNT = {0: "no", 1: "one", 2: "two", 3: "three"}
PLACE = {"left": "on the left", "centre": "in the middle", "right": "on the right"}
PLACE_NAMES = {
    "left": ["on the left", "on the left side", "to the left", "at the left", "left"],
    "centre": ["in the middle", "in the centre", "in the center", "at the centre"],
    "right": ["on the right", "on the right side", "to the right", "at the right", "right"],
}
"""What people call a place."""
WEATHER = {
    "clear": ["clear", "clear and dry"],
    "cloudy": ["cloudy", "cloudy"],
    "rain": ["raining", "rainy"],
    "fog": ["foggy", "foggy"],
    "snowfall": ["snowing", "snowing"],
}
WEATHER_ADJECTIVES = {
    "clear": ["clear", "dry"],
    "cloudy": ["cloudy", "overcast"],
    "rain": ["raining", "rainy", "wet"],
    "fog": ["foggy", "misty"],
    "snowfall": ["snowing", "snowing now"],
}
WEATHER_NOUN = {"clear": "", "cloudy": "clouds", "rain": "rain", "fog": "fog", "snowfall": "falling snow"}
WEATHER_VERB = {"rain": "rain", "snowfall": "snow"}
WEATHER_WORD = {"clear": "clear", "cloudy": "cloud", "rain": "rain", "fog": "fog", "snowfall": "snow"}
TIME = {"day": "day", "sunrise": "sunrise", "sunset": "sunset", "night": "night"}
TIME_PHRASE = {"day": "by day", "sunrise": "at sunrise", "sunset": "at sunset", "night": "at night"}
LAND = {
    "mountains": "mountains",
    "sea": "the sea",
    "desert": "a desert",
    "forest": "a forest",
    "city": "a city",
    "meadow": "a meadow",
    "lake": "a lake",
}
SEASON_NAME = {season: season for season in SEASONS}
LAND_WORD = {name: name for name in LAND} | {"mountains": "mountain"}
PICTURE = "[picture|image|photo|painting]"

Maker = Callable[[random.Random, Scene, bool], Exchange | None]
"""None: the question has no sense for the scene."""


BEFORE = [
    "[so|and|ok|okay|well|now|hey|hi|hello|please|right|hm]",
    "[hey|hi|hello|ok|so] mini",
    "[one|another|a quick|my next] question",
    "[tell me|say|answer|let me know|I wonder|guess]",
    "[I want to know|I would like to know|I need to know|can you say]",
    f"[look at|about|from|judging by] [this|the] {PICTURE}",
]
"""What people put before a question."""
BEHIND = [
    "please",
    "[thanks|thank you]",
    "[mini|buddy|friend]",
    "[in your view|in your opinion|you think]",
    "[in short|in a word|quickly]",
]


def ask(rng: random.Random, forms: list[str], held_out: bool, **slots: object) -> str:
    form = forms[-1] if held_out else rng.choice(forms[:-1])
    text = expand(rng, form, **slots)
    if held_out:
        return text
    if rng.random() < 0.2:
        text = expand(rng, rng.choice(BEFORE)) + rng.choice([" ", ", ", ": "]) + text
    if rng.random() < 0.08:
        text = (
            text.rstrip("?.") + rng.choice([" ", ", "]) + expand(rng, rng.choice(BEHIND)) + rng.choice(["?", "", "."])
        )
    return roughen(rng, text)


def answered(user: str, reply: str, expect: list[str], any_of: bool = False) -> Exchange:
    return Exchange(user, sentence(reply), "I look at the picture.", expect, any_of)


def named(thing: Thing) -> str:
    return f"{thing.colour} {thing.kind}"


def listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def seen(scene: Scene) -> str:
    """The things from left to right, each behind its place. Replies begin with what is seen, so that the model reads its own words for a verdict."""
    things = sorted(scene.things, key=lambda t: t.x)
    return listed([f"{PLACE[t.place]} {article(named(t))}" for t in things]) if things else "nothing but the landscape"


def yes_no(user: str, is_so: bool, seen: str) -> Exchange:
    verdict = "yes" if is_so else "no"
    return answered(user, f"{seen}, so {verdict}.", [verdict])
