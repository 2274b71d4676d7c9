"""Answers in JSON: facts under a key of the user's choice, and records put into fields."""

import json
import random

import facts
import world as w
from exchange import Exchange
from phrases import expand, roughen, sentence

JSON_ASKS = [
    "[Answer|Reply|Respond|Please answer|Please reply] [in|with|using] JSON[ only|]",
    "[Give me|Give|Return|Send] [the answer as|it as|] JSON",
    "[as|in] JSON[ please|]",
    "[Output|Format|Use] JSON",
    "Your [answer|reply] [must|should] be [valid |]JSON",
    "I need JSON",
    "[JSON|json] [only|please|pls]",
    "[Answer|Reply|Respond] with a JSON object",
    "[Write|Put|Give] [the answer|your answer|it] [as|in] a JSON object",
    "[use|in] [the |]JSON format",
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
            joined = expand(
                rng, "[with the key|with key|using the key|, key:|. Key:|, use the key|with a key named|and the key]"
            )
            quoted = rng.choice([named, f'"{named}"'])
            ask_template += f"{joined} {quoted}" if joined[0] in ",." else f" {joined} {quoted}"
        elif style < 0.6:
            key = "answer"
            system = "Always answer in JSON." if rng.random() < 0.5 else "You answer only in JSON with the key answer."
        if system:
            user = question
        else:
            user = rng.choice(
                [
                    f"{question} {ask_template}.",
                    f"{question} {ask_template}.",
                    f"{ask_template}: {question}",
                    f"{ask_template}. {question}",
                    f"{ask_template}. Question: {question}",
                ]
            )
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
            [
                f"{text} {ask_template}.",
                f"{ask_template}: {text}",
                f"[turn|convert|put] this [into|to] JSON: {text}",
                f"[make|write|build] JSON [from|of] this: {text}",
            ]
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
                f"[make|write|build] JSON from this: {text} [keys|with keys|keys:] {listed}",
                f"[Return|Give me] JSON with the [key|keys] {listed}: {text}",
                f"JSON [please|pls] with [key|keys] {listed}. {text}",
                f"{text} {ask_template}, [keys|only the keys] {listed}.",
                f"{text} [I only want|Only give me] {listed} as JSON.",
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
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        key = (
            w.made_up(rng, 1, 2)
            if rng.random() < 0.5
            else rng.choice(["count", "size", "price", "code", "room", "country", "number"])
        )
        record[key] = w.made_up(rng) if rng.random() < 0.5 else rng.randint(1, 999)
    if len(record) > 2 and rng.random() < 0.2:
        del record["name"]
    return record


def _told(rng: random.Random, record: dict) -> str:
    forms = {
        "age": "is [{v}|{v} years old|aged {v}]", "city": "[lives in|is from|comes from] {v}", "color": "likes the [color|colour] {v}", "pet": "has a {v}",
        "hobby": "[enjoys|likes] {v}", "food": "[eats|likes to eat] {v}", "job": "is a {v}",
    }  # fmt: skip
    parts = [expand(rng, forms.get(key, key + " [is|=] {v}"), v=v) for key, v in record.items() if key != "name"]
    name = record.get("name")
    if name is None or rng.random() < 0.3:
        return ", ".join(f"{k}{rng.choice([': ', ': ', ' = ', ' is '])}{v}" for k, v in record.items()) + rng.choice(
            ["", "."]
        )
    if rng.random() < 0.3:
        who = (
            expand(
                rng,
                "[My [friend|brother|sister|teacher] is [called|named]|This is|Meet|There is a [man|woman|person] called] ",
            )
            + " "
            + name
        )
        he = rng.choice(["he", "she"])
        if rng.random() < 0.5:
            return f"{who} and {he} " + f" and {he} ".join(parts) + "."
        return f"{who}. " + " ".join(f"{sentence(he)} {part}." for part in parts)
    if rng.random() < 0.2:
        return (
            f"{name}, who {parts[0]}, " + " and ".join(parts[1:]) + "."
            if len(parts) > 1
            else f"{name}, who {parts[0]}."
        )
    if rng.random() < 0.5:
        return f"{name} " + " and ".join(parts) + "."
    return " ".join(f"{name} {part}." for part in parts)
