"""Token ids by the Python library, for test/files/tokenizer and scripts/compare-tokenizers.mjs.

    python scripts/reference/text_tokenizers.py                     small tokenizers, trained here: test/golden/tokenizers.json
    python scripts/reference/text_tokenizers.py FOLDER… --out FILE  those of these folders, on many more texts
"""

import argparse
import base64
import json
import random
import sys
import tempfile
import unicodedata
from pathlib import Path

# The folder of this script is removed from the path, because a file in it has the name of an imported library.
sys.path = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).resolve().parent]

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

GOLDEN = Path(__file__).parents[2] / "test" / "golden" / "tokenizers.json"

# White space that JavaScript and Unicode disagree on, digits of all kinds, marks, case, ideographs beyond the first plane.
EDGES = [
    *[0x85, 0xFEFF, 0xA0, 0x1680, 0x180E, 0x2007, 0x200B, 0x200D, 0x2028, 0x202F, 0x3000, 0x9, 0xB, 0xC, 0xD, 0x1C, 0x1F],
    *[0xB2, 0xBD, 0x2460, 0x2167, 0x0663, 0x0967, 0xFF11, 0x3007, 0x5F, 0x203F, 0xB7, 0x24, 0x2B, 0x5E, 0x60, 0x7E, 0xAC],
    *[0x17F, 0x212A, 0x130, 0x3A3, 0x3C2, 0xDF, 0x301, 0x0E33, 0xAD, 0xFFFD, 0x0, 0x7F, 0x1F468, 0xFE0F, 0x20000, 0x2B820],
    *[0x2B920, 0xF900, 0xAC00, 0x1100, 0x2581, 0xFB01, 0x1C5, 0x2B0, 0xE000],
]
WORDS = [
    *["hello", "World", "don't", "I'LL", "it'ſ", "naïve", "e\u0301", "Ünïcode", "中文", "日本語テキスト", "한국어", "русский"],
    *["ΟΔΥΣΣΕΥΣ", "👩‍👩‍👧", "👍🏽", "\r\n", "\n\n", "\t\t", "    ", " ", "123", "1234567", "3.14", "½²③", "Ⅷ", "١٢٣", "foo_bar"],
    *["()[]{}", "...", "—", "“q”", "Vie\u0323\u0302t", "สวัสดี", "नमस्ते", "\ufeff", "\u0085", "\u00a0", "<s>", "</s>", "ﬁ", "İ"],
]

POSSESSIVE = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA_3 = (
    POSSESSIVE + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def texts(edges, rounds, wide):
    chance = random.Random(7)
    found = [""]
    for code in edges:
        mark = chr(code)
        found += [f"a{mark}b{mark}{mark} {mark}1{mark}2", f"{mark}x '{mark}s{mark}", f".{mark}\n{mark}!"]
    for _ in range(rounds):
        found.append("".join(chance.choice(WORDS) + chance.choice(["", " ", "", "\n"]) for _ in range(chance.randint(1, 7))))
    if wide:
        codes = [*range(0x3100), *range(0xA000, 0xD7A4, 61), *range(0xF900, 0x10000), *range(0x10000, 0x20000, 17)]
        known = [chr(code) for code in codes if not 0xD800 <= code < 0xE000 and unicodedata.category(chr(code)) != "Cn"]
        found += [" ".join(f"a{each}1" for each in known[at : at + 8]) for at in range(0, len(known), 8)]
        found += ["x" * 3000, " " * 3000, "中文" * 1500, "ab " * 1000, "\n" * 3000, " \n" * 1000, "1" * 3000]
    return found


def split(expression, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(expression), behavior, invert)


def byte_level(*before):
    return pre_tokenizers.Sequence([*before, pre_tokenizers.ByteLevel(False, use_regex=False)])


def trained(corpus, pre=None, normalizer=None, post=None, decoder=None, kind="bpe", size=420, **model):
    specials = ["<unk>", "<s>", "</s>"]
    if kind == "bpe":
        tokenizer = Tokenizer(models.BPE(**model))
        alphabet = [] if "unk_token" in model else pre_tokenizers.ByteLevel.alphabet()
        parts = {key: model[key] for key in ("end_of_word_suffix", "continuing_subword_prefix") if key in model}
        trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=specials, initial_alphabet=alphabet, **parts)
    elif kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
        trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=specials)
    else:
        tokenizer = Tokenizer(models.Unigram())
        trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=specials, unk_token="<unk>")
    for name, part in (("pre_tokenizer", pre), ("normalizer", normalizer)):
        if part is not None:
            setattr(tokenizer, name, part)
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_tokens([
        AddedToken("World", single_word=True, normalized=False),
        AddedToken("hello", lstrip=True, rstrip=True, normalized=True),
    ])
    for name, part in (("post_processor", post), ("decoder", decoder)):
        if part is not None:
            setattr(tokenizer, name, part)
    return tokenizer


def small():
    chance = random.Random(3)
    corpus = ["".join(chance.choice(WORDS) + " " for _ in range(9)) for _ in range(1500)]
    both = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    pre, norm, level = pre_tokenizers, normalizers, decoders.ByteLevel()
    deepseek = [
        split(r"[\r\n]"),
        split(r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-Ֆ]+"),
        split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"),
        split(r"\s+$"),
        split(r"[一-龥ࠀ-一가-퟿]+"),
        pre.Digits(True),
    ]
    spelled = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    made = {
        "gpt2": dict(pre=pre.ByteLevel(add_prefix_space=False), post=processors.ByteLevel(), decoder=level),
        "gpt2 with a space in front, NFKC": dict(
            pre=pre.ByteLevel(), normalizer=norm.NFKC(), post=processors.RobertaProcessing(("</s>", 2), ("<s>", 1)), decoder=level
        ),
        "llama3": dict(pre=byte_level(split(LLAMA_3)), post=processors.Sequence([processors.ByteLevel(), both]), decoder=level, ignore_merges=True),
        "deepseek": dict(pre=byte_level(*deepseek), decoder=level),
        "digits together": dict(pre=pre.Sequence([pre.Digits(False), pre.ByteLevel(False)]), decoder=level),
        "punctuation": dict(
            pre=byte_level(pre.Punctuation("merged_with_next"), pre.Split(" ", "merged_with_previous"), pre.FixedLength(7)), decoder=level
        ),
        "words with an end": dict(
            pre=pre.Whitespace(), normalizer=norm.Sequence([norm.Strip(), norm.StripAccents(), norm.Lowercase()]),
            unk_token="<unk>", fuse_unk=True, end_of_word_suffix="</w>",
        ),
        "words with a prefix": dict(pre=pre.WhitespaceSplit(), unk_token="<unk>", continuing_subword_prefix="@@"),
        "llama2": dict(
            normalizer=norm.Sequence([norm.Prepend("▁"), norm.Replace(" ", "▁")]), pre=None, unk_token="<unk>", fuse_unk=True,
            byte_fallback=True, decoder=spelled, post=both,
        ),
        "metaspace at the start": dict(pre=pre.Metaspace(prepend_scheme="first", split=False), unk_token="<unk>", byte_fallback=True),
        "bert": dict(kind="wordpiece", normalizer=norm.BertNormalizer(), pre=pre.BertPreTokenizer(), post=both),
        "unigram": dict(
            kind="unigram", size=300, pre=pre.Metaspace(),
            normalizer=norm.Sequence([norm.Nmt(), norm.NFKC(), norm.Replace(Regex(" {2,}"), " ")]),
        ),
    }
    # Whole texts are one piece each where nothing cuts them: such a vocabulary is trained on words.
    cut = [word + " " for word in WORDS] * 20
    return {name: trained(cut if parts["pre"] is None else corpus, **parts) for name, parts in made.items()}


def pairs():
    """vocab.json with merges.txt, by transformers' classes."""
    from transformers import CLIPTokenizer, GPT2Tokenizer, Qwen2Tokenizer

    marks = ["<|startoftext|>", "<|endoftext|>", "<|mine|>"]
    letters = [*pre_tokenizers.ByteLevel.alphabet()]
    merges = [("h", "i"), ("Ġ", "hi"), ("1", "2")]
    plain = [*sorted(letters), "hi", "Ġhi", "12", *marks]
    ended = [*sorted(letters), *[f"{letter}</w>" for letter in sorted(letters)], "hi</w>", *marks]
    flags = [{}, {"add_bos_token": True}, {"add_eos_token": True}, {"add_bos_token": False, "add_eos_token": False}]
    names = [{}, {"bos_token": "<|mine|>", "eos_token": "<|mine|>"}, {"bos_token": None}]
    cases = []
    for kind, words, rules in (
        (Qwen2Tokenizer, plain, merges),
        (GPT2Tokenizer, plain, merges),
        (CLIPTokenizer, ended, [("h", "i</w>")]),
    ):
        vocab = {word: at for at, word in enumerate(words)}
        for flag in flags:
            for name in names:
                config = {"tokenizer_class": kind.__name__, **flag, **name}
                with tempfile.TemporaryDirectory() as folder:
                    Path(folder, "vocab.json").write_text(json.dumps(vocab))
                    Path(folder, "merges.txt").write_text("#version: 0.2\n" + "\n".join(" ".join(rule) for rule in rules) + "\n")
                    Path(folder, "tokenizer_config.json").write_text(json.dumps(config))
                    try:
                        tokenizer = kind.from_pretrained(folder)
                    except Exception as error:  # A class may refuse a missing token.
                        print(config, type(error).__name__, error)
                        continue
                ids = [tokenizer(text)["input_ids"] for text in ("hi hi12", "", "<|endoftext|>hi\ufeff1")]
                cases.append({"config": config, "ids": ids})
    return {"plain": plain, "ended": ended, "texts": ["hi hi12", "", "<|endoftext|>hi\ufeff1"], "cases": cases}


RULES = {0xFB01: "fi", 0xFF11: "1", 0xB2: "2", 0xA0: " ", 0x3000: " ", 0x9: " ", 0xA: " ", 0xD: " ", 0xAD: "", 0x212A: "K", 0x1C5: "Dž"}


def sentence_piece(given):
    """spiece.model of T5's kind, by transformers' class; its own normalization is compiled in it."""
    import io

    import sentencepiece
    from transformers import T5Tokenizer

    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder, "rules.tsv")
        lines = [f"{code:X}\t{' '.join(f'{ord(each):X}' for each in text)}" for code, text in sorted(RULES.items())]
        rules.write_text("\n".join(lines) + "\n")
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([" ".join(WORDS[at:] + WORDS[:at]) for at in range(len(WORDS))] * 4), model_writer=model,
            vocab_size=125, normalization_rule_tsv=str(rules), user_defined_symbols=["foo_"], control_symbols=["<mark>"],
            pad_id=0, eos_id=1, unk_id=2, bos_id=-1, num_threads=1, minloglevel=2,
        )  # fmt: skip
        Path(folder, "spiece.model").write_bytes(model.getvalue())
        cases = []
        for config in ({}, {"extra_ids": 3}, {"extra_ids": 0, "eos_token": "</s>"}):
            settings = {"tokenizer_class": "T5Tokenizer", **config}
            Path(folder, "tokenizer_config.json").write_text(json.dumps(settings))
            tokenizer = T5Tokenizer.from_pretrained(folder)
            ids = [tokenizer(text)["input_ids"] for text in given]
            cases.append({"config": settings, "size": len(tokenizer), "ids": ids})
    return {"model": base64.b64encode(model.getvalue()).decode(), "texts": given, "cases": cases}


def case(name, tokenizer, given):
    ids = [tokenizer.encode(text).ids for text in given]
    return {"name": name, "json": json.loads(tokenizer.to_str()), "ids": ids}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--out", default=str(GOLDEN))
    options = parser.parse_args()
    given = texts(EDGES, 2000 if options.folders else 60, bool(options.folders))
    if options.folders:
        from transformers import AutoTokenizer

        tokenizers = {Path(folder).name: AutoTokenizer.from_pretrained(folder).backend_tokenizer for folder in options.folders}
    else:
        tokenizers = small()
    spoken = [*given[::4], "a <extra_id_1> b<extra_id_99></s> foo_foo_bar<mark> <pad><unk>"]
    result = {
        "command": "python scripts/reference/text_tokenizers.py",
        "texts": given,
        "cases": [case(name, tokenizer, given) for name, tokenizer in tokenizers.items()],
        **({} if options.folders else {"pairs": pairs(), "sentencePiece": sentence_piece(spoken)}),
    }
    Path(options.out).write_text(json.dumps(result, ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
