"""Texts of added tokens by the Python library, alone and among other tokens, for test/files/tokenizer and scripts/compare-tokenizers.mjs.

    python scripts/reference/added_tokens.py                     small tokenizers, made here: test/golden/added-tokens.json
    python scripts/reference/added_tokens.py FOLDER… --out FILE  every added token of these folders
"""

import argparse
import json
import sys
from pathlib import Path

# The folder of this script is removed from the path, because a file in it has the name of an imported library.
sys.path = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).resolve().parent]

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers  # noqa: E402

GOLDEN = Path(__file__).parents[2] / "test" / "golden" / "added-tokens.json"

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
PIECES = ["▁", "h", "i", "hi", "▁hi", "x", "中", "\n"]
MERGES = [("h", "i"), ("▁", "hi"), ("▁", "▁"), ("▁▁", "▁"), ("▁▁", "▁▁"), ("\n", "\n")]
RUNS = ["▁▁", "▁▁▁", "▁▁▁▁", "\n\n"]
TEXTS = ["hi hi", "hi\n    hi\n\n  x", "    hi", "  ", "\n\n", "x    ", " hi   hi", "中 hi"]


def made(model, specials, added, decoder, normalizer=None, pre=None):
    tokenizer = Tokenizer(model)
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in specials])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in added])
    for name, part in (("decoder", decoder), ("normalizer", normalizer), ("pre_tokenizer", pre)):
        if part is not None:
            setattr(tokenizer, name, part)
    return tokenizer


def spelled_bpe(specials):
    vocab = [*specials, *BYTES, *PIECES, *RUNS]
    ids = {text: at for at, text in enumerate(vocab)}
    return models.BPE(vocab=ids, merges=MERGES, unk_token="<unk>", fuse_unk=True, byte_fallback=True)


def byte_bpe():
    vocab = {text: at for at, text in enumerate([*sorted(pre_tokenizers.ByteLevel.alphabet()), "hi", "Ġhi"])}
    return models.BPE(vocab=vocab, merges=[("h", "i"), ("Ġ", "hi")])


def small():
    marks = ["<unk>", "<s>", "</s>"]
    to_marks, to_spaces = normalizers.Replace(" ", "▁"), decoders.Replace("▁", " ")
    spelled = [to_spaces, decoders.ByteFallback(), decoders.Fuse()]
    runs = [*RUNS, "<table>", "▁<x>", "<0x41>", "[a▁b]"]
    unigram = models.Unigram([(text, -float(at)) for at, text in enumerate([*marks, *PIECES, *RUNS])], unk_id=0)
    words = {text: at for at, text in enumerate(["<unk>", "hi", "##hi", "x", "▁hi"])}
    space = {scheme: (decoders.Metaspace("▁", scheme), pre_tokenizers.Metaspace("▁", scheme, split=False)) for scheme in ("first", "never", "always")}
    return {
        "Gemma's": made(spelled_bpe(marks), [*marks, "<s▁s>"], runs, decoders.Sequence(spelled), to_marks),
        "Yi's": made(
            spelled_bpe(marks), [*marks, "<s▁s>"], runs, decoders.Sequence([*spelled, decoders.Strip(" ", 1, 0)]),
            normalizers.Sequence([normalizers.Prepend("▁"), to_marks]),
        ),
        **{f"Metaspace, {scheme}": made(unigram, [*marks, "<s▁s>"], runs, decoder, pre=pre) for scheme, (decoder, pre) in space.items()},
        "byte-level": made(
            byte_bpe(), ["<s>", "<｜s▁s｜>"], ["    ", "\n\n", "Ġx", "<tool é>", "▁▁", "Ã©"], decoders.ByteLevel(),
            pre=pre_tokenizers.ByteLevel(add_prefix_space=False),
        ),
        "WordPiece": made(models.WordPiece(words, unk_token="<unk>"), ["<s>"], ["▁▁", "##a", "<x>"], decoders.WordPiece(cleanup=False)),
        "without a decoder": made(models.WordPiece(words, unk_token="<unk>"), ["<s>"], ["▁▁", "<x>"], None),
    }  # fmt: skip


def case(name, tokenizer, given):
    """`decodes`: [ids, text without special tokens, text with them]."""
    added = tokenizer.get_added_tokens_decoder()
    specials = [id for id, token in added.items() if token.special][:1]
    ordinary = [id for id in range(tokenizer.get_vocab_size()) if id not in added]
    # The last two tokens of a text stand at its start and within it.
    before, after = [*ordinary[-1:], *tokenizer.encode("x hi", add_special_tokens=False).ids][-2:]
    decodes = []
    for id in added:
        for ids in ([id], [before, id], [id, after], [*specials, id, after], [after, id, id, before, id]):
            decodes.append([ids, tokenizer.decode(ids), tokenizer.decode(ids, skip_special_tokens=False)])
    ids = [tokenizer.encode(text).ids for text in given]
    return {"name": name, "json": json.loads(tokenizer.to_str()), "ids": ids, "decodes": decodes}


def opened(folder):
    if (folder / "tokenizer.json").exists():
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder).backend_tokenizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--out", default=str(GOLDEN))
    options = parser.parse_args()
    tokenizers = {Path(folder).name: opened(Path(folder)) for folder in options.folders} or small()
    result = {
        "command": "python scripts/reference/added_tokens.py",
        "texts": TEXTS,
        "cases": [case(name, tokenizer, TEXTS) for name, tokenizer in tokenizers.items()],
    }
    Path(options.out).write_text(json.dumps(result, ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
