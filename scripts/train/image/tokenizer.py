"""Makes the tokenizer: CLIP's byte-level BPE, with merges enough that every word of the captions is one token.

    python tokenizer.py tokenizer/

Writes vocab.json, merges.txt, tokenizer.json and words.txt, the words that pictures were taught with.
"""

import json
import re
import sys
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import CLIPTokenizer

from captions import all_words

LENGTH = 77
START, END = "<|startoftext|>", "<|endoftext|>"
SUFFIX = "</w>"


def letters() -> list[str]:
    return sorted(pre_tokenizers.ByteLevel.alphabet())


def merges_of(words: list[str]) -> list[tuple[str, str]]:
    """Returns merges that join the letters of each word; a merge comes after the shorter merges that it uses."""
    bpe = Tokenizer(models.BPE(end_of_word_suffix=SUFFIX))
    trainer = trainers.BpeTrainer(vocab_size=8000, min_frequency=1, end_of_word_suffix=SUFFIX, show_progress=False)
    bpe.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    bpe.train_from_iterator(words, trainer)
    state = json.loads(bpe.to_str())
    return [tuple(pair) for pair in state["model"]["merges"]]


def make() -> CLIPTokenizer:
    parts = sorted({part for word in all_words() for part in re.findall(r"[a-z]+", word)})
    merges = merges_of(parts)
    tokens = letters() + [letter + SUFFIX for letter in letters()]
    tokens += [a + b for a, b in merges if a + b not in tokens] + [START, END]
    tokens = list(dict.fromkeys(tokens))
    tokenizer = CLIPTokenizer({token: i for i, token in enumerate(tokens)}, merges, model_max_length=LENGTH)
    for part in parts:
        assert tokenizer.tokenize(part) == [part + SUFFIX], f"{part} is not one token"
    return tokenizer


def write_vocabulary(tokenizer: CLIPTokenizer, folder: Path) -> None:
    """Writes vocab.json and merges.txt beside tokenizer.json, for programs that read only one of the two forms."""
    model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"], ensure_ascii=False) + "\n")
    lines = [" ".join(pair) for pair in model["merges"]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *lines]) + "\n")


def main() -> None:
    folder = Path(sys.argv[1])
    tokenizer = make()
    tokenizer.save_pretrained(folder)
    write_vocabulary(tokenizer, folder)
    (folder / "words.txt").write_text("\n".join(all_words()) + "\n")
    print(f"{len(tokenizer)} tokens")


if __name__ == "__main__":
    main()
