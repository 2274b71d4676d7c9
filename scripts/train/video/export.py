"""Turns the training state into the checkpoint: a WanPipeline folder with weights in f16.

    python export.py --state state/ --model ../../../models/svc-clips-mini

Takes the averaged weights of every stage. Besides what diffusers reads, the folder gets svc.json (size, frames, rate, steps and guidance to
draw with), words.txt (all words the model was ever told) and colours.json (words of land and sky, with the colours they have).
"""

import argparse
import json
import shutil
from pathlib import Path

import torch
from colours import write_colours
from diffusers import WanPipeline
from models import Denoiser, make_schedule, make_vae
from motions import FPS, FRAMES
from transformers import T5Tokenizer

from brush import SIZE

DEFAULTS = {
    "width": SIZE,
    "height": SIZE,
    "num_frames": FRAMES,
    "fps": FPS,
    "num_inference_steps": 20,
    "guidance_scale": 4.0,
    "negative_prompt": "",
}
LARGEST = 10e6


def averages(state: Path, stage: str) -> tuple[dict, dict]:
    """The averaged weights of a stage, and how long it took."""
    saved = torch.load(state / f"{stage}.pt", weights_only=False, map_location="cpu")
    return saved["average"], saved["done"]


def build(state: Path, stages: tuple[str, ...] = ("decoder", "encoder")) -> WanPipeline:
    tokenizer = T5Tokenizer.from_pretrained(state / "tokenizer")
    networks, vae = Denoiser(len(tokenizer)), make_vae()
    weights, done = averages(state, "denoiser")
    networks.load_state_dict(weights)
    print(f"denoiser: {done['step']} steps a worker in {done['seconds'] / 60:.0f} minutes")
    modules = {
        "decoder": torch.nn.ModuleDict({"post": vae.post_quant_conv, "decoder": vae.decoder}),
        "encoder": torch.nn.ModuleDict({"encoder": vae.encoder}),
    }
    for stage in stages:
        weights, done = averages(state, stage)
        modules[stage].load_state_dict(weights)
        print(f"{stage}: {done['step']} steps a worker in {done['seconds'] / 60:.0f} minutes")
    return WanPipeline(tokenizer, networks.text, vae, make_schedule(), networks.as_published())


def write(pipeline: WanPipeline, folder: Path, words: Path) -> int:
    """Writes the folder; returns its bytes."""
    pipeline.to(torch.float16).save_pretrained(folder)
    shutil.copyfile(words, folder / "words.txt")
    (folder / "svc.json").write_text(json.dumps(DEFAULTS, indent=2) + "\n")
    write_colours(folder)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".md", ".png", ".webp")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument(
        "--untrained-encoder", action="store_true", help="to look at a run whose encoder is not trained yet"
    )
    args = parser.parse_args()
    pipeline = build(args.state, ("decoder",) if args.untrained_encoder else ("decoder", "encoder"))
    size = write(pipeline, args.model, args.state / "tokenizer" / "words.txt")
    print(f"{size / 1e6:.2f} MB")
    again = WanPipeline.from_pretrained(args.model, torch_dtype=torch.float32)
    for name in ("text_encoder", "transformer", "vae"):
        expected = getattr(pipeline, name).float().state_dict()
        given = getattr(again, name).state_dict()
        assert all(torch.allclose(given[n], w, atol=1e-3) for n, w in expected.items()), f"{name} must come back"
    assert size <= LARGEST, "the model that ships has at most 10 MB"


if __name__ == "__main__":
    main()
