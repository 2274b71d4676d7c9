"""Questions about the setting of a scene, and those that no picture answers."""

import random

from phrasing import (
    LAND,
    LAND_WORD,
    PICTURE,
    SEASON_NAME,
    TIME,
    WEATHER,
    WEATHER_ADJECTIVES,
    WEATHER_NOUN,
    WEATHER_VERB,
    WEATHER_WORD,
    answered,
    ask,
    yes_no,
)
from scenes import KINDS, Scene

from exchange import Exchange


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
        f"[what|which] weather [has|is in|was in] [this|the] {PICTURE}?",
        "[will|would|do] I [get wet|need an umbrella|need a coat][ there|]? [what|how] is the weather?",
        "[what|which] weather did [they|the painter] [paint|have|see]?",
        f"what weather does [this|the] {PICTURE} show?",
    ]
    word = rng.choice(WEATHER[scene.weather])
    reply = rng.choice(
        [
            f"It is {word}.",
            f"The weather is {word}." if scene.weather in ("clear", "cloudy", "fog") else f"It is {word}.",
        ]
    )
    return answered(ask(rng, forms, held_out), reply, [WEATHER_WORD[scene.weather]])


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
        "[I think|I believe|I guess|I say] it is {word}, [is that right|right|am I right|yes or no]?",
        f"[is|was] the [sky|air|weather|{PICTURE}] {{word}}?",
        "[can|could] you say it is {word}?",
        "is that [a |]{word} [weather|day|scene]?",
        *(named if asked != "clear" else []),
        *(["does it {verb}?", "does it {verb}[ there| here| in it| outside|]?"] if verb else []),
        f"is it {{word}} in [this|the] {PICTURE}?",
        "would you say that it is {word}?",
    ]
    user = ask(rng, forms, held_out, word=word, noun=noun, verb=verb or "")
    return yes_no(user, is_so, f"it is {WEATHER[scene.weather][0]}")


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
        "is it [early|late|dark|light|bright] there? [what|which] time of day?",
        f"[what|which] [time|hour] of [the |]day [has|is in|was it in] [this|the] {PICTURE}?",
        "[at|during] [what|which] time of [the |]day [is that|was it|did they paint it]?",
        f"what time of day does [this|the] {PICTURE} show?",
    ]
    reply = rng.choice(
        [f"It is {TIME[scene.time]}.", f"{TIME[scene.time]}.", f"The time of day is {TIME[scene.time]}."]
    )
    return answered(ask(rng, forms, held_out), reply, [scene.time])


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
        f"[what|which] season [has|is in|was it in|did they paint in] [this|the|it|that] {PICTURE}?",
        "[is it|is that] [warm|cold|hot] there? [what|which] season?",
        "[which|what] of the [four |]seasons is [it|this|that|shown]?",
        "is it spring, summer, autumn or winter?",
        f"[what|which] season does [this|the] {PICTURE} show?",
    ]
    reply = rng.choice([f"It is {scene.season}.", f"{scene.season}.", f"This is {scene.season}."])
    return answered(ask(rng, forms, held_out), reply, [scene.season])


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
        f"where [did|would|could] [you|one|they|I|somebody] [see|find|paint|draw|meet] [this|it|that|the {PICTURE}]?",
        f"[where|which landscape] is [this|the] {PICTURE} [from|of|set in]?",
        "where was [it|this|that][ one| then| drawn| seen|]?",
        f"[in |at |][what|which] place was [it|this|that|the {PICTURE}] [made|seen|drawn|taken|painted]?",
        f"[where|in what landscape] did [they|the painter|somebody] [make|take|paint|draw] [it|this|that|the {PICTURE}]?",
        "[what|which] [land|country side|landscape|kind of place] [is|lies|do you see] behind the [house|tree|tent|boat|balloon|kite|sun|moon|star]?",
        "what [is|lies|stands|do you see] behind the [house|tree|tent|boat|balloon|kite|sun|moon|star]?",
        "[is it|is that|are there] mountains, sea, desert, forest, city, meadow or lake?",
        "where [in the world |]could [this|it|that] be?",
        f"where was [this|the] {PICTURE} [taken|painted|made]?",
    ]
    where = LAND[scene.terrain]
    reply = rng.choice(
        [f"This is {where}.", f"{where}.", f"I see {where}."]
        if scene.terrain != "mountains"
        else ["These are mountains.", "Mountains.", "I see mountains."]
    )
    first, second = rng.sample([where, LAND[rng.choice([name for name in LAND if name != scene.terrain])]], 2)
    return answered(ask(rng, forms, held_out, land=first, other=second), reply, [LAND_WORD[scene.terrain]])


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
        "[I think|I believe|I guess|I say] [it|this] is {named}, [is that right|right|am I right|yes or no]?",
        "[do|can] you [see|recognize] {named}[ here| there| in it|]?",
        "[did they|did the painter] [paint|draw|show] {named}?",
        f"[is|was] [this|the] {PICTURE} [of|from|about|set in|made in] {{named}}?",
        "[would|could] [you|one|I|we] [call it|say it is|say that it is] {named}?",
        "{named}?",
        "[could|can|might] [this|it] be {named}?",
    ]
    user = ask(rng, forms, held_out, named=names[asked])
    return yes_no(user, asked == own, f"{'these are' if own == 'mountains' else 'it is'} {names[own]}")


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
            "[what|which] [colour|color] [do|would] you see [on|give] the {kind}?",
            "[where|in what place] [does|did] the {kind} [stand|hang|fly|appear]?",
            "[do you see|can you see|do you know] where the {kind} is?",
            "is the {kind} [red|blue|green|white|black|yellow|pink]?",
            "the {kind}: [where is it|what colour|what color]?",
            "[tell me|say] [where the {kind} is|what [colour|color] the {kind} has][.|]",
            "which side is the {kind} on?",
        ]
        reply = rng.choice([f"I see no {absent}.", f"There is no {absent}."])
        return answered(ask(rng, forms, held_out, kind=absent), reply, ["no"])
    forms = [
        f"who [painted|made|took] [this|the] {PICTURE}?",
        "in [which|what] country [is this|are we|is that]?",
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
    return answered(ask(rng, forms, held_out), reply, ["not know"])
