"""Questions about something just told, and words to repeat: all copying."""

import random
from collections.abc import Callable

import world as w
from exchange import Exchange
from phrases import expand, roughen, sentence

REPEAT = ["repeat after me: {x}", "say {x}", "please say: {x}", "repeat: {x}", "can you say {x}?", "write {x}",
          "copy this: {x}", 'say "{x}"', "echo {x}", "repeat these words: {x}", "[please |]say the [word|words] {x}",
          "[please |][write|repeat|copy] the [word|words] {x}", "[just|only] say {x}", "[answer|reply] with [the words |]{x}",
          '[please |]repeat "{x}"', "say this: {x}", "your [answer|reply] must be: {x}", "say {x} for me", "type {x}"]  # fmt: skip
Question = tuple[str, str, str]
"""The question, the reply, and the word that it must hold."""
Told = tuple[list[str], list[list[Question]]]
"""Statements, and for each the questions that it answers."""


def reading(rng: random.Random, held_out: bool) -> Exchange:
    if rng.random() < 0.4:
        return _repeat(rng, held_out)
    told, asked = rng.choice(TEXTS)(rng, rng.choice([1, 2, 2, 2, 3]))
    about = rng.randrange(len(told))
    ask, reply, answer = rng.choice(asked[about])
    text = _joined(rng, told)
    if rng.random() < 0.2:
        text, ask, reply, answer = (part.lower() for part in (text, ask, reply, answer))
    layouts = [
        f"{text} {ask}",
        f"{text} {ask}",
        f"{text}\n{ask}",
        f"{text}\n\n{ask}",
        f"Read this: {text} {ask}",
        f"Text: {text}\nQuestion: {ask}",
        f"Here is a text: {text} {ask}",
        f"{text} Now tell me: {ask}",
        f"{text} So {ask}",
    ]
    user = f"{ask} {text}" if held_out else rng.choice(layouts)
    return Exchange(roughen(rng, user, (text,)), sentence(reply), "The answer is in the text.", [answer])


def _joined(rng: random.Random, told: list[str]) -> str:
    """The statements as sentences, or in one sentence."""
    if rng.random() < 0.5:
        return " ".join(sentence(one) + "." for one in told)
    if len(told) == 3:
        return f"{told[0]}, {told[1]} and {told[2]}."
    return rng.choice([" and ", " and ", ", ", ", and ", " but "]).join(told) + "."


def _repeat(rng: random.Random, held_out: bool) -> Exchange:
    real = (
        w.ADJECTIVES
        + w.THINGS
        + w.PLACES
        + w.FOODS
        + w.HOBBIES
        + list(w.PLURALS.values())
        + list(w.PASTS.values())
        + list(w.ANIMALS)
    )
    count = 1 + rng.choice([0, 0, 0, 1, 1, 2, 2, 3, 5, 8])
    made_up = rng.choice([0, 0.5, 1])
    words = " ".join(w.made_up(rng) if rng.random() < made_up else rng.choice(real) for _ in range(count))
    user = expand(rng, REPEAT[-1] if held_out else rng.choice(REPEAT[:-1])).replace("{x}", words)
    return Exchange(roughen(rng, user, (words,)), words, "I copy the words.", [words])


def _people(rng: random.Random, count: int) -> list[str]:
    names: list[str] = []
    while len(names) < count:
        name = w.person(rng)
        if name not in names:
            names.append(name)
    return names


def _objects(rng: random.Random, count: int) -> list[str]:
    return [w.made_up(rng) if rng.random() < 0.35 else thing for thing in rng.sample(w.THINGS, count)]


def _possessions(rng: random.Random, count: int) -> Told:
    told, asked = [], []
    for n, c, t in zip(_people(rng, count), rng.sample(w.ADJECTIVES[:10], count), _objects(rng, count)):
        told.append(f"{n} [has|owns|bought|found] {w.with_article(c)} {t}")
        asked.append([
            (f"what does {n} have?", f"{n} has {w.with_article(c)} {t}.", t),
            (f"who has the {t}?", f"{n} has the {t}.", n),
            (f"[whose|who has the] {t}?", f"{n} has the {t}.", n),
            (f"[what|which] colour is the {t} of {n}?", f"It is {c}.", c),
            (f"what colour is the {t}?", f"The {t} is {c}.", c),
        ])  # fmt: skip
    return _spoken(rng, told, asked)


def _places(rng: random.Random, count: int) -> Told:
    real, told, asked = rng.random() < 0.5, [], []
    places = ["the " + p for p in rng.sample(w.PLACES, count)] if real else [w.city(rng) for _ in range(count)]
    verb = rng.choice(["is in", "lives in", "went to", "works in", "comes from"])
    for n, p in zip(_people(rng, count), places):
        told.append(f"{n} {verb} {p}")
        one = verb.split()[0].removesuffix("s")
        where = {"is in": f"where is {n}?", "went to": f"where did {n} go?"}.get(
            verb, f"where does {n} {one}[ from|]?" if one == "come" else f"where does {n} {one}?"
        )
        asked.append([
            (where, f"{n} {verb} {p}.", p.removeprefix("the ")),
            (where, f"{sentence(p)}.", p.removeprefix("the ")),
            (f"who {verb} {p}?", f"{n} {verb} {p}.", n),
        ])  # fmt: skip
    return _spoken(rng, told, asked)


def _holders(rng: random.Random, count: int) -> Told:
    """Where things lie: in other things or in places, some of them with a colour."""
    told, asked = [], []
    relation = rng.choice(["in", "in", "on", "under", "behind", "next to"])
    things = _objects(rng, 2 * count)
    for thing, holder in zip(things[:count], things[count:]):
        colour = rng.choice(["", "", rng.choice(w.ADJECTIVES[:10]) + " "])
        holder = rng.choice([holder, holder, rng.choice(w.PLACES)])
        told.append(f"the {thing} is {relation} the {colour}{holder}")
        asked.append([
            (f"where is the {thing}?", f"The {thing} is {relation} the {colour}{holder}.", holder),
            (f"where [can I find|did I put] the {thing}?", f"It is {relation} the {colour}{holder}.", holder),
            (f"what is {relation} the {colour}{holder}?", f"The {thing} is {relation} the {colour}{holder}.", thing),
        ])  # fmt: skip
    return _spoken(rng, told, asked)


def _ages(rng: random.Random, count: int) -> Told:
    told, asked = [], []
    for n, age in zip(_people(rng, count), rng.sample(range(3, 90), count)):
        told.append(f"{n} is {age}[ years old|]")
        asked.append([
            (f"how old is {n}?", f"{n} is {age} years old.", str(age)),
            (f"[what is the age of {n}|what age is {n}]?", f"{n} is {age}.", str(age)),
            (f"who is {age}[ years old|]?", f"{n} is {age} years old.", n),
        ])  # fmt: skip
    return _spoken(rng, told, asked)


def _likes(rng: random.Random, count: int) -> Told:
    told, asked, verb = [], [], rng.choice(["like", "like", "love", "want", "need", "hate"])
    for n in _people(rng, count):
        x = rng.choice([rng.choice(w.HOBBIES), rng.choice(w.FOODS), w.made_up(rng)])
        told.append(f"{n} {verb}s {x}")
        asked.append([
            (f"what does {n} {verb}?", f"{n} {verb}s {x}.", x),
            (f"who {verb}s {x}?", f"{n} {verb}s {x}.", n),
        ])  # fmt: skip
    return _spoken(rng, told, asked)


def _gifts(rng: random.Random, count: int) -> Told:
    told, asked = [], []
    givers, takers = _people(rng, count), _people(rng, count)
    for n, m, t in zip(givers, takers, _objects(rng, count)):
        told.append(f"{n} gave {m} {w.with_article(t)}")
        asked.append([
            (f"what did {n} give[ to {m}|]?", f"{n} gave {m} {w.with_article(t)}.", t),
            (f"who gave {m} {w.with_article(t)}?", f"{n} gave {m} {w.with_article(t)}.", n),
            (f"who got {w.with_article(t)}?", f"{m} got {w.with_article(t)}.", m),
        ])  # fmt: skip
    return _spoken(rng, told, asked)


def _jobs(rng: random.Random, count: int) -> Told:
    told, asked = [], []
    for n, job in zip(_people(rng, count), rng.sample(list(w.JOBS), count)):
        told.append(f"{n} is a {job}")
        asked.append([
            (f"what is {n}?", f"{n} is a {job}.", job),
            (f"what is the job of {n}?", f"{n} is a {job}.", job),
            (f"who is [the|a] {job}?", f"{n} is [the|a] {job}.", n),
        ])  # fmt: skip
    return _spoken(rng, told, asked)


def _spoken(rng: random.Random, told: list[str], asked: list[list[Question]]) -> Told:
    """With every alternative chosen."""
    return (
        [expand(rng, one) for one in told],
        [[(expand(rng, ask), expand(rng, reply), answer) for ask, reply, answer in some] for some in asked],
    )


TEXTS: list[Callable[[random.Random, int], Told]] = [
    _possessions, _possessions, _places, _places, _holders, _holders, _ages, _likes, _likes, _gifts, _jobs,
]  # fmt: skip
