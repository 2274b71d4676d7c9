"""Questions about something just told, and words to repeat: all copying."""

import random

import world as w
from exchange import Exchange
from phrases import roughen, sentence

REPEAT = ["repeat after me: {x}", "say {x}", "please say: {x}", "repeat: {x}", "can you say {x}?", "write {x}",
          "copy this: {x}", 'say "{x}"', "echo {x}", "type {x}", "repeat these words: {x}"]  # fmt: skip
Told = tuple[str, list[tuple[str, str, str]], list[str]]
"""The text, possible (question, reply, word it must hold), and the words that copying must keep."""


def reading(rng: random.Random, held_out: bool) -> Exchange:
    if rng.random() < 0.42:
        return _repeat(rng, held_out)
    text, questions, keep = rng.choice([_possessions, _places, _ages, _likes])(rng)
    ask, reply, answer = rng.choice(questions)
    layouts = [f"{text} {ask}", f"{text}\n{ask}", f"Read this: {text} {ask}", f"Text: {text}\nQuestion: {ask}"]
    user = f"{ask} {text}" if held_out else rng.choice(layouts)
    return Exchange(roughen(rng, user, tuple(keep)), sentence(reply), "The answer is in the text.", [answer])


def _repeat(rng: random.Random, held_out: bool) -> Exchange:
    real = w.ADJECTIVES + w.THINGS + w.PLACES + w.FOODS + list(w.ANIMALS)
    count = 1 + rng.choice([0, 0, 1, 1, 2, 3, 5, 8])
    words = " ".join(w.made_up(rng) if rng.random() < 0.55 else rng.choice(real) for _ in range(count))
    user = (REPEAT[-1] if held_out else rng.choice(REPEAT[:-1])).replace("{x}", words)
    return Exchange(roughen(rng, user, (words,)), words, "I copy the words.", [words])


def _people(rng: random.Random) -> list[str]:
    return [w.person(rng), w.person(rng)]


def _possessions(rng: random.Random) -> Told:
    names, colours = _people(rng), rng.sample(w.ADJECTIVES[:10], 2)
    things = [w.made_up(rng) if rng.random() < 0.4 else rng.choice(w.THINGS) for _ in names]
    text = " ".join(f"{n} has {w.with_article(c)} {t}." for n, c, t in zip(names, colours, things))
    n, c, t = rng.choice(list(zip(names, colours, things)))
    questions = [
        (f"what does {n} have?", f"{n} has {w.with_article(c)} {t}.", t),
        (f"who has the {t}?", f"{n} has the {t}.", n),
        (f"what colour is the {t} of {n}?", f"It is {c}.", c),
    ]
    return text, questions, names + things


def _places(rng: random.Random) -> Told:
    names, real = _people(rng), rng.random() < 0.5
    places = ["the " + p for p in rng.sample(w.PLACES, 2)] if real else [w.made_up(rng).capitalize() for _ in names]
    text = " ".join(f"{n} {rng.choice(['is in', 'lives in', 'went to'])} {p}." for n, p in zip(names, places))
    n, p = rng.choice(list(zip(names, places)))
    place = p.removeprefix("the ")
    return (
        text,
        [(f"where is {n}?", f"{n} is in {p}.", place), (f"who is in {p}?", f"{n} is in {p}.", n)],
        names + places,
    )


def _ages(rng: random.Random) -> Told:
    names, ages = _people(rng), rng.sample(range(3, 90), 2)
    text = " ".join(f"{n} is {a} years old." for n, a in zip(names, ages))
    n, a = rng.choice(list(zip(names, ages)))
    return text, [(f"how old is {n}?", f"{n} is {a} years old.", str(a))], names


def _likes(rng: random.Random) -> Told:
    names = _people(rng)
    likes = [rng.choice([*w.HOBBIES, *w.FOODS, w.made_up(rng)]) for _ in names]
    n, x = rng.choice(list(zip(names, likes)))
    questions = [(f"what does {n} like?", f"{n} likes {x}.", x), (f"who likes {x}?", f"{n} likes {x}.", n)]
    return f"{names[0]} likes {likes[0]} and {names[1]} likes {likes[1]}.", questions, names + likes
