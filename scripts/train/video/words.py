"""Makes the tokenizer: T5's Unigram, in which every word of the captions is one token, and any other word its letters.

    python words.py state/tokenizer

Writes what T5Tokenizer saves, and words.txt, the words that clips were taught with. A first word may be capitalized and a caption
may end with a full stop.
"""

import random
import re
import string
import sys
from pathlib import Path

from telling import all_words
from transformers import T5Tokenizer

SPACE = "▁"
LENGTH = 512
WORD, LETTER = -5.0, -20.0
"""Scores: a word is always better than its letters."""


def make() -> T5Tokenizer:
    words = all_words()
    parts = [re.findall(r"[a-z]+", word) for word in words]
    first = sorted({found[0] for found in parts})
    tokens = [SPACE + word for word in first] + [SPACE + word.capitalize() for word in first]
    tokens += sorted({later for found in parts for later in found[1:]})
    letters = [c for c in [SPACE, *string.ascii_letters, *"-,.'"] if c not in tokens]
    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    vocabulary += [(token, WORD) for token in tokens] + [(letter, LETTER) for letter in letters]
    tokenizer = T5Tokenizer(vocab=vocabulary, extra_ids=0, model_max_length=LENGTH)
    for word in words:
        assert len(tokenizer.tokenize(word)) == 2 * len(re.findall("[a-z]+", word)) - 1, f"{word} is not one token"
    return tokenizer


def written(rng: random.Random, caption: str) -> str:
    """Now and then as a sentence is written."""
    caption = caption[0].upper() + caption[1:] if caption and rng.random() < 0.15 else caption
    return caption + "." if caption and rng.random() < 0.1 else caption


def main() -> None:
    folder = Path(sys.argv[1])
    tokenizer = make()
    tokenizer.save_pretrained(folder)
    (folder / "words.txt").write_text("\n".join(all_words()) + "\n")
    assert T5Tokenizer.from_pretrained(folder)("A red balloon rises over Xy.") == tokenizer(
        "A red balloon rises over Xy."
    )
    print(f"{len(tokenizer)} tokens, {tokenizer.tokenize('A red hot-air balloon rises over the sea, quickly.')}")


if __name__ == "__main__":
    main()
