"""Averages the language model's weights of two exported checkpoints; the tower and the projector are the second one's.

    python blend.py before/ after/ --share 0.35 --out blended/

A short training on a GPU with many pictures a step takes some of the text skills away. Between its weights and those that it started from, what was known before
comes back sooner than what was learnt is lost.
"""

import argparse
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file

LANGUAGE = "model.language_model."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="folder of the checkpoint that the training began from")
    parser.add_argument("after", type=Path, help="folder of the checkpoint that it exported")
    parser.add_argument("--share", type=float, default=0.35, help="of the former, in the language model's weights")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    before, after = (load_file(folder / "model.safetensors") for folder in (args.before, args.after))
    assert before.keys() == after.keys(), "the checkpoints differ in their tensors"
    for name in after:
        if name.startswith(LANGUAGE):
            after[name] = after[name].float().lerp(before[name].float(), args.share).to(after[name].dtype)
    shutil.copytree(args.after, args.out, dirs_exist_ok=True)
    save_file(after, args.out / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
