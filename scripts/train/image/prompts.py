"""Prompts for the evaluation with the scene that each demands: 40 written by hand, and captions of scenes held out from training."""

import random
from dataclasses import dataclass

import captions
from scenes import Scene, draw_scene, held_out

HAND_WRITTEN = """
a red balloon over snowy mountains at sunset | mountains sunset winter | balloon red
red balloon, snowy mountains, sunset | mountains sunset winter | balloon red
a white sailboat on the sea | sea | boat white
a small blue boat on a lake at dawn | lake sunrise | boat blue
a yellow moon over the desert at night | desert night | moon yellow
a big orange sun over the ocean | sea | sun orange
a purple tent in the forest at night | forest night | tent purple
a red house in a meadow in spring | meadow spring | house red
a white house by the sea on the left | sea | house white left
a green tree on the right in the desert | desert | tree green right
city at night | city night |
a foggy forest | forest fog |
snow falling over a mountain lake | lake snowfall |
rain over the city in the evening | city sunset rain |
sand dunes at sunrise | desert sunrise |
rolling hills in autumn | meadow autumn |
the sea at sunset | sea sunset |
a forest in winter | forest winter |
mountains under a starry sky | mountains night |
a quiet meadow in summer | meadow summer |
a pink kite high in the sky over a field | meadow | kite pink
a blue kite on the left over the beach | sea | kite blue left
a yellow star over the mountains at night | mountains night | star yellow
a full moon over a snowy forest | forest winter | moon white
a black house in the snow, mountains | mountains winter | house black
an orange tent on the right, lake, dusk | lake sunset | tent orange right
a purple balloon over the city at dawn | city sunrise | balloon purple
a green boat in the middle of the lake | lake | boat green centre
a huge yellow balloon above the dunes | desert | balloon yellow
a tiny red house in the middle, snowy hills | meadow winter | house red centre
a red balloon on the left and a blue kite on the right over the sea | sea | balloon red left, kite blue right
a red house on the left and a green tree on the right in a meadow | meadow | house red left, tree green right
a yellow tent and a white moon at night in the mountains | mountains night | tent yellow, moon white
a white boat on the right and an orange balloon on the left, lake at sunset | lake sunset | boat white right, balloon orange left
a pink tree in the middle and a blue house on the left, countryside in spring | meadow spring | tree pink centre, house blue left
a big red sun and a small black boat on the sea in the evening | sea sunset | sun red, boat black
a purple kite on the right, a yellow house on the left, desert | desert | kite purple right, house yellow left
an orange balloon above a white house in the mountains | mountains | balloon orange, house white
a red balloon on the left, a yellow kite on the right and a white house in the middle, green hills | meadow | balloon red left, kite yellow right, house white centre
a blue tent on the left, a green tree in the middle and a red moon on the right, forest at night | forest night | tent blue left, tree green centre, moon red right
"""


@dataclass
class Wanted:
    kind: str
    colour: str | None
    place: str | None


@dataclass
class Prompt:
    text: str
    scene: dict[str, str]  # terrain, time, weather, season: those that are said
    things: list[Wanted]


def hand_written() -> list[Prompt]:
    fields = {"terrain": captions.LAND, "time": captions.TIME, "weather": captions.WEATHER, "season": captions.SEASON}
    prompts = []
    for line in HAND_WRITTEN.strip().splitlines():
        text, surroundings, things = (part.strip() for part in line.split("|"))
        scene = {f: word for word in surroundings.split() for f, values in fields.items() if word in values}
        wanted = [Wanted(*(thing.split() + [None])[:3]) for thing in things.split(", ") if thing]
        prompts.append(Prompt(text, scene, wanted))
    return prompts


def said(words: dict[str, list[str]], value: str, text: str) -> bool:
    return any(phrase in text for phrase in words[value])


def demands(scene: Scene, text: str) -> Prompt:
    """Returns the facts of the scene that the caption states."""
    told = {"terrain": scene.terrain}
    for field, tables in {
        "time": (captions.TIME, captions.TIME_WORD),
        "weather": (captions.WEATHER, captions.WEATHER_WORD),
        "season": (captions.SEASON, captions.SEASON_WORD, captions.ADJECTIVE),
    }.items():
        value = getattr(scene, field)
        if any(said(table, value, text) for table in tables):
            told[field] = value
    words = text.replace(",", " ").split()
    centre = {"middle", "centre", "center"}
    things = []
    for thing in scene.things:
        place = thing.place in words or (thing.place == "centre" and centre & set(words))
        things.append(
            Wanted(thing.kind, thing.colour if thing.colour in words else None, thing.place if place else None)
        )
    return Prompt(text, told, things)


def held_out_prompts(count: int, seed: int = 7) -> list[tuple[Prompt, Scene]]:
    """Captions of scenes whose combination of kind, colour and terrain training never drew; each colour and place but once."""
    rng, prompts = random.Random(seed), []
    while len(prompts) < count:
        scene = draw_scene(rng, rng.choices((1, 2, 3), (0.45, 0.35, 0.2))[0])
        things = scene.things
        distinct = len({t.colour for t in things}) == len({t.place for t in things}) == len(things)
        if held_out(scene) and distinct:
            prompts.append((demands(scene, captions.caption(rng, scene)), scene))
    return prompts
