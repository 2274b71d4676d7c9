"""Short stories, told on request or continued from the user's beginning."""

import random

import world as w
from phrases import expand, sentence

HEROES = "cat dog mouse rabbit fox bear girl boy king queen robot dragon farmer bird frog owl wizard knight".split()
STARTS = [
    "Once upon a time there was a [little|brave|young|kind|clever] {hero} named {name}.",
    "{name} was a [little|brave|happy|small|shy] {hero} who lived in a {place}.",
    "There once was a {hero} called {name}.",
    "One [sunny|rainy|cold|quiet] morning, {name} the {hero} went to the {place}.",
    "Long ago, a {hero} named {name} lived near a {place}.",
    "One day a {hero} named {name} [found|saw|lost] a {adj} {thing}.",
]  # fmt: skip
MIDDLES = [
    "One day, {name} found a {adj} {thing} [in|near] the {place}.",
    "{name} went to the {place} and saw a {adj} {thing}.",
    "Every day {name} looked for a {adj} {thing}, but it was gone.",
    "On the way, {name} met a {friend} who had lost a {thing}.",
    "Suddenly, {name} heard a [noise|song|voice] from the {place}.",
]
TURNS = [
    'A {friend} came and said: "[Please help me|Will you be my friend|That is mine|Let us play]!"',
    "{name} was [afraid|surprised|very happy] and [called|ran to|asked] a {friend}.",
    "The {friend} [smiled|laughed|waved] and helped {name}.",
    "Together {name} and the {friend} walked [all day|through the night|to the {place}].",
]
ENDS = [
    "In the end, {name} and the {friend} [became friends|went home together|shared a cake].",
    "From that day on, {name} was never [alone|afraid|sad] again.",
    "{name} went home, happy and tired. The end.",
    "They all lived happily ever after.",
]
TELL = [
    "tell me a story",
    "tell a [short |little |]story",
    "can you tell me a story?",
    "I want a story",
    "story please",
    "a story please",
    "make up a story",
    "another story",
    "write a short story",
    "do you know a story?",
    "please read me a story",
]
ABOUT = [
    "tell me a story about a {hero} named {name}",
    "a story about {name} the {hero}",
    "tell a story about a {hero} called {name}",
    "write a story about a {hero} named {name}",
    "story about a {hero} named {name} please",
    "can you make a story with a {hero} whose name is {name}?",
]
CONTINUE = [
    "continue the story: {s}",
    "continue this story: {s}",
    "go on: {s}",
    "what happens next? {s}",
    "finish the story: {s}",
    "{s} Continue.",
    "{s}",
    "{s} What happens next?",
    "please write on: {s}",
]


def exchange(rng: random.Random, held_out: bool) -> tuple[str, str, tuple[str, ...], list[str]]:
    """The request, the reply, the words to keep and those the reply must hold."""
    hero, friend = rng.sample(HEROES, 2)
    slots = {
        "hero": hero,
        "friend": friend,
        "name": w.person(rng),
        "place": rng.choice(w.PLACES),
        "thing": rng.choice(w.THINGS),
        "adj": rng.choice(w.ADJECTIVES),
    }
    say = lambda options: sentence(expand(rng, rng.choice(options), fix_article=True, **slots))  # noqa: E731
    pick = lambda options: expand(rng, options[-1] if held_out else rng.choice(options[:-1]), fix_article=True, **slots)  # noqa: E731
    start = say(STARTS)
    rest = [say(MIDDLES), *([say(TURNS)] if rng.random() < 0.7 else []), say(ENDS)]
    kind = rng.random()
    if kind < 0.25:
        return pick(TELL), " ".join([start, *rest]), (), []
    if kind < 0.5:
        start = say(STARTS[:3])
        return pick(ABOUT), " ".join([start, *rest]), (slots["name"],), [slots["name"], hero]
    return pick(CONTINUE).replace("{s}", start), " ".join(rest), (slots["name"],), [slots["name"]]
