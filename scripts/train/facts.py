"""The closed world as questions and answers.

Each kind of fact is a `Kind`: its pairs are slots for the templates, its last question is held
out for the evaluation.
"""

import random
from dataclasses import dataclass

import world as w
from phrases import expand, sentence

ASK = "[||any idea |do you happen to know |remind me, |I forgot, |I need to know |let me ask, |one question, |please, |ok, |now |and |can you tell me |tell me |do you know |please tell me |i want to know |hey, |so |what about this: |quick question: |question: |could you say ]"

AFTER = "[||||please|thanks|mini|, do you know|, can you say|again|, I forgot]"
YES_NO = {
    "capital": ["is {b} the capital of {x}?", "{x}'s capital is {b}, right?", "is the capital of {x} {b}?"], "colour": ["is {x} {b}?", "is it true that {x} is {b}?", "{x} is {b}, right?"],
    "opposite": ["is {b} the opposite of {x}?", "{b} is the opposite of {x}, right?", "is the opposite of {x} {b}?"], "continent": ["is {x} in {b}?", "{x} is in {b}, right?", "does {x} lie in {b}?"],
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    name: str
    key: str
    pairs: list[dict]
    questions: list[str]
    answers: list[str]
    weight: float = 1.0


def _kinds() -> list[Kind]:
    animals = w.ANIMALS.items()
    days, months = len(w.DAYS), len(w.MONTHS)
    colours = [{"x": x, "a": colour} for colour, things in w.COLOURS.items() for x in things.split(",")]
    opposites = [{"x": x, "a": a} for pair in w.OPPOSITES for x, a in (pair, pair[::-1])]
    mixes = [{"x": x, "y": y, "a": a} for (p, q), a in w.MIXES.items() for x, y in ((p, q), (q, p))]
    where = [{"x": x, "a": a} for a, countries in w.CONTINENTS.items() for x in countries]
    plain = ["{A}.", "It is {a}.", "The answer is {a}.", "{A}, I think.", "That is {a}."]
    return [
        Kind("capital", "capital", [{"x": x, "a": a} for x, a in w.CAPITALS.items()],
             ["what is the capital of {x}?", "what's the capital [city |]of {x}?", "[which|what] city is the capital of {x}?", "the capital of {x}?",
              "capital of {x}", "name the capital of {x}.", "{x} has which capital?", "{x} capital?", "what is {x}'s capital?", "what city is {x}'s capital?"],
             ["The capital of {x} is {a}.", "{a} is the capital of {x}.", "It is {a}.", "{a}.", "{x}'s capital is {a}.", "That is {a}.", "The answer is {a}.", "{a}, of course."], 3.0),
        Kind("country", "country", [{"x": a, "a": x} for x, a in w.CAPITALS.items()],
             ["{x} is the capital of which country?", "which country has {x} as its capital?", "what country is {x} the capital of?", "{x} is the capital of what?", "whose capital is {x}?", "where is {x}?", "in which country is {x}?"],
             ["{x} is the capital of {a}.", "{a}.", "That is {a}.", "{x} is in {a}.", "It is in {a}.", "{x} is a city in {a}.", "The answer is {a}.", "In {a}."], 1.5),
        Kind("continent", "continent", where,
             ["[which|what] continent is {x} [in|on]?", "where is {x}?", "on which continent is {x}?", "where in the world is {x}?", "{x} is in which continent?"],
             ["{x} is in {a}.", "It is in {a}.", "{a}.", "In {a}.", "{x} is part of {a}.", "{x} lies in {a}.", "That is in {a}.", "You find {x} in {a}."]),
        Kind("language", "language", [{"x": x, "a": a} for x, a in w.LANGUAGES.items()],
             ["[what|which] language do [people|they] speak in {x}?", "what is the language of {x}?", "which language is spoken in {x}?", "language of {x}?", "what do people speak in {x}?", "what language is spoken in {x}?"],
             ["People speak {a} in {x}.", "{a}.", "In {x} people speak {a}.", "It is {a}.", "They speak {a}.", "The language of {x} is {a}.", "Mostly {a}.", "That is {a}."]),
        Kind("colour", "color", colours,
             ["what [colour|color] is {x}?", "[which|what] [colour|color] does {x} have?", "[tell me|name] the [colour|color] of {x}.", "what is the [colour|color] of {x}?", "[colour|color] of {x}?", "{x} is what [colour|color]?", "{x} has what [colour|color]?"],
             ["{X} is {a}.", "It is {a}.", "{A}.", "{X} is usually {a}.", "That is {a}.", "{A}, of course.", "The answer is {a}.", "Mostly {a}."], 2.0),
        Kind("mix", "color", mixes,
             ["what do you get [when|if] you mix {x} and {y}?", "mix {x} and {y}.", "[which|what] [colour|color] do {x} and {y} make?", "{x} and {y} make what [colour|color]?", "what is {x} mixed with {y}?", "what [colour|color] comes from {x} and {y}?"],
             ["{X} and {y} make {a}.", "You get {a}.", "{A}.", "That makes {a}.", "Mix {x} and {y} and you get {a}.", "It is {a}.", "The mix is {a}.", "They make {a}."], 0.7),
        Kind("sound", "sound", [{"x": x, "a": f[0]} for x, f in animals if x not in ("ant", "spider", "fish", "kangaroo")],
             ["what sound does a {x} make?", "[what|which] noise does a {x} make?", "what does a {x} say?", "how does a {x} sound?", "what do you hear from a {x}?", "the sound of a {x}?", "which sound comes from a {x}?"],
             ["A {x} {a}.", "The {x} {a}.", "It {a}.", "A {x}? It {a}.", "Every {x} {a}.", "You know: a {x} {a}.", "I know this one: a {x} {a}.", "That animal {a}."], 1.2),
        Kind("young", "baby", [{"x": x, "a": f[1]} for x, f in animals if x not in ("bee", "snake", "ant", "spider", "turkey")],
             ["what is a baby {x} called?", "what do you call a baby {x}?", "[what|which] is the name of a young {x}?", "a baby {x} is called what?", "the young of a {x}?", "what's the word for a baby {x}?", "how do you call a young {x}?"],
             ["A baby {x} is called a {a}.", "It is called a {a}.", "A {a}.", "A young {x} is a {a}.", "That is a {a}.", "We say {a}.", "The word is {a}.", "It is a {a}."], 1.2),
        Kind("home", "home", [{"x": x, "a": f[2]} for x, f in animals],
             ["where does a {x} live?", "what is the home of a {x}?", "where do you find a {x}?", "where can I find a {x}?", "home of a {x}?", "where would a {x} live?"],
             ["A {x} lives in a {a}.", "In a {a}.", "You find a {x} in a {a}.", "It lives in a {a}.", "The home of a {x} is a {a}.", "Often in a {a}.", "Look in a {a}.", "Its home is a {a}."]),
        Kind("legs", "legs", [{"x": x, "a": f[3]} for x, f in animals],
             ["how many legs does a {x} have?", "how many legs has a {x}?", "number of legs of a {x}?", "count the legs of a {x}.", "a {x} has how many legs?", "how many legs are on a {x}?"],
             ["A {x} has {a} legs.", "It has {a} legs.", "{a}.", "{a} legs.", "The {x} has {a} legs.", "The answer is {a}.", "I count {a}.", "That is {a}."]),
        Kind("food", "food", [{"x": x, "a": f[4]} for x, f in animals],
             ["what does a {x} eat?", "what is the food of a {x}?", "what do I feed a {x}?", "what would a {x} eat?", "what food does a {x} like?"],
             ["A {x} eats {a}.", "It eats {a}.", "{A}.", "A {x} likes {a}.", "Mostly {a}.", "The {x} eats {a}.", "It likes {a}.", "Give it {a}."]),
        Kind("class", "class", [{"x": x, "a": f[5]} for x, f in animals],
             ["what kind of animal is a {x}?", "what type of animal is a {x}?", "a {x} is what kind of animal?", "which class of animal is a {x}?", "what sort of animal is a {x}?"],
             ["A {x} is a {a}.", "It is a {a}.", "The {x} is a {a}.", "A {a}.", "That is a {a}.", "A {x}? A {a}.", "It belongs to the {a} kind.", "Every {x} is a {a}."]),
        Kind("opposite", "opposite", opposites,
             ["what is the opposite of {x}?", "[tell me|give me|name] the opposite of {x}.", "opposite of {x}?", "what's the opposite of {x}?", "{x} is the opposite of what?", "which word is the opposite of {x}?", "the opposite of {x} is?", "what word means the opposite of {x}?"],
             ["The opposite of {x} is {a}.", "It is {a}.", "{A}.", "That is {a}.", "{A} is the opposite of {x}.", "The answer is {a}.", "The opposite is {a}.", "{x} and {a} are opposites."], 2.5),
        Kind("day after", "day", [{"x": d, "a": w.DAYS[(i + 1) % days]} for i, d in enumerate(w.DAYS)],
             ["what day comes after {x}?", "which day is after {x}?", "what comes after {x}?", "what is the day after {x}?", "if today is {x}, what [day |]is tomorrow?", "today is {x}. what day is tomorrow?", "next day after {x}?", "{x} is followed by which day?"],
             ["{a} comes after {x}.", "{a}.", "It is {a}.", "After {x} comes {a}.", "The day after {x} is {a}.", "The next day is {a}.", "That is {a}.", "It will be {a}."]),
        Kind("day before", "day", [{"x": d, "a": w.DAYS[i - 1]} for i, d in enumerate(w.DAYS)],
             ["what day comes before {x}?", "which day is before {x}?", "what comes before {x}?", "what is the day before {x}?", "if today is {x}, what [day |]was yesterday?", "today is {x}. what was yesterday?", "which day is just before {x}?"],
             ["{a} comes before {x}.", "{a}.", "It is {a}.", "Before {x} comes {a}.", "The day before {x} is {a}.", "The day before is {a}.", "That is {a}.", "It was {a}."]),
        Kind("month after", "month", [{"x": m, "a": w.MONTHS[(i + 1) % months]} for i, m in enumerate(w.MONTHS)],
             ["what month comes after {x}?", "which month is after {x}?", "what comes after {x}?", "what is the month after {x}?", "next month after {x}?", "{x} is followed by which month?"],
             ["{a} comes after {x}.", "{a}.", "It is {a}.", "After {x} comes {a}.", "The month after {x} is {a}.", "The next month is {a}.", "That is {a}.", "{a} follows {x}."]),
        Kind("month before", "month", [{"x": m, "a": w.MONTHS[i - 1]} for i, m in enumerate(w.MONTHS)],
             ["what month comes before {x}?", "which month is before {x}?", "what comes before {x}?", "what is the month before {x}?", "which month is just before {x}?"],
             ["{a} comes before {x}.", "{a}.", "It is {a}.", "Before {x} comes {a}.", "The month before {x} is {a}.", "The month before is {a}.", "That is {a}.", "{x} follows {a}."]),
        Kind("month length", "days", [{"x": m, "a": w.MONTH_DAYS[i]} for i, m in enumerate(w.MONTHS)],
             ["how many days does {x} have?", "how many days are [there |]in {x}?", "how long is {x}?", "number of days in {x}?", "how many days has {x}?"],
             ["{x} has {a} days.", "There are {a} days in {x}.", "{a}.", "{a} days.", "It has {a} days.", "The answer is {a}.", "{x} is {a} days long.", "That is {a} days."]),
        Kind("season", "season", [{"x": m, "a": w.SEASONS[i]} for i, m in enumerate(w.MONTHS)],
             ["[what|which] season is {x} in?", "is {x} in summer or winter or another season?", "which season has {x}?", "{x} is in which season?", "what season is it in {x}?"],
             ["{x} is in {a}.", "It is {a}.", "{A}.", "In {a}.", "{x} is a month of {a}.", "That is {a}.", "{x} belongs to {a}.", "The season is {a}."]),
        Kind("ordinal", "name", [{"o": w.ORDINALS[i], "x": x, "a": a} for x, row in (("month of the year", w.MONTHS), ("day of the week", w.DAYS), ("planet from the sun", w.PLANETS)) for i, a in enumerate(row)],
             ["[what|which] is the {o} {x}?", "name the {o} {x}.", "what's the {o} {x}?", "the {o} {x}?", "the {o} {x} is which one?"],
             ["The {o} {x} is {a}.", "It is {a}.", "{a}.", "{a} is the {o} {x}.", "That is {a}.", "The answer is {a}.", "That would be {a}.", "{a}, I think."]),
        Kind("count", "count", [{"x": x, "y": y, "a": a} for x, y, a in w.COUNTS],
             ["how many {x} are [there |]in {y}?", "how many {x} does {y} have?", "how many {x} has {y}?", "number of {x} in {y}?", "{y} has how many {x}?", "{x} in {y}: how many?"],
             ["There are {a} {x} in {y}.", "{a}.", "{Y} has {a} {x}.", "{a} {x}.", "The answer is {a}.", "It is {a}.", "That is {a}.", "{a}, if I count right."]),
        Kind("sides", "sides", [{"x": x, "a": a} for x, a in w.SHAPES.items()],
             ["how many sides does a {x} have?", "how many [corners|sides] has a {x}?", "a {x} has how many sides?", "number of sides of a {x}?", "how many sides are on a {x}?"],
             ["A {x} has {a} sides.", "{a}.", "It has {a} sides.", "{a} sides.", "The {x} has {a} sides.", "There are {a}.", "The answer is {a}.", "I count {a}."], 0.6),
        Kind("plural", "plural", [{"x": x, "a": a} for x, a in w.PLURALS.items()],
             ["what is the plural of {x}?", "plural of {x}?", "one {x}, two what?", "what's the plural [form |]of {x}?", "what is more than one {x} called?"],
             ["The plural of {x} is {a}.", "{A}.", "It is {a}.", "One {x}, two {a}.", *plain[2:]], 0.7),
        Kind("past", "past", [{"x": x, "a": a} for x, a in w.PASTS.items()],
             ["what is the past tense of {x}?", "past tense of {x}?", "what is the past of {x}?", "the past tense of the verb {x}?", "what's the past form of {x}?"],
             ["The past tense of {x} is {a}.", "{A}.", "It is {a}.", "Today I {x}, yesterday I {a}.", *plain[2:]], 0.7),
        Kind("rhyme", "rhyme", [{"x": x, "a": a} for p in w.RHYMES.items() for x, a in (p,)],
             ["what rhymes with {x}?", "a word that rhymes with {x}?", "tell me a rhyme for {x}.", "give me a word that rhymes with {x}.", "which word rhymes with {x}?"],
             ["{A} rhymes with {x}.", "{A}.", "{X} rhymes with {a}.", "How about {a}?", "Try {a}.", "{X} and {a} rhyme.", *plain[1:3]], 0.6),
        Kind("use", "use", [{"x": x, "a": a} for x, a in w.USES.items()],
             ["what is {x} for?", "[what|why] do people use {x} for?", "what do you do with {x}?", "what is the use of {x}?", "why do we need {x}?", "what do we use {x} for?"],
             ["It is for {a}.", "For {a}.", "People use it for {a}.", "You use {x} for {a}.", "{A}.", "{X}? For {a}.", "We use it for {a}.", "{X}: that is for {a}."], 0.8),
        Kind("job", "job", [{"x": x, "a": a} for x, a in w.JOBS.items()],
             ["what does a {x} do?", "what is the job of a {x}?", "what is a {x}?", "who is a {x}?", "tell me what a {x} does.", "what work does a {x} do?"],
             ["A {x} {a}.", "A {x} is a person who {a}.", "It is someone who {a}.", "The {x} {a}.", "A {x}? Someone who {a}.", "That person {a}.", "Every {x} {a}.", "A good {x} {a}."], 0.8),
        Kind("kind of thing", "kind", [{"x": w.with_article(x).split()[1], "an": w.with_article(x).split()[0], "a": w.with_article(a)} for a, xs in w.KINDS.items() if a != "colour" for x in xs],
             ["what is {an} {x}?", "what kind of thing is {an} {x}?", "[what|which] sort of thing is {an} {x}?", "tell me what {an} {x} is.", "what type of thing is {an} {x}?"],
             ["It is {a}.", "{An} {x} is {a}.", "{A}.", "That is {a}.", "{An} {x}? It is {a}.", "I know: {a}.", "The {x} is {a}.", "We call it {a}."], 0.8),
    ]  # fmt: skip


KINDS = _kinds()
_BY_NAME = {kind.name: kind for kind in KINDS}


def _named(slots: dict) -> dict:
    """The slots, and in upper-case names their values as they begin a sentence."""
    named = {**slots, **{name.upper(): sentence(str(slots[name])) for name in "xya" if name in slots}}
    return {**named, "An": sentence(slots["an"])} if "an" in slots else named


def _drawn(rng: random.Random) -> Kind:
    return rng.choices(KINDS, [k.weight for k in KINDS])[0]


def ask(rng: random.Random, held_out: bool) -> tuple[str, str, str, object]:
    """A question, its answer as a sentence, its key in JSON and the bare answer."""
    kind = _drawn(rng)
    slots = rng.choice(kind.pairs)
    question = expand(rng, kind.questions[-1] if held_out else rng.choice(kind.questions[:-1]), **slots)
    if rng.random() < 0.6:
        question = f"{expand(rng, ASK)} {question}".strip()
    after = expand(rng, AFTER)
    if after and not held_out and rng.random() < 0.4:
        question = question.rstrip("?.") + ("" if after[0] == "," else " ") + after + "?"
    return question, sentence(expand(rng, rng.choice(kind.answers), **_named(slots))), kind.key, slots["a"]


def ask_whether(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    """A question to be answered with yes or no, the answer and the word it must hold."""
    kind = _BY_NAME[rng.choice(["capital", "capital", "colour", "opposite", "continent"])]
    slots = dict(rng.choice(kind.pairs))
    said = slots["a"] if rng.random() < 0.5 else rng.choice(kind.pairs)["a"]
    question = expand(rng, YES_NO[kind.name][-1] if held_out else rng.choice(YES_NO[kind.name][:-1]), b=said, **slots)
    word = "Yes" if said == slots["a"] else "No"
    statement = expand(rng, kind.answers[0], **_named(slots))
    return (
        question,
        f"{word}, {statement[0].lower() if statement.startswith('The ') else statement[0]}{statement[1:]}",
        word,
    )


def ask_and_go_on(rng: random.Random) -> list[tuple[str, str, str]]:
    """A question and one or two that leave out what stays the same: "and of Spain?"."""
    kind = _BY_NAME[
        rng.choice(
            [
                "capital",
                "capital",
                "colour",
                "opposite",
                "sound",
                "legs",
                "young",
                "language",
                "continent",
                "home",
                "plural",
            ]
        )
    ]
    turns = []
    for i, slots in enumerate(rng.sample(kind.pairs, rng.choice([2, 2, 3]))):
        question = (
            rng.choice(kind.questions[:-1])
            if i == 0
            else "[and {x}|and of {x}|what about {x}|and for {x}|how about {x}|and what about {x}|{x}]?"
        )
        turns.append(
            (
                expand(rng, question, **slots),
                sentence(expand(rng, rng.choice(kind.answers), **_named(slots))),
                str(slots["a"]),
            )
        )
    return turns
