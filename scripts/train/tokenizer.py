"""Trains the byte-level BPE and writes tokenizer.json, tokenizer_config.json and the template.

Merges come in two ranks: first those within words, then ` word` from space and word for the
commonest words. A rare word is thereby cut the same way with a space before it and without
(` Zorvel` is a space and the pieces of `Zorvel`), which is what copying names between a
sentence and JSON needs. A digit is always one token.

    python tokenizer.py ../../models/svc-chat-mini
    python tokenizer.py --extend ../../models/svc-chat-mini

The second form keeps every token and its id, and adds the special ones that are missing behind them, so that trained weights stay of use.
"""

import argparse
import collections
import json
import random
from pathlib import Path

import regex
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import dialogues
from template import segments

VOCABULARY = 2048
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>", "<video>"]
MARKS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
SPACED_SHARE = 0.36
"""The share of all merges that put a space before a word."""

SPLIT = r" ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
WITHIN = r"\p{L}+|\p{N}|[^\s\p{L}\p{N}]+|\s"


def _pre_tokenizer(pattern: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _trained(corpus: list[str], size: int) -> dict:
    """A BPE whose merges never cross a space, as tokenizer.json's `model`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = _pre_tokenizer(WITHIN)
    tokenizer.train_from_iterator(
        corpus,
        trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
        ),
    )
    return json.loads(tokenizer.to_str())["model"]


def train(corpus: list[str]) -> Tokenizer:
    merges = VOCABULARY - 256 - len(SPECIAL) - len(MARKS)
    model = _trained(corpus, 256 + int(merges * (1 - SPACED_SHARE)))
    spaced = collections.Counter(
        piece[1:] for text in corpus for piece in regex.findall(SPLIT, text) if piece[0] == " " and len(piece) > 1
    )
    vocabulary, pairs = model["vocab"], [tuple(pair) for pair in model["merges"]]
    room = merges + 256 - len(vocabulary)
    for word, _ in spaced.most_common():
        if room and word in vocabulary and "Ġ" + word not in vocabulary:
            vocabulary["Ġ" + word] = len(vocabulary)
            pairs.append(("Ġ", word))
            room -= 1
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = _pre_tokenizer(SPLIT)
    tokenizer.decoder = decoders.ByteLevel()
    return extended(tokenizer)


def extended(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer with those of SPECIAL and MARKS that it lacks, behind its own tokens."""
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in SPECIAL])
    tokenizer.add_tokens([AddedToken(t, normalized=False, special=False) for t in MARKS])
    return tokenizer


def save(tokenizer: Tokenizer, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    added = {
        str(tokenizer.token_to_id(t)): {
            "content": t,
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": t in SPECIAL,
        }
        for t in sorted(SPECIAL + MARKS, key=tokenizer.token_to_id)
    }
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "added_tokens_decoder": added,
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "unk_token": None,
        "model_max_length": 4096,
        "clean_up_tokenization_spaces": False,
        "chat_template": (Path(__file__).parent / "chat_template.jinja").read_text().rstrip("\n"),
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


def check(folder: Path) -> None:
    """`template.py` and the template say the same of every kind of conversation."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    rng = random.Random(7)
    for skill in dialogues.SKILLS * 20:
        made = dialogues.conversation(rng, skill)
        system = [{"role": "system", "content": made["system"]}] if made["system"] else []
        by_template = tokenizer.apply_chat_template(
            system + made["messages"], tools=made["tools"] or None, tokenize=False
        )
        by_render = "".join(text for text, _ in segments(made))
        assert by_template == by_render, f"{by_template!r}\n{by_render!r}"
        assert tokenizer.decode(tokenizer(by_render)["input_ids"], clean_up_tokenization_spaces=False) == by_render


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="folder of the checkpoint")
    parser.add_argument("--extend", action="store_true", help="add missing special tokens to the folder's tokenizer")
    args = parser.parse_args()
    if args.extend:
        tokenizer = extended(Tokenizer.from_file(str(args.model / "tokenizer.json")))
        save(tokenizer, args.model)
        check(args.model)
        print(f"{tokenizer.get_vocab_size()} tokens")
        return
    rng = random.Random(1)
    made = [dialogues.conversation(rng, skill) for _ in range(2500) for skill in dialogues.SKILLS]
    corpus = [regex.sub(r"</?think>|</?tool_\w+>|<\|\w+\|>", "", text) for one in made for text, _ in segments(one)]
    tokenizer = train(corpus)
    save(tokenizer, args.model)
    check(args.model)
    texts = ["".join(text for text, _ in segments(one)) for one in made]
    lengths = [len(tokenizer.encode(text).ids) for text in texts[:4500]]
    print(
        f"{tokenizer.get_vocab_size()} tokens, {sum(map(len, texts[:4500])) / sum(lengths):.2f} characters a token, longest {max(lengths)}"
    )
    for skill in dialogues.SKILLS:
        of_skill = [n for n, one in zip(lengths, made) if one["skill"] == skill]
        print(f"  {skill:12} {sum(of_skill) / len(of_skill):6.1f} tokens a conversation")


if __name__ == "__main__":
    main()
