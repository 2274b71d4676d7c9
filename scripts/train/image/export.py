"""Turns a training state into the checkpoint: a StableDiffusionPipeline folder with weights in f16.

    python export.py --state state/ --tokenizer tokenizer/ --model ../../../models/svc-scenes-mini

Takes the averaged weights of the denoiser and the text encoder. Besides what diffusers reads, the folder
gets svc.json (steps, guidance and size to draw with), words.txt (all words the model was ever told) and colours.json
(words of land and sky, with the colours that captions gave them or that they have anyway).
"""

import argparse
import json
import shutil
from pathlib import Path

import torch
from diffusers import DDPMScheduler, StableDiffusionPipeline
from safetensors.torch import load_file, save_file
from transformers import CLIPTextModel, CLIPTokenizer

import autoencoder
import tokenizer as words
from colours import write_colours
from model import SCHEDULE, make_unet

DEFAULTS = {"width": 128, "height": 128, "num_inference_steps": 20, "guidance_scale": 5.0}


def build(state: Path, tokenizer_folder: Path) -> tuple[StableDiffusionPipeline, dict]:
    saved = torch.load(state / "denoiser.pt", weights_only=False, map_location="cpu")
    text = CLIPTextModel.from_pretrained(state / "text_encoder")
    unet = make_unet(text.config.hidden_size)
    torch.nn.ModuleDict({"unet": unet, "text": text}).load_state_dict(saved["average"])
    pipeline = StableDiffusionPipeline(
        vae=autoencoder.assembled(state),
        text_encoder=text,
        tokenizer=CLIPTokenizer.from_pretrained(tokenizer_folder),
        unet=unet,
        scheduler=DDPMScheduler(**SCHEDULE),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    return pipeline, saved["done"]


def name_as_published(path: Path) -> None:
    """Puts the prefix before the text encoder's weights that published checkpoints have and transformers 5 leaves out."""
    weights = {
        name if name.startswith("text_model.") else f"text_model.{name}": w for name, w in load_file(path).items()
    }
    save_file(weights, path, metadata={"format": "pt"})


def export(pipeline: StableDiffusionPipeline, folder: Path, tokenizer_folder: Path) -> int:
    """Writes the folder; returns its bytes."""
    pipeline.to(torch.float16).save_pretrained(folder)
    name_as_published(folder / "text_encoder" / "model.safetensors")
    words.write_vocabulary(pipeline.tokenizer, folder / "tokenizer")
    shutil.copyfile(tokenizer_folder / "words.txt", folder / "words.txt")
    (folder / "svc.json").write_text(json.dumps(DEFAULTS, indent=2) + "\n")
    write_colours(folder)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    args = parser.parse_args()
    pipeline, done = build(args.state, args.tokenizer)
    expected = pipeline.text_encoder.state_dict()
    for name in ("unet", "vae", "text_encoder"):
        print(f"{name}: {sum(p.numel() for p in getattr(pipeline, name).parameters()) / 1e6:.2f} M")
    size = export(pipeline, args.model, args.tokenizer)
    print(f"{size / 1e6:.1f} MB; {done['step']} steps a worker in {done['seconds'] / 60:.0f} minutes")
    stored = CLIPTextModel.from_pretrained(args.model / "text_encoder", dtype=torch.float32).state_dict()
    assert all(torch.allclose(stored[n], w.float(), atol=1e-3) for n, w in expected.items()), (
        "the text encoder must come back"
    )
    assert size <= 24e6, "the model that ships has at most 24 MB"


if __name__ == "__main__":
    main()
