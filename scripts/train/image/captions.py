"""Captions of a scene: many phrasings, from whole sentences to a few words between commas.

What a caption leaves out is drawn as usual: by day, in clear weather, in summer, in any size and place.
"""

import random

from scenes import GROUND_KINDS, USUAL_COLOUR, Scene, Thing, draw_scene

LAND = {
    "mountains": ["mountains", "mountains", "the mountains", "high mountains", "a mountain range", "mountain peaks", "the alps"],
    "sea": ["the sea", "the sea", "the ocean", "a beach", "the beach", "the coast", "the seaside"],
    "desert": ["the desert", "a desert", "sand dunes", "desert dunes", "the dunes"],
    "forest": ["a forest", "the forest", "the woods", "a pine forest", "woodland"],
    "city": ["a city", "the city", "a city skyline", "a town", "skyscrapers", "the skyline of a city"],
    "meadow": ["a meadow", "green hills", "hills", "rolling hills", "the countryside", "a field", "fields", "grassland"],
    "lake": ["a lake", "the lake", "a mountain lake", "a calm lake", "a lake in the mountains"],
}  # fmt: skip
WATER = ("sea", "lake")
TIME = {
    "day": ["by day", "during the day", "at noon", "in daylight", "under a blue sky", "in the afternoon"],
    "sunrise": ["at sunrise", "at sunrise", "at dawn", "in the morning", "in the early morning", "at daybreak"],
    "sunset": ["at sunset", "at sunset", "at dusk", "in the evening", "at twilight", "in the evening light"],
    "night": ["at night", "at night", "by night", "at midnight", "under a starry sky", "in the dark", "under the night sky"],
}  # fmt: skip
TIME_WORD = {"day": ["day", "daytime", "noon"], "sunrise": ["sunrise", "dawn", "morning"], "sunset": ["sunset", "dusk", "evening"], "night": ["night", "night time", "midnight"]}  # fmt: skip
WEATHER = {
    "clear": ["under a clear sky", "in clear weather", "on a clear day", "on a sunny day", "in sunny weather"],
    "cloudy": ["under a cloudy sky", "under clouds", "with clouds", "on a cloudy day", "in cloudy weather"],
    "rain": ["in the rain", "in rain", "on a rainy day", "while it rains", "in rainy weather"],
    "fog": ["in fog", "in the mist", "in the fog", "on a foggy day", "in mist"],
    "snowfall": ["in falling snow", "while it snows", "in a snowfall", "with snow falling", "in a snowstorm"],
}  # fmt: skip
WEATHER_WORD = {"clear": ["clear sky", "clear", "sunny"], "cloudy": ["cloudy", "clouds", "overcast"], "rain": ["rain", "rainy", "raining"], "fog": ["fog", "foggy", "misty", "mist"], "snowfall": ["snowing", "falling snow", "snowfall"]}  # fmt: skip
SEASON = {"summer": ["in summer"], "spring": ["in spring", "in springtime"], "autumn": ["in autumn", "in autumn", "in fall"], "winter": ["in winter", "in winter", "in the snow"]}  # fmt: skip
SEASON_WORD = {"summer": ["summer"], "spring": ["spring"], "autumn": ["autumn", "fall"], "winter": ["winter", "snow"]}
ADJECTIVE = {"summer": ["summer"], "spring": ["spring", "blooming"], "autumn": ["autumn", "autumnal"], "winter": ["snowy", "snowy", "winter", "snow-covered", "wintry"]}  # fmt: skip
NAMES = {
    "house": ["house", "house", "cottage", "cabin", "hut", "home"],
    "tree": ["tree"],
    "tent": ["tent"],
    "boat": ["boat", "boat", "sailboat", "sailing boat", "ship", "yacht"],
    "balloon": ["balloon", "balloon", "hot air balloon", "hot-air balloon"],
    "kite": ["kite"],
    "sun": ["sun"],
    "moon": ["moon"],
    "star": ["star"],
}
SIZE = {"small": ["small", "little", "tiny"], "medium": ["medium-sized"], "big": ["big", "large", "huge", "great"]}
PLACE = {
    "left": ["on the left", "on the left", "at the left", "to the left", "on the left side"],
    "right": ["on the right", "on the right", "at the right", "to the right", "on the right side"],
    "centre": ["in the middle", "in the centre", "in the center", "in the middle"],
}
HEIGHT = {"high": ["high in the sky", "high up", "up high"], "low": ["low in the sky", "low over the horizon", "low"]}
CORNER = {("high", "left"): "top left", ("high", "right"): "top right", ("high", "centre"): "top centre"}
OPENING = [
    "a picture of",
    "a painting of",
    "a drawing of",
    "an illustration of",
    "a view of",
    "a scene with",
    "an image of",
    "a landscape with",
]


def article(words: str) -> str:
    return ("an " if words[0] in "aeiou" else "a ") + words


def maybe(rng: random.Random, share: float) -> bool:
    return rng.random() < share


def name_thing(rng: random.Random, thing: Thing, terse: bool) -> str:
    name = rng.choice(NAMES[thing.kind])
    if thing.kind == "moon" and maybe(rng, 0.5):
        name = ("crescent " if thing.form % 2 else "full ") + name
    words = [name]
    if not (thing.colour == USUAL_COLOUR.get(thing.kind) and maybe(rng, 0.5)) and not maybe(rng, 0.04):
        words.insert(0, thing.colour)
    if maybe(rng, {"small": 0.75, "medium": 0.03, "big": 0.75}[thing.size]):
        words.insert(0, rng.choice(SIZE[thing.size]))
    phrase = " ".join(words)
    if terse and maybe(rng, 0.6):
        return phrase
    if thing.kind in ("sun", "moon") and maybe(rng, 0.5):
        return "the " + phrase
    return article(phrase)


def place_thing(rng: random.Random, thing: Thing, terse: bool) -> str:
    aloft = thing.kind not in GROUND_KINDS
    if aloft and (thing.height, thing.place) in CORNER and maybe(rng, 0.12):
        corner = CORNER[thing.height, thing.place]
        return corner if terse else rng.choice(["at the ", "in the "]) + corner
    words = []
    if maybe(rng, 0.35 if thing.place == "centre" else 0.94):
        words.append(
            thing.place if terse and maybe(rng, 0.35) and thing.place != "centre" else rng.choice(PLACE[thing.place])
        )
    if aloft and maybe(rng, 0.7 if thing.height == "high" else 0.2):
        words.append(rng.choice(HEIGHT[thing.height]))
    rng.shuffle(words)
    return " ".join(words)


def put(rng: random.Random, thing: Thing, terse: bool) -> str:
    name, place = name_thing(rng, thing, terse), place_thing(rng, thing, terse)
    if place and not terse and maybe(rng, 0.12):
        return f"{place} {name}"
    return f"{name} {place}".strip()


def list_things(rng: random.Random, scene: Scene, terse: bool) -> str:
    """Returns phrases for all things in random order; a thing above another may be described by that position."""
    things = scene.things[:]
    rng.shuffle(things)
    said, parts = set(), []
    for upper in things:
        for lower in things:
            over = upper.kind not in GROUND_KINDS and lower.kind in GROUND_KINDS and upper.place == lower.place
            if over and not said & {upper.kind, lower.kind} and maybe(rng, 0.7):
                said |= {upper.kind, lower.kind}
                parts.append(
                    f"{name_thing(rng, upper, terse)} {rng.choice(['above', 'over'])} {put(rng, lower, terse)}"
                )
    parts += [put(rng, t, terse) for t in things if t.kind not in said]
    rng.shuffle(parts)
    if terse:
        return ", ".join(parts)
    if len(parts) > 1:
        return ", ".join(parts[:-1]) + rng.choice([" and ", " and ", ", and ", ", "]) + parts[-1]
    return parts[0]


def conditions(rng: random.Random, scene: Scene) -> tuple[bool, bool, bool]:
    """Chooses whether a caption names time, weather and season: rarely for common values, nearly always for others."""
    return (
        maybe(rng, 0.25 if scene.time == "day" else 0.94),
        maybe(rng, 0.10 if scene.weather == "clear" else 0.92),
        maybe(rng, 0.12 if scene.season == "summer" or scene.weather == "snowfall" else 0.90),
    )


def land_of(rng: random.Random, scene: Scene, adjective: str) -> str:
    land = rng.choice(LAND[scene.terrain])
    if not adjective:
        return land
    if scene.season != "summer":
        land = land.replace("green ", "")
    first, _, rest = land.partition(" ")
    if first in ("a", "the"):
        return f"the {adjective} {rest}" if first == "the" else article(f"{adjective} {rest}")
    return f"{adjective} {land}"


def around(rng: random.Random, scene: Scene, thing: Thing | None) -> str:
    """Returns the preposition between a thing and the terrain that it stands on."""
    if thing is None:
        return rng.choice(["in front of", "at", "with"])
    if thing.kind in ("sun", "moon", "star", "balloon", "kite"):
        return rng.choice(["over", "over", "above", "in the sky over"])
    if thing.kind == "boat":
        return rng.choice(["on", "on", "in", "at"])
    if scene.terrain in WATER:
        return rng.choice(["by", "at", "near", "on the shore of"])
    if scene.terrain == "mountains":
        return rng.choice(["in front of", "in", "below", "near"])
    return rng.choice(["in", "in", "near", "in front of"])


def setting(
    rng: random.Random, scene: Scene, say_time: bool, say_weather: bool, say_season: bool
) -> tuple[str, list[str]]:
    """Returns the land with its adjectives, and the phrases that follow it."""
    adjectives, after = [], []
    if say_season:
        if maybe(rng, 0.6):
            adjectives.append(rng.choice(ADJECTIVE[scene.season]))
        else:
            after.append(rng.choice(SEASON[scene.season]))
    if say_weather:
        if maybe(rng, 0.25) and scene.weather in ("rain", "fog", "cloudy"):
            adjectives.insert(
                0, {"rain": "rainy", "fog": rng.choice(["foggy", "misty"]), "cloudy": "cloudy"}[scene.weather]
            )
        else:
            after.append(rng.choice(WEATHER[scene.weather]))
    if say_time:
        after.append(rng.choice(TIME[scene.time]))
    rng.shuffle(after)
    return land_of(rng, scene, " ".join(adjectives)), after


def caption(rng: random.Random, scene: Scene) -> str:
    say_time, say_weather, say_season = conditions(rng, scene)
    if maybe(rng, 0.30):
        return terse_caption(rng, scene, say_time, say_weather, say_season)
    land, after = setting(rng, scene, say_time, say_weather, say_season)
    place = " ".join([land, *after])
    opening = rng.choice(OPENING) + " " if maybe(rng, 0.15) else ""
    if not scene.things:
        if say_time and maybe(rng, 0.2) and scene.time != "day":
            rest = " ".join(w for w in after if w not in TIME[scene.time])
            return (
                f"{opening}{rng.choice(TIME_WORD[scene.time])} {rng.choice(['over', 'in', 'at'])} {land} {rest}".strip()
            )
        return opening.replace(" with ", " of ") + place
    things = list_things(rng, scene, False)
    if maybe(rng, 0.66):
        single = scene.things[0] if len(scene.things) == 1 else None
        return f"{opening}{things} {around(rng, scene, single)} {place}"
    return f"{place}{rng.choice([' with ', ' with ', ', '])}{things}"


def terse_caption(rng: random.Random, scene: Scene, say_time: bool, say_weather: bool, say_season: bool) -> str:
    land = rng.choice(LAND[scene.terrain])
    adjective = say_season and maybe(rng, 0.6)
    bare = land.split(" ", 1)[1] if land.startswith(("a ", "the ")) and (adjective or maybe(rng, 0.8)) else land
    words = []
    if adjective:
        if scene.season != "summer":
            bare = bare.replace("green ", "")
        bare = f"{rng.choice(ADJECTIVE[scene.season])} {bare}"
    elif say_season:
        words.append(rng.choice(SEASON_WORD[scene.season]))
    if say_time:
        words.append(rng.choice(TIME_WORD[scene.time]))
    if say_weather:
        words.append(rng.choice(WEATHER_WORD[scene.weather]))
    words.append(bare)
    rng.shuffle(words)
    things = [list_things(rng, scene, True)] if scene.things else []
    parts = things + words if maybe(rng, 0.65) else words + things
    return (", " if maybe(rng, 0.8) else " ").join(parts)


def all_words() -> list[str]:
    """Returns all words that captions can contain."""
    rng, seen = random.Random(0), set()
    for i in range(30000):
        seen.update(caption(rng, draw_scene(rng, i % 4)).replace(",", " ").split())
    return sorted(seen)


if __name__ == "__main__":
    rng = random.Random(3)
    for i in range(40):
        print(caption(rng, draw_scene(rng, i % 4)))
    print(len(all_words()), *all_words())
