"""One exchange each of small talk, facts, ignorance, stories and sums."""

import random

import facts
import ignorance
import smalltalk
import stories
import world as w
from exchange import Exchange
from phrases import expand, roughen, sentence


def small_talk(rng: random.Random, held_out: bool) -> Exchange:
    name = rng.choice(list(smalltalk.INTENTS))
    phrasings, replies, expect = smalltalk.INTENTS[name]
    slots = _small_slots(rng)
    user = phrasings[-1] if held_out else rng.choice(phrasings[:-1])
    template = rng.choice(replies).replace("{I}", rng.choice(["I am", "I'm"]))
    reply = expand(rng, template, **slots)
    wanted = [str(slots[e[1:-1]]) if e.startswith("{") else e for e in expect]
    return Exchange(
        roughen(rng, expand(rng, user, **slots) + ("" if user.endswith("?") else rng.choice(["", ".", "!"]))),
        sentence(reply),
        "This is small talk.",
        wanted,
        True,
    )


def _small_slots(rng: random.Random) -> dict:
    kind = rng.choice([k for k in w.KINDS if k != "piece of clothing"])
    one, two, three = rng.sample(w.KINDS[kind], 3)
    pools = {
        "colour": w.KINDS["colour"],
        "animal": w.KINDS["animal"],
        "food": w.FOODS,
        "day": w.DAYS,
        "season": ["spring", "summer", "autumn"],
        "fruit": w.KINDS["fruit"],
        "city": list(w.CAPITALS.values()),
        "number": w.NUMBERS[1:11],
        "flower": w.KINDS["flower"],
    }
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
    return [
        Exchange(roughen(rng, question), reply, "I know this fact.", [answer])
        for question, reply, answer in facts.ask_and_go_on(rng)
    ]


def unknown(rng: random.Random, held_out: bool) -> Exchange:
    return Exchange(
        roughen(rng, ignorance.question(rng, held_out)), ignorance.answer(rng), "I do not know this.", ["not know"]
    )


def story(rng: random.Random, held_out: bool) -> Exchange:
    user, reply, keep, expect = stories.exchange(rng, held_out)
    return Exchange(roughen(rng, user, keep), reply, "The user wants a story.", expect)


def _working(a: int, b: int, plus: bool) -> tuple[str, int]:
    """Digit by digit: units first, then tens with the carry or the borrow."""
    a1, a0, b1, b0 = a // 10, a % 10, b // 10, b % 10
    if plus:
        units = a0 + b0
        carry = units // 10
        return (
            f"{a0} + {b0} = {units}, write {units % 10}, carry {carry}. {a1} + {b1} + {carry} = {a1 + b1 + carry}.",
            a + b,
        )
    borrow = int(a0 < b0)
    return (
        f"{a0 + 10 * borrow} - {b0} = {a0 + 10 * borrow - b0}, borrow {borrow}. {a1} - {b1} - {borrow} = {a1 - b1 - borrow}.",
        a - b,
    )


def arithmetic(rng: random.Random, held_out: bool) -> Exchange:
    plus = rng.random() < 0.55
    a, b = (rng.randint(0, 99 if rng.random() < 0.85 else 12) for _ in range(2))
    if not plus and a < b:
        a, b = b, a
    working, result = _working(a, b, plus)
    if plus:
        forms = [
            "what is {a} [+|plus] {b}?",
            "{a} [+|plus] {b}",
            "{a}+{b}",
            "{a}+{b}=",
            "add {a} and {b}",
            "[calculate|compute|work out] {a} [+|plus] {b}",
            "how much is {a} [+|plus|and] {b}?",
            "what is the sum of {a} and {b}?",
            "{a} [+|plus] {b} = ?",
            "I have {a} [apples|books|coins] and get {b} more. how many do I have?",
            "can you add {b} to {a}?",
            "please sum up {a} and {b}",
        ]
    else:
        forms = [
            "what is {a} [-|minus] {b}?",
            "{a} [-|minus] {b}",
            "{a}-{b}",
            "{a}-{b}=",
            "subtract {b} from {a}",
            "[calculate|compute|work out] {a} [-|minus] {b}",
            "how much is {a} [-|minus] {b}?",
            "what is {a} take away {b}?",
            "{a} [-|minus] {b} = ?",
            "I have {a} [apples|books|coins] and give away {b}. how many are left?",
            "what is left when you take {b} from {a}?",
        ]
    sign = "+" if plus else "-"
    reply = rng.choice(
        [
            f"{a} {sign} {b} = {result}.",
            f"The answer is {result}.",
            f"{a} {sign} {b} is {result}.",
            f"It is {result}.",
            f"That makes {result}.",
            f"{result}.",
            f"I get {result}.",
            f"The result is {result}.",
        ]
    )
    return Exchange(
        roughen(rng, expand(rng, forms[-1] if held_out else rng.choice(forms[:-1]), a=a, b=b)),
        reply,
        working,
        [str(result)],
    )
