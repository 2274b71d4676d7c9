"""Questions about a scene, with their answers.

`exchange` makes one turn, `conversation` several about the same picture.
"""

import random

import questions_setting
import questions_things
from phrasing import Maker
from scenes import Scene

from exchange import Exchange

KINDS_OF_QUESTIONS: dict[str, tuple[Maker, float]] = {
    "describe": (questions_things.describe, 3.0),
    "things": (questions_things.things, 1.5),
    "count": (questions_things.count, 1.5),
    "colour": (questions_things.colour, 2.0),
    "place": (questions_things.place, 1.5),
    "at place": (questions_things.at_place, 1.2),
    "is there": (questions_things.is_there, 1.5),
    "is coloured": (questions_things.is_coloured, 1.0),
    "weather": (questions_setting.weather, 1.5),
    "is weather": (questions_setting.is_weather, 0.6),
    "time": (questions_setting.time, 1.0),
    "season": (questions_setting.season, 1.2),
    "land": (questions_setting.land, 1.0),
    "is setting": (questions_setting.is_setting, 0.7),
    "unknowable": (questions_setting.unknowable, 1.0),
}
"""Kind → its maker, and its share."""


def exchange(rng: random.Random, scene: Scene, kind: str, held_out: bool = False) -> Exchange | None:
    return KINDS_OF_QUESTIONS[kind][0](rng, scene, held_out)


def conversation(rng: random.Random, scene: Scene, turns: int) -> list[Exchange]:
    """Turns about one picture, which comes with the first of them."""
    shares = [share for _, share in KINDS_OF_QUESTIONS.values()]
    made: list[Exchange] = []
    while len(made) < turns:
        one = exchange(rng, scene, rng.choices(list(KINDS_OF_QUESTIONS), shares)[0])
        if one is not None:
            made.append(one)
    return made
