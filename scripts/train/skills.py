"""One exchange of each skill: `Exchange` is what the user types, the reply and how to check it."""

import json
import random
from dataclasses import dataclass, field

import facts
import ignorance
import smalltalk
import stories
import world as w
from phrases import expand, roughen, sentence


@dataclass
class Exchange:
    user: str
    reply: str
    reasoning: str
    expect: list[str] = field(default_factory=list)
    any_of: bool = False
    """Whether one word of `expect` is enough."""
    system: str = ""


def small_talk(rng: random.Random, held_out: bool) -> Exchange:
    name = rng.choice(list(smalltalk.INTENTS))
    phrasings, replies, expect = smalltalk.INTENTS[name]
    slots = _small_slots(rng)
    user = phrasings[-1] if held_out else rng.choice(phrasings[:-1])
    template = rng.choice(replies).replace("{I}", rng.choice(["I am", "I'm"]))
    reply = expand(rng, template, **slots)
    wanted = [str(slots[e[1:-1]]) if e.startswith("{") else e for e in expect]
    return Exchange(roughen(rng, expand(rng, user, **slots) + ("" if user.endswith("?") else rng.choice(["", ".", "!"]))), sentence(reply), "This is small talk.", wanted, True)


def _small_slots(rng: random.Random) -> dict:
    kind = rng.choice([k for k in w.KINDS if k != "piece of clothing"])
    one, two, three = rng.sample(w.KINDS[kind], 3)
    pools = {"colour": w.KINDS["colour"], "animal": w.KINDS["animal"], "food": w.FOODS, "day": w.DAYS, "season": ["spring", "summer", "autumn"], "fruit": w.KINDS["fruit"], "city": list(w.CAPITALS.values()), "number": w.NUMBERS[1:11], "flower": w.KINDS["flower"]}
    topic = rng.choice(list(pools))
    n = rng.randint(3, 12)
    return {
        "kind": kind, "kinds": kind + "s", "one": w.with_article(one) if kind != "colour" else one, "two": two, "three": three, "One": sentence(w.with_article(one) if kind != "colour" else one),
        "topic": topic, "pick": rng.choice(pools[topic]), "thing": rng.choice(w.HOBBIES + w.FOODS), "world": rng.choice(smalltalk.WORLD),
        "n": rng.choice([str(n), w.NUMBERS[n]]), "numbers": ", ".join(map(str, range(1, n + 1))), "last": str(n),
    }  # fmt: skip


def fact(rng: random.Random, held_out: bool) -> Exchange:
    if rng.random() < 0.08:
        question, reply, word = facts.ask_whether(rng, held_out)
        return Exchange(roughen(rng, question), reply, "I check this fact.", [word])
    question, reply, _, answer = facts.ask(rng, held_out)
    return Exchange(roughen(rng, question), reply, "I know this fact.", [str(answer)])


def facts_in_a_row(rng: random.Random) -> list[Exchange]:
    return [Exchange(roughen(rng, question), reply, "I know this fact.", [answer]) for question, reply, answer in facts.ask_and_go_on(rng)]


def unknown(rng: random.Random, held_out: bool) -> Exchange:
    return Exchange(roughen(rng, ignorance.question(rng, held_out)), ignorance.answer(rng), "I do not know this.", ["not know"])


def story(rng: random.Random, held_out: bool) -> Exchange:
    user, reply, keep, expect = stories.exchange(rng, held_out)
    return Exchange(roughen(rng, user, keep), reply, "The user wants a story.", expect)


def _working(a: int, b: int, plus: bool) -> tuple[str, int]:
    """Digit by digit: units first, then tens with the carry or the borrow."""
    a1, a0, b1, b0 = a // 10, a % 10, b // 10, b % 10
    if plus:
        units = a0 + b0
        carry = units // 10
        return f"{a0} + {b0} = {units}, write {units % 10}, carry {carry}. {a1} + {b1} + {carry} = {a1 + b1 + carry}.", a + b
    borrow = int(a0 < b0)
    return f"{a0 + 10 * borrow} - {b0} = {a0 + 10 * borrow - b0}, borrow {borrow}. {a1} - {b1} - {borrow} = {a1 - b1 - borrow}.", a - b


def arithmetic(rng: random.Random, held_out: bool) -> Exchange:
    plus = rng.random() < 0.55
    a, b = (rng.randint(0, 99 if rng.random() < 0.85 else 12) for _ in range(2))
    if not plus and a < b:
        a, b = b, a
    working, result = _working(a, b, plus)
    if plus:
        forms = ["what is {a} [+|plus] {b}?", "{a} [+|plus] {b}", "{a}+{b}", "{a}+{b}=", "add {a} and {b}", "[calculate|compute|work out] {a} [+|plus] {b}", "how much is {a} [+|plus|and] {b}?", "what is the sum of {a} and {b}?", "{a} [+|plus] {b} = ?", "I have {a} [apples|books|coins] and get {b} more. how many do I have?", "can you add {b} to {a}?", "please sum up {a} and {b}"]
    else:
        forms = ["what is {a} [-|minus] {b}?", "{a} [-|minus] {b}", "{a}-{b}", "{a}-{b}=", "subtract {b} from {a}", "[calculate|compute|work out] {a} [-|minus] {b}", "how much is {a} [-|minus] {b}?", "what is {a} take away {b}?", "{a} [-|minus] {b} = ?", "I have {a} [apples|books|coins] and give away {b}. how many are left?", "what is left when you take {b} from {a}?"]
    if plus and rng.random() < 0.5 and "to {a}" in forms[-2]:
        forms.insert(0, forms.pop(-2))
    sign = "+" if plus else "-"
    reply = rng.choice([f"{a} {sign} {b} = {result}.", f"The answer is {result}.", f"{a} {sign} {b} is {result}.", f"It is {result}.", f"That makes {result}.", f"{result}.", f"I get {result}.", f"The result is {result}."])
    return Exchange(roughen(rng, expand(rng, forms[-1] if held_out else rng.choice(forms[:-1]), a=a, b=b)), reply, working, [str(result)])


def reading(rng: random.Random, held_out: bool) -> Exchange:
    """A question about something just told, or words to repeat: all copying."""
    kind = rng.randrange(7)
    names = [w.person(rng), w.person(rng)]
    if kind in (0, 1, 6):
        word = w.made_up(rng) if rng.random() < 0.7 else rng.choice(w.THINGS + w.PLACES + w.FOODS)
        words = " ".join([word, *[w.made_up(rng) if rng.random() < 0.5 else rng.choice(w.ADJECTIVES + w.THINGS + list(w.ANIMALS)) for _ in range(rng.choice([0, 0, 1, 1, 2, 3, 5, 8]))]])
        user = "repeat these words: {x}" if held_out else rng.choice(["repeat after me: {x}", "say {x}", "please say: {x}", "repeat: {x}", "can you say {x}?", "write {x}", "copy this: {x}", 'say "{x}"', "echo {x}", "type {x}"])
        return Exchange(roughen(rng, user.replace("{x}", words), (words,)), words, "I copy the words.", [words])
    if kind == 2:
        things = [w.made_up(rng) if rng.random() < 0.4 else rng.choice(w.THINGS) for _ in names]
        adjectives = rng.sample(w.ADJECTIVES[:10], 2)
        story_ = " ".join(f"{n} has {w.with_article(a)} {t}." for n, a, t in zip(names, adjectives, things))
        i = rng.randrange(2)
        ask, reply, answer = rng.choice([
            (f"what does {names[i]} have?", f"{names[i]} has {w.with_article(adjectives[i])} {things[i]}.", things[i]),
            (f"who has the {things[i]}?", f"{names[i]} has the {things[i]}.", names[i]),
            (f"what colour is the {things[i]} of {names[i]}?", f"It is {adjectives[i]}.", adjectives[i]),
        ])  # fmt: skip
        keep = " ".join(names + things)
    elif kind == 3:
        places = rng.sample(w.PLACES, 2) if rng.random() < 0.5 else [w.made_up(rng).capitalize() for _ in names]
        article = "" if places[0][0].isupper() else "the "
        story_ = " ".join(f"{n} {rng.choice(['is in', 'lives in', 'went to'])} {article}{p}." for n, p in zip(names, places))
        i = rng.randrange(2)
        ask, reply, answer = rng.choice([(f"where is {names[i]}?", f"{names[i]} is in {article}{places[i]}.", places[i]), (f"who is in {article}{places[i]}?", f"{names[i]} is in {article}{places[i]}.", names[i])])
        keep = " ".join(names + places)
    elif kind == 4:
        ages = rng.sample(range(3, 90), 2)
        story_ = f"{names[0]} is {ages[0]} years old. {names[1]} is {ages[1]} years old."
        i = rng.randrange(2)
        ask, reply, answer = f"how old is {names[i]}?", f"{names[i]} is {ages[i]} years old.", str(ages[i])
        keep = " ".join(names)
    else:
        likes = [rng.choice(w.HOBBIES + w.FOODS + [w.made_up(rng)]) for _ in names]
        story_ = f"{names[0]} likes {likes[0]} and {names[1]} likes {likes[1]}."
        i = rng.randrange(2)
        ask, reply, answer = rng.choice([(f"what does {names[i]} like?", f"{names[i]} likes {likes[i]}.", likes[i]), (f"who likes {likes[i]}?", f"{names[i]} likes {likes[i]}.", names[i])])
        keep = " ".join(names + likes)
    text = f"{ask} {story_}" if held_out else rng.choice([f"{story_} {ask}", f"{story_}\n{ask}", f"Read this: {story_} {ask}", f"Text: {story_}\nQuestion: {ask}"])
    return Exchange(roughen(rng, text, (keep,)), sentence(reply) if not reply.startswith(keep) else reply, "The answer is in the text.", [answer])


JSON_ASKS = ["[Answer|Reply|Respond|Please answer|Please reply] [in|with|using] JSON[ only|]", "[Give me|Give|Return|Send] [the answer as|it as|] JSON", "[as|in] JSON[ please|]", "[Output|Format|Use] JSON", "Your [answer|reply] [must|should] be [valid |]JSON", "I need JSON"]


def in_json(rng: random.Random, held_out: bool) -> Exchange:
    ask_template = "make the reply a JSON object" if held_out else expand(rng, rng.choice(JSON_ASKS))
    if rng.random() < 0.55:
        question, _, key, answer = facts.ask(rng, False)
        system = ""
        style = rng.random()
        named = w.made_up(rng, 1, 2) if rng.random() < 0.4 else rng.choice(["answer", "result", "value", "reply", "output", key])
        if style < 0.45:
            key = named
            ask_template += expand(rng, "[ with the key| with key| using the key|, key:| with a key named] ") + " " + rng.choice([named, f'"{named}"'])
        elif style < 0.6:
            key = "answer"
            system = "Always answer in JSON." if rng.random() < 0.5 else "You answer only in JSON with the key answer."
        if system:
            user = question
        else:
            user = f"{question} {ask_template}." if rng.random() < 0.75 else f"{ask_template}: {question}"
        return Exchange(roughen(rng, user, (named,)), json.dumps({key: answer}), "I answer in JSON.", [json.dumps({key: answer})], system=system)
    record = _record(rng)
    keys = list(record)
    rng.shuffle(keys)
    chosen = keys[: rng.randint(1, len(keys))] if rng.random() < 0.5 else list(record)
    text = _told(rng, record)
    if chosen == list(record) and rng.random() < 0.6:
        user = rng.choice([f"{text} {ask_template}.", f"{ask_template}: {text}", f"[turn|convert|put] this into JSON: {text}"])
    else:
        listed = ", ".join(chosen) if len(chosen) < 2 or rng.random() < 0.4 else ", ".join(chosen[:-1]) + " and " + chosen[-1]
        user = rng.choice([f"{text} {ask_template} with the keys {listed}.", f"{text} Give me JSON with {listed}.", f"[extract|get] {listed} as JSON: {text}", f"JSON with keys {listed}: {text}"])
    answer = json.dumps({k: record[k] for k in chosen})
    return Exchange(roughen(rng, expand(rng, user), tuple(str(v) for v in [*record.values(), *record])), answer, "I put the text into JSON.", [answer])


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
