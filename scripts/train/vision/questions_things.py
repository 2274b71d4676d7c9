"""Questions about the things in a scene."""

import random

from captions import NAMES, article
from phrasing import (
    COUNT,
    LAND,
    LAND_WORD,
    PICTURE,
    PLACE,
    PLACE_NAMES,
    TIME_PHRASE,
    WEATHER,
    answered,
    ask,
    named,
    seen,
    yes_no,
)
from scenes import COLOURS, KINDS, Scene

from exchange import Exchange


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
        "[what am I|what are we] [looking at|seeing][ here| there|]?",
        f"[what|which things] [have we|do we have|has it|have you] [got |][here|there|in the {PICTURE}]?",
        f"[could|would|will] you [describe|caption|explain|tell me about] [it|this|the {PICTURE}][ for me|]?",
        "[describe|caption|explain] [it|the scene|the view|everything|all][ for me| please| to me|][.|]",
        f"[I cannot see|I am blind, tell me about] [it|this|the {PICTURE}][. what is on it?| so describe it|]",
        f"[what is|what's] [on|in] [it|the {PICTURE}|this]?",
        "[your|a] description[ please|]?",
        "[what|whatever] did [the painter|they|somebody] [paint|draw|show] [here|there|in it]?",
        f"what can be seen in [this|the] {PICTURE}?",
    ]
    setting = f"{LAND[scene.terrain]} {TIME_PHRASE[scene.time]} in {scene.season}"
    weather = "" if scene.weather == "clear" else f" It is {WEATHER[scene.weather][0]}."
    shown = f"{seen(scene)}, before {setting}" if scene.things else f"{setting}, with nothing in front"
    start = "" if held_out or scene.things else rng.choice(["", "This is ", "I see ", "The picture shows ", "I see "])
    words = [LAND_WORD[scene.terrain], scene.time, scene.season, *(w for t in scene.things for w in (t.colour, t.kind))]
    return answered(ask(rng, forms, held_out), f"{start}{shown}.{weather}", words)


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
        "[which|what] [thing|object|stuff] [do you see|is there|is it][ there| here|]?",
        "any [things|objects|stuff][ here| there| in it|]?[ which ones?| what are they?|]",
        "[name|list] [everything|all][ you see| that is there| you can see| in it|][.|]",
        "what [has|did] [the painter|they|somebody] [put|place|paint] [in front of the landscape|there|in it]?",
        "[what|which] [are|were] the [things|objects][ here| there| in it|]?",
        "I see [something|things], [what is it|what are they|which]?",
        f"[which|what] [things|objects] can you find in [this|the] {PICTURE}?",
    ]
    expect = [t.kind for t in scene.things] or ["nothing"]
    return answered(ask(rng, forms, held_out), f"{seen(scene)}.", expect)


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
        "count [everything|them|all|it][ please| for me|][.|]",
        "[so |and |][how many|what number] is [that|it]?",
        "how many [things|objects] [would you count|have we|has it|stand there|can be found][ here| there| in all|]?",
        "[how many|the number][ please|]?",
        f"what is the number of [things|objects] in [this|the] {PICTURE}?",
    ]
    n = len(scene.things)
    what = "thing" if n == 1 else "things"
    reply = f"{seen(scene)}: {COUNT[n]} {what}."
    return answered(ask(rng, forms, held_out), reply, [COUNT[n], str(n)], True)


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
        "[what|which] [colour|color] [do|would|can] you [see|give|call] the {kind}?",
        "how is the {kind} [painted|coloured|colored]?",
        "[what|which] [colour|color] [did they|did the painter] [paint|give|make] the {kind}?",
        "the [colour|color] [of|that] the {kind}[ has|], [what is it|which|please]?",
        "[do you see|can you see] [what|which] [colour|color] the {kind} [is|has]?",
        "[and |]the {kind}?[ what|] [colour|color]?",
        "in [what|which] [colour|color] is the {kind} [painted|shown]?",
    ]
    kind = thing.kind if held_out else rng.choice(NAMES[thing.kind])
    reply = f"The {thing.kind} {PLACE[thing.place]} is {thing.colour}."
    first, second = rng.sample([thing.colour, rng.choice([c for c in COLOURS if c != thing.colour])], 2)
    return answered(ask(rng, forms, held_out, kind=kind, colour=first, other=second), reply, [thing.colour])


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
        "[where|in what place] [does|did] the {kind} [stand|hang|fly|appear]?",
        "[where|which part] [should|must|do] I look [for|to see] the {kind}?",
        "[do you see|can you see|do you know] where the {kind} is[ in it| there|]?",
        "[could|can] you [find|locate|point at] the {kind}[ for me|]? where[ is it|]?",
        "[locate|point at|position of] the {kind}[.|]",
        f"in which part of [this|the] {PICTURE} is the {{kind}}?",
        f"where in [this|the] {PICTURE} is the {{kind}}?",
    ]
    kind = thing.kind if held_out else rng.choice(NAMES[thing.kind])
    reply = f"The {named(thing)} is {PLACE[thing.place]}."
    word = {"left": "left", "centre": "middle", "right": "right"}[thing.place]
    return answered(ask(rng, forms, held_out, kind=kind), reply, [word])


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
        "[what|which thing] [can I find|do we have|stands|appears|is shown] {place}?",
        "[can|do] you see [anything|something] {place}?[ what is it?| what?|]",
        f"[look|if I look] {{place}}[ of the {PICTURE}|], what [is there|do you see|do I see]?",
        f"what [is|was] [painted|drawn] {{place}}[ of the {PICTURE}|]?",
        "anything {place}?",
        "what about {place}?",
        f"what can be seen {{place}} [of the {PICTURE}|]?",
    ]
    reply = f"{article(named(there[0]))}." if there else "There is nothing."
    side = PLACE[where] if held_out else rng.choice(PLACE_NAMES[where])
    return answered(ask(rng, forms, held_out, place=side), reply, [there[0].kind] if there else ["nothing"])


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
        "[any|some] {kind}s[ there| in it| here|]?",
        "[do|can] you see [any |]{kind}s[ there| in it| here|]?",
        "[do we have|have we|has it|have you got] {a}[ here| there|]?",
        f"[is|was] {{a}} [painted|drawn|shown|in it|part of it|part of the {PICTURE}]?",
        "[did they|did the painter] [paint|draw|put] {a}[ there| in it|]?",
        "[I think|I believe|I guess] there is {a}, [is that right|right|am I right|yes or no]?",
        f"does [this|the] {PICTURE} [show|have|contain] {{a}}?",
        f"[is|can] {{a}} [be seen|visible] in [this|the] {PICTURE}?".replace("[is|can]", "can").replace(
            "[be seen|visible]", "be seen"
        ),
    ]
    name = kind if held_out else rng.choice(NAMES[kind])
    return yes_no(ask(rng, forms, held_out, a=article(name), kind=name), is_so, seen(scene))


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
        "is [the|that] {kind} [really |]{colour}?",
        "[would|could|can|do] [you|I|one|we] call [the|this|that] {kind} {colour}?",
        "is there a {colour} {kind}[ in it| here| there|]?",
        "[has|is] the {kind} [got |][a |]{colour} [colour|color|paint]?",
        "[did they|did the painter] [paint|make|draw] the {kind} {colour}?",
        "[I think|I believe|I guess] the {kind} is {colour}, [is that right|right|am I right|yes or no]?",
        "is {colour} the [colour|color] of the {kind}?",
        "does the {kind} look {colour}?",
    ]
    user = ask(rng, forms, held_out, kind=thing.kind, colour=asked)
    return yes_no(user, is_so, f"the {thing.kind} {PLACE[thing.place]} is {thing.colour}")
