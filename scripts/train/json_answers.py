"""Answers in JSON: facts under a key of the user's choice, and records put into fields."""

import json
import random

import facts
import world as w
from exchange import Exchange
from phrases import expand, roughen

JSON_ASKS = [
    "[Answer|Reply|Respond|Please answer|Please reply] [in|with|using] JSON[ only|]",
    "[Give me|Give|Return|Send] [the answer as|it as|] JSON",
    "[as|in] JSON[ please|]",
    "[Output|Format|Use] JSON",
    "Your [answer|reply] [must|should] be [valid |]JSON",
    "I need JSON",
]


def in_json(rng: random.Random, held_out: bool) -> Exchange:
    ask_template = "make the reply a JSON object" if held_out else expand(rng, rng.choice(JSON_ASKS))
    if rng.random() < 0.55:
        question, _, key, answer = facts.ask(rng, False)
        system = ""
        style = rng.random()
        named = (
            w.made_up(rng, 1, 2)
            if rng.random() < 0.4
            else rng.choice(["answer", "result", "value", "reply", "output", key])
        )
        if style < 0.45:
            key = named
            ask_template += (
                expand(rng, "[ with the key| with key| using the key|, key:| with a key named] ")
                + " "
                + rng.choice([named, f'"{named}"'])
            )
        elif style < 0.6:
            key = "answer"
            system = "Always answer in JSON." if rng.random() < 0.5 else "You answer only in JSON with the key answer."
        if system:
            user = question
        else:
            user = f"{question} {ask_template}." if rng.random() < 0.75 else f"{ask_template}: {question}"
        return Exchange(
            roughen(rng, user, (named,)),
            json.dumps({key: answer}),
            "I answer in JSON.",
            [json.dumps({key: answer})],
            system=system,
        )
    record = _record(rng)
    keys = list(record)
    rng.shuffle(keys)
    chosen = keys[: rng.randint(1, len(keys))] if rng.random() < 0.5 else list(record)
    text = _told(rng, record)
    if chosen == list(record) and rng.random() < 0.6:
        user = rng.choice(
            [f"{text} {ask_template}.", f"{ask_template}: {text}", f"[turn|convert|put] this into JSON: {text}"]
        )
    else:
        listed = (
            ", ".join(chosen)
            if len(chosen) < 2 or rng.random() < 0.4
            else ", ".join(chosen[:-1]) + " and " + chosen[-1]
        )
        user = rng.choice(
            [
                f"{text} {ask_template} with the keys {listed}.",
                f"{text} Give me JSON with {listed}.",
                f"[extract|get] {listed} as JSON: {text}",
                f"JSON with keys {listed}: {text}",
            ]
        )
    answer = json.dumps({k: record[k] for k in chosen})
    return Exchange(
        roughen(rng, expand(rng, user), tuple(str(v) for v in [*record.values(), *record])),
        answer,
        "I put the text into JSON.",
        [answer],
    )


def _record(rng: random.Random) -> dict:
    record: dict = {"name": w.person(rng)}
    options = {
        "age": lambda: rng.randint(2, 95), "city": lambda: w.city(rng), "color": lambda: rng.choice(w.KINDS["colour"]),
        "pet": lambda: rng.choice(w.PET_KINDS), "hobby": lambda: rng.choice(w.HOBBIES), "food": lambda: rng.choice(w.FOODS), "job": lambda: rng.choice(list(w.JOBS)),
    }  # fmt: skip
    for key in rng.sample(list(options), rng.choice([1, 1, 2, 3])):
        record[key] = options[key]()
    if rng.random() < 0.3:
        record[w.made_up(rng, 1, 2)] = w.made_up(rng) if rng.random() < 0.5 else rng.randint(1, 999)
    return record


def _told(rng: random.Random, record: dict) -> str:
    forms = {
        "age": "is {v} [years old|]", "city": "[lives in|is from|comes from] {v}", "color": "likes the [color|colour] {v}", "pet": "has a {v}",
        "hobby": "[enjoys|likes] {v}", "food": "[eats|likes to eat] {v}", "job": "is a {v}",
    }  # fmt: skip
    parts = [expand(rng, forms.get(key, key + " [is|=] {v}"), v=v) for key, v in record.items() if key != "name"]
    name = record["name"]
    if rng.random() < 0.3:
        return ", ".join(f"{k}: {v}" for k, v in record.items()) + "."
    if rng.random() < 0.5:
        return f"{name} " + " and ".join(parts) + "."
    return " ".join(f"{name} {part}." for part in parts)
