"""Questions about a scene, with their answers.

Each kind of question has phrasings, the last of which training never sees, and replies. `exchange` makes one turn;
`conversation` several about the same picture.
"""

import random
from collections.abc import Callable

from captions import NAMES, article
from scenes import COLOURS, KINDS, SEASONS, Scene, Thing

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


def _ask(rng: random.Random, forms: list[str], held_out: bool, **slots: object) -> str:
    form = forms[-1] if held_out else rng.choice(forms[:-1])
    text = expand(rng, form, **slots)
    return text if held_out else roughen(rng, text)


def _exchange(user: str, reply: str, expect: list[str], any_of: bool = False) -> Exchange:
    return Exchange(user, sentence(reply), "I look at the picture.", expect, any_of)


def _named(thing: Thing) -> str:
    return f"{thing.colour} {thing.kind}"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _seen(scene: Scene) -> str:
    """The things from left to right, each behind its place. Replies begin with what is seen, so that the model reads its own words for a verdict."""
    things = sorted(scene.things, key=lambda t: t.x)
    return (
        _listed([f"{PLACE[t.place]} {article(_named(t))}" for t in things]) if things else "nothing but the landscape"
    )


def describe(rng: random.Random, scene: Scene, held_out: bool) -> Exchange:
    forms = [
        f"[please |]describe [this|the] {PICTURE}[.|]",
        f"what [is|do you see] in [this|the] {PICTURE}?",
        f"what does [this|the] {PICTURE} show?",
        "what do you see?",
        "what is this?",
        f"tell me [about|what is in] [this|the] {PICTURE}[.|]",
        "describe what you see[.|]",
        f"can you describe [this|the] {PICTURE}?",
        "caption this[.|]",
        f"[give me|write|I want] a [short |]description[ of [this|the] {PICTURE}|][.|]",
        f"[explain|show] me [this|the] {PICTURE}[.|]",
        f"what [is shown|is going on|do you notice|can you see|is there|is it] [in|on] [this|the] {PICTURE}?",
        f"[and |so |ok, |][this|the] {PICTURE}: what is it?",
        f"look at [this|the] {PICTURE}[. what do you see?| and describe it.| and tell me what is there.]",
        "[tell me|say] what you see[.|]",
        f"[what|which] [scene|view] [is this|do you see|does [this|the] {PICTURE} show]?",
        "what [do|can] you see [here|there|in it]?",
        f"what can be seen in [this|the] {PICTURE}?",
    ]
    setting = f"{LAND[scene.terrain]} {TIME_PHRASE[scene.time]} in {scene.season}"
    weather = "" if scene.weather == "clear" else f" It is {WEATHER[scene.weather][0]}."
    shown = f"{_seen(scene)}, before {setting}" if scene.things else f"{setting}, with nothing in front"
    start = "" if held_out or scene.things else rng.choice(["", "This is ", "I see ", "The picture shows ", "I see "])
    words = [LAND_WORD[scene.terrain], scene.time, scene.season, *(w for t in scene.things for w in (t.colour, t.kind))]
    return _exchange(_ask(rng, forms, held_out), f"{start}{shown}.{weather}", words)


def things(rng: random.Random, scene: Scene, held_out: bool) -> Exchange:
    forms = [
        f"[what|which] [things|objects] are [there|in the {PICTURE}|in this {PICTURE}]?",
        f"list the [things|objects] in [this|the] {PICTURE}[.|]",
        "name [all the|the] [things|objects] [that you see|you can see][.|]",
        "[what|which] [objects|things|stuff] [do|can] you see[ here| there| in it|]?",
        "[what|which] [objects|things] are [visible|shown|in it|there|here]?",
        f"[is there|do you see] anything in [this|the] {PICTURE}?[ what?|]",
        "[list|name|tell me|give me|say] [all |]the [objects|things][.| please]",
        f"what [all |][is|do you find|stands] in [this|the] {PICTURE} [besides|apart from] the landscape?",
        "[every|all the] [object|thing|objects|things] [that you see|please][.|]",
        f"[which|what] [things|objects] can you find in [this|the] {PICTURE}?",
    ]
    expect = [t.kind for t in scene.things] or ["nothing"]
    return _exchange(_ask(rng, forms, held_out), f"{_seen(scene)}.", expect)


def count(rng: random.Random, scene: Scene, held_out: bool) -> Exchange:
    forms = [
        "how many [things|objects] [do you see|are there|can you see]?",
        f"how many [things|objects] are in [this|the] {PICTURE}?",
        "count the [things|objects][.|]",
        f"[how many|what number of] [things|objects] does [this|the] {PICTURE} [show|have]?",
        "[how many|number of] [things|objects] [in there|in it|here|there|please|]?",
        "how many [of them |][are there|do you count|do you find|can you find] [in total|together|]?",
        f"[can you |please |]count [all |][the |][things|objects] [in [this|the] {PICTURE}|that you see|][.|]",
        "[give me|tell me|say] the [number|count] of [things|objects][.|]",
        "[is it|are there] one, two or three [things|objects]?",
        f"what is the number of [things|objects] in [this|the] {PICTURE}?",
    ]
    n = len(scene.things)
    what = "thing" if n == 1 else "things"
    reply = f"{_seen(scene)}: {COUNT[n]} {what}."
    return _exchange(_ask(rng, forms, held_out), reply, [COUNT[n], str(n)], True)


def colour(rng: random.Random, scene: Scene, held_out: bool) -> Exchange | None:
    if not scene.things:
        return None
    thing = rng.choice(scene.things)
    forms = [
        "what [colour|color] is the {kind}?",
        "which [colour|color] [does the {kind} have|has the {kind}|is the {kind}]?",
        "the {kind} is what [colour|color]?",
        "what is the [colour|color] of the {kind}?",
        "tell me the [colour|color] of the {kind}[.|]",
        "[colour|color] of [the|this|that] {kind}[ please|]?",
        "[so |and |ok, |][what|which] [colour|color] [is|has] [the|that|this] {kind}[ got| in the picture| here| there| please|]?",
        "{kind} [colour|color]?",
        "the {kind}: [what|which] [colour|color][ is it| has it|]?",
        "[do you know|can you tell me|can you see|say|name] the [colour|color] of the {kind}[.|?]",
        "[what is|what would you say is] the {kind}'s [colour|color]?",
        "is the {kind} {colour} or {other}?",
        "in [what|which] [colour|color] is the {kind} [painted|shown]?",
    ]
    kind = thing.kind if held_out else rng.choice(NAMES[thing.kind])
    reply = f"The {thing.kind} {PLACE[thing.place]} is {thing.colour}."
    first, second = rng.sample([thing.colour, rng.choice([c for c in COLOURS if c != thing.colour])], 2)
    return _exchange(_ask(rng, forms, held_out, kind=kind, colour=first, other=second), reply, [thing.colour])


def place(rng: random.Random, scene: Scene, held_out: bool) -> Exchange | None:
    if not scene.things:
        return None
    thing = rng.choice(scene.things)
    forms = [
        "where is the {kind}?",
        "where do you see the {kind}?",
        "on which side is the {kind}?",
        "is the {kind} on the left, in the middle or on the right?",
        "[what|which] is the place of the {kind}?",
        "[so |and |ok, |][where|in which place|in what part] [is|would be|do you find|can I find|can I see] [the|that] {kind}[ please| then|]?",
        "[what|which] side [is|has] the {kind}[ on|]?",
        "is the {kind} [on the |][left or right|right or left|left, right or in the middle]?",
        "the {kind}: where is it?",
        "{kind} [where|place|position]?",
        "[tell me|say|show me|find] where the {kind} is[.|]",
        f"in which part of [this|the] {PICTURE} is the {{kind}}?",
        f"where in [this|the] {PICTURE} is the {{kind}}?",
    ]
    kind = thing.kind if held_out else rng.choice(NAMES[thing.kind])
    reply = f"The {_named(thing)} is {PLACE[thing.place]}."
    word = {"left": "left", "centre": "middle", "right": "right"}[thing.place]
    return _exchange(_ask(rng, forms, held_out, kind=kind), reply, [word])


def at_place(rng: random.Random, scene: Scene, held_out: bool) -> Exchange | None:
    """What stands at a side; only where one thing at most does."""
    where = rng.choice(list(PLACE))
    there = [t for t in scene.things if t.place == where]
    if len(there) > 1:
        return None
    forms = [
        "what is {place}?",
        "what do you see {place}?",
        "[which|what] thing is {place}?",
        "[so |and |][what|which thing|what object] [stands|do you find|is there|is shown|can you see] {place}?",
        "is there [anything|something] {place}?",
        "[tell me|say|describe|name] what is {place}[.|]",
        "{place}, what is [there|that|it]?",
        "anything {place}?",
        "what about {place}?",
        f"what can be seen {{place}} [of the {PICTURE}|]?",
    ]
    reply = f"{article(_named(there[0]))}." if there else "There is nothing."
    named = PLACE[where] if held_out else rng.choice(PLACE_NAMES[where])
    return _exchange(_ask(rng, forms, held_out, place=named), reply, [there[0].kind] if there else ["nothing"])


def _yes_no(user: str, is_so: bool, seen: str) -> Exchange:
    verdict = "yes" if is_so else "no"
    return _exchange(user, f"{seen}, so {verdict}.", [verdict])


def is_there(rng: random.Random, scene: Scene, held_out: bool) -> Exchange:
    present = {t.kind for t in scene.things}
    is_so = bool(present) and rng.random() < 0.5
    kind = rng.choice(sorted(present) if is_so else [k for k in KINDS if k not in present])
    forms = [
        "is there {a}?",
        f"is there {{a}} in [this|the] {PICTURE}?",
        "do you see {a}?",
        "can you see {a}?",
        "[so |and |][is|was] there {a}[ somewhere| anywhere| here| in there| in it| too|]?",
        "do you [see|notice|find|spot|have] {a}[ somewhere| anywhere| here| there|]?",
        "can you [find|spot|make out] {a}[ in it| there|]?",
        "is {a} [there|visible|shown|in it|to be seen]?",
        "any {kind}[ there| in it| here|]?",
        "is [this|that|it] {a}?",
        "{a}, [is there one|do you see one|yes or no]?",
        "are there any {kind}s?",
        f"does [this|the] {PICTURE} [show|have|contain] {{a}}?",
        f"[is|can] {{a}} [be seen|visible] in [this|the] {PICTURE}?".replace("[is|can]", "can").replace(
            "[be seen|visible]", "be seen"
        ),
    ]
    name = kind if held_out else rng.choice(NAMES[kind])
    return _yes_no(_ask(rng, forms, held_out, a=article(name), kind=name), is_so, _seen(scene))


def is_coloured(rng: random.Random, scene: Scene, held_out: bool) -> Exchange | None:
    if not scene.things:
        return None
    thing = rng.choice(scene.things)
    is_so = rng.random() < 0.5
    asked = thing.colour if is_so else rng.choice([c for c in COLOURS if c != thing.colour])
    forms = [
        "is [the|this|that] {kind} {colour}[ here| in the picture| or not|]?",
        "is [it|this|that|there] a {colour} {kind}?",
        "[so |and |ok, |]the {kind} is {colour}[, right| then|, yes or no|]?",
        "[would you say|do you think|can I say] [that |]the {kind} is {colour}?",
        "does the {kind} have the [colour|color] {colour}?",
        "{colour} {kind}, [right|yes or no|is that so]?",
        "[do|can] you see a {colour} {kind}?",
        "does the {kind} look {colour}?",
    ]
    user = _ask(rng, forms, held_out, kind=thing.kind, colour=asked)
    return _yes_no(user, is_so, f"the {thing.kind} {PLACE[thing.place]} is {thing.colour}")


def weather(rng: random.Random, scene: Scene, held_out: bool) -> Exchange:
    forms = [
        "what is the weather[ like|]?",
        f"how is the weather in [this|the] {PICTURE}?",
        "what weather is it?",
        "what kind of weather do you see?",
        "[describe|tell me|say|name] the weather[ please|][.|]",
        "[so |and |ok, |][what|how] is the weather [there|here|outside|out there|then|in it]?",
        "weather[ please| there| in the picture|]?",
        "[what|which] weather [do we have|is there|can you see|has it|is that]?",
        "[is it|do we have] [good|bad|nice|dry|wet] weather or what?",
        "what is the weather doing?",
        "is it clear, cloudy, rainy, foggy or snowing?",
        f"what weather does [this|the] {PICTURE} show?",
    ]
    word = rng.choice(WEATHER[scene.weather])
    reply = rng.choice(
        [
            f"It is {word}.",
            f"The weather is {word}." if scene.weather in ("clear", "cloudy", "fog") else f"It is {word}.",
        ]
    )
    return _exchange(_ask(rng, forms, held_out), reply, [WEATHER_WORD[scene.weather]])


def is_weather(rng: random.Random, scene: Scene, held_out: bool) -> Exchange:
    is_so = rng.random() < 0.5
    asked = scene.weather if is_so else rng.choice([w for w in WEATHER if w != scene.weather])
    word = rng.choice(WEATHER_ADJECTIVES[asked] if not held_out else WEATHER[asked])
    noun, verb = WEATHER_NOUN[asked], WEATHER_VERB.get(asked)
    named = ["do you see {noun}[ there| in it|]?", "is there [any |]{noun}[ there| in it| here|]?", "[any |]{noun}?"]
    forms = [
        "is it {word}?",
        "[so |and |][is|was] it {word}[ there| here| out there| outside| in it|]?",
        "[would you say|do you think] [that |]it is {word}?",
        "is the weather {word}?",
        "{word}[ weather|]?",
        "it is {word}, [right|yes or no|isn't it]?",
        *(named if asked != "clear" else []),
        *(["does it {verb}?", "does it {verb}[ there| here| in it| outside|]?"] if verb else []),
        f"is it {{word}} in [this|the] {PICTURE}?",
        "would you say that it is {word}?",
    ]
    user = _ask(rng, forms, held_out, word=word, noun=noun, verb=verb or "")
    return _yes_no(user, is_so, f"it is {WEATHER[scene.weather][0]}")


def time(rng: random.Random, scene: Scene, held_out: bool) -> Exchange:
    forms = [
        "what time of [the |]day is it?",
        "is it day or night?",
        f"when was [this|the] {PICTURE} [taken|painted|made]: by day, at night, at sunrise or at sunset?",
        "which time of [the |]day do you see?",
        "[so |and |ok, |][what|which] [time|time of day|part of the day] is it[ there| here| in it| in the picture|]?",
        "time of [the |]day[ please|]?",
        "[day or night|night or day|day, night, sunrise or sunset][ please|]?",
        f"[when|at what time] is [this|the] {PICTURE} [set|made|taken]?",
        "[tell me|say|name] the time of day[.|]",
        "when [is this|was this|is that]?",
        f"what time of day does [this|the] {PICTURE} show?",
    ]
    reply = rng.choice(
        [f"It is {TIME[scene.time]}.", f"{TIME[scene.time]}.", f"The time of day is {TIME[scene.time]}."]
    )
    return _exchange(_ask(rng, forms, held_out), reply, [scene.time])


def season(rng: random.Random, scene: Scene, held_out: bool) -> Exchange:
    forms = [
        "[what|which] season is it?",
        f"[what|which] season is [this|the] {PICTURE} from?",
        "[which|what] season do you see?",
        "[so |and |ok, |][what|which] [season|time of year|time of the year] [is it|is this|is that|do we have|could it be|has it][ there| here|]?",
        "season[ please|]?",
        "[tell me|say|name|guess] the season[.|]",
        "[summer or winter|spring or autumn|winter or spring|autumn or summer|spring, summer, autumn or winter]?",
        "in [what|which] season [is this|are we|was it made]?",
        "is it spring, summer, autumn or winter?",
        f"[what|which] season does [this|the] {PICTURE} show?",
    ]
    reply = rng.choice([f"It is {scene.season}.", f"{scene.season}.", f"This is {scene.season}."])
    return _exchange(_ask(rng, forms, held_out), reply, [scene.season])


def land(rng: random.Random, scene: Scene, held_out: bool) -> Exchange:
    forms = [
        "what [kind of |]landscape is [this|it]?",
        "where is this?",
        "what is in the background?",
        f"[what|which] [place|landscape] does [this|the] {PICTURE} show?",
        "what kind of land do you see?",
        "[so |and |ok, |]where [is this|are we|is that|was this|is it]?",
        "what [sort|kind|type] of [landscape|place|scenery|scene|area] [is this|is that|do you see|is shown|is it]?",
        "[what|which] [landscape|place|scenery] [is there|is it|do you see|can you see|is shown]?",
        "landscape[ please|]?",
        "[tell me|say|name|describe] the [landscape|place|background|scenery][.|]",
        "what is [behind it|behind them|behind the things|at the back|around|in the distance]?",
        "is [this|it|that] {land} or {other}?",
        "[where|in what place] [did you see it|does this happen|are they|do they stand|would I find this]?",
        f"where was [this|the] {PICTURE} [taken|painted|made]?",
    ]
    where = LAND[scene.terrain]
    reply = rng.choice(
        [f"This is {where}.", f"{where}.", f"I see {where}."]
        if scene.terrain != "mountains"
        else ["These are mountains.", "Mountains.", "I see mountains."]
    )
    first, second = rng.sample([where, LAND[rng.choice([name for name in LAND if name != scene.terrain])]], 2)
    return _exchange(_ask(rng, forms, held_out, land=first, other=second), reply, [LAND_WORD[scene.terrain]])


def is_setting(rng: random.Random, scene: Scene, held_out: bool) -> Exchange:
    """Yes or no about land, time or season."""
    names, own = rng.choice([(LAND, scene.terrain), (TIME, scene.time), (SEASON_NAME, scene.season)])
    asked = own if rng.random() < 0.5 else rng.choice([name for name in names if name != own])
    forms = [
        "is [it|this|that] {named}[ here| there| in it|]?",
        "[so |and |]is [this|that|it] {named}[ or not| or something else|]?",
        "[would you say|do you think] [this|it|that] is {named}?",
        f"does [this|the] {PICTURE} show {{named}}?",
        "[this|it] is {named}, [right|yes or no|isn't it]?",
        "{named}?",
        "[could|can|might] [this|it] be {named}?",
    ]
    user = _ask(rng, forms, held_out, named=names[asked])
    return _yes_no(user, asked == own, f"{'these are' if own == 'mountains' else 'it is'} {names[own]}")


def unknowable(rng: random.Random, scene: Scene, held_out: bool) -> Exchange:
    """What no picture tells, and things that are not there."""
    absent = rng.choice([k for k in KINDS if k not in {t.kind for t in scene.things}])
    if rng.random() < 0.4:
        forms = [
            "[what|which] [colour|color] [is|has] the {kind}?",
            "[where|in which place] is the {kind}?",
            "[colour|color] of the {kind}?",
            "[and |so ]where is the {kind}?",
            "is the {kind} [on the left or on the right|big or small|near or far]?",
            "[tell me|say] [where the {kind} is|what [colour|color] the {kind} has][.|]",
            "which side is the {kind} on?",
        ]
        reply = rng.choice([f"I see no {absent}.", f"There is no {absent}."])
        return _exchange(_ask(rng, forms, held_out, kind=absent), reply, ["no"])
    forms = [
        f"who [painted|made|took] [this|the] {PICTURE}?",
        f"in [which|what] country [is this|was this {PICTURE} taken]?",
        "what is the name of this place?",
        "how old is the painter?",
        f"how much does [this|the] {PICTURE} cost?",
        "what year is it?",
        f"what music goes with [this|the] {PICTURE}?",
        "what is behind the camera?",
        "who lives [there|here|in it]?",
        "who [drew|owns|sold|bought|sent] [this|it|the picture]?",
        "[what is|tell me] the name of [the|this|that] [painter|city|lake|sea|forest|mountain|house|owner|boat|street|photographer][.|]",
        "[what|which] [city|town|country|lake|sea|mountain|village|street] is [this|it|that]?",
        "how [old|deep|far|heavy|expensive|long|tall|high] is [it|this|that|the lake|the sea|the house|the mountain|the tree|the forest]?",
        "[what|which] day [of the week |]is it?",
        "what [did they eat|happened before|happens next|is inside|is it for|does it smell like|does it sound like]?",
        "how many [people|fish|windows|leaves|animals] [are there|live there|do you see]?",
        "is the [painter|owner|house] [rich|famous|for sale|old]?",
        f"to whom does [this|the] {PICTURE} belong?",
    ]
    reply = rng.choice(["I do not know that.", "The picture does not tell, so I do not know.", "I do not know."])
    return _exchange(_ask(rng, forms, held_out), reply, ["not know"])


KINDS_OF_QUESTIONS: dict[str, tuple[Maker, float]] = {
    "describe": (describe, 3.0),
    "things": (things, 1.5),
    "count": (count, 1.5),
    "colour": (colour, 2.0),
    "place": (place, 1.5),
    "at place": (at_place, 1.2),
    "is there": (is_there, 1.5),
    "is coloured": (is_coloured, 1.0),
    "weather": (weather, 1.5),
    "is weather": (is_weather, 0.6),
    "time": (time, 1.0),
    "season": (season, 1.2),
    "land": (land, 1.0),
    "is setting": (is_setting, 0.7),
    "unknowable": (unknowable, 1.0),
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
