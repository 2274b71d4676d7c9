"""The notation of all templates, and the mistakes that people make when they type.

`[a|b|c]` is one of the alternatives, possibly empty and possibly nested; `{name}` is a slot.
"""

import random
import re

_INNERMOST = re.compile(r"\[([^\[\]]*)\]")


def expand(rng: random.Random, template: str, fix_article: bool = False, **slots: object) -> str:
    """Choose every alternative, then fill the slots; `fix_article` turns "a owl" into "an owl"."""
    while True:
        match = _INNERMOST.search(template)
        if match is None:
            break
        template = template[: match.start()] + rng.choice(match[1].split("|")) + template[match.end() :]
    text = re.sub(r" +", " ", template).strip()
    for name, value in slots.items():
        text = text.replace("{" + name + "}", str(value))
    return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text) if fix_article else text


def sentence(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def _typo(rng: random.Random, word: str) -> str:
    place = rng.randrange(1, len(word) - 1)
    kind = rng.randrange(4)
    if kind == 0:
        return word[:place] + word[place + 1 :]
    if kind == 1:
        return word[:place] + word[place] + word[place:]
    if kind == 2:
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return word[:place] + rng.choice("abcdefghijklmnoprstuvw") + word[place + 1 :]


def roughen(rng: random.Random, text: str, keep: tuple[str, ...] = ()) -> str:
    """Type the text as people do: some in lower case, without punctuation, with a slip.

    Words in `keep` are spelt right and in their own case: the reply copies them.
    """
    style = rng.random()
    if style < 0.4:
        return sentence(text)
    kept = {word for phrase in keep for word in re.findall(r"\w+", phrase)}
    words = text.split(" ")
    if style < 0.9:
        words = [w if re.sub(r"\W", "", w) in kept else w.lower() for w in words]
    elif style < 0.93:
        words = [w if re.sub(r"\W", "", w) in kept else w.upper() for w in words]
    long = [i for i, w in enumerate(words) if len(w) > 3 and w.isalpha() and w not in kept]
    if long and rng.random() < 0.3:
        for i in rng.sample(long, min(len(long), rng.choice([1, 1, 2]))):
            words[i] = _typo(rng, words[i])
    text = " ".join(words)
    if rng.random() < 0.6:
        text = re.sub(r"[?!.,]+(?= |$)", "", text)
    elif rng.random() < 0.2:
        text += rng.choice(["!", "??", "!!", " ?", "..", " :)"])
    return text.replace("'", "") if rng.random() < 0.3 else text
