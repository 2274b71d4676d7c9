"""Draws 200 held-out captions once and 40 prompts written by hand from eight seeds each, reads the pictures, and prints pass rates.

    python evaluate.py --model ../../../models/svc-scenes-mini --state state/ --out evaluation/

Drawing is by diffusers, in f32. With --drawn the painter's own pictures are read instead: what the reading itself misses.
Writes <out>/rates.json, sheet.png (the prompts written by hand) and held-out.png.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from diffusers import StableDiffusionPipeline
from labels import FIELDS
from PIL import Image
from prompts import Prompt, hand_written, held_out_prompts

from reading import Reading, load, read
from render import render, sheet


def draw(folder: Path, prompts: list[str], steps: int | None, guidance: float | None, batch: int) -> list[np.ndarray]:
    defaults = json.loads((folder / "svc.json").read_text())
    pipeline = StableDiffusionPipeline.from_pretrained(folder, torch_dtype=torch.float32)
    pipeline.set_progress_bar_config(disable=True)
    pictures = []
    for start in range(0, len(prompts), batch):
        part = prompts[start : start + batch]
        seeds = [torch.Generator().manual_seed(start + i) for i in range(len(part))]
        pictures += pipeline(
            part,
            num_inference_steps=steps or defaults["num_inference_steps"],
            guidance_scale=guidance or defaults["guidance_scale"],
            generator=seeds,
            output_type="np",
        ).images.tolist()
    return [(np.array(p) * 255).round().astype(np.uint8) for p in pictures]


def judge(prompt: Prompt, reading: Reading) -> dict[str, list[bool]]:
    """For each attribute, whether each of its demands is met."""
    met: dict[str, list[bool]] = defaultdict(list)
    for field, value in prompt.scene.items():
        met[field].append(reading.fields[field] == value)
    for thing in prompt.things:
        colour, place = reading.things.get(thing.kind, (None, None))
        met["object"].append(colour is not None)
        met["once"].append(colour is not None and thing.kind not in reading.twice)
        if thing.colour:
            met["colour"].append(colour == thing.colour)
        if thing.place:
            met["place"].append(place == thing.place)
    return met


def rates(prompts: list[Prompt], judged: list[dict[str, list[bool]]]) -> dict[str, dict[str, str]]:
    """Counts by attribute and by number of things whether each demand of a prompt is met."""
    table: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for prompt, met in zip(prompts, judged):
        for attribute, results in met.items():
            for column in (str(len(prompt.things)), "all"):
                table[attribute][column] += results
        table["whole picture"][str(len(prompt.things))].append(all(all(r) for r in met.values()))
        table["whole picture"]["all"].append(all(all(r) for r in met.values()))
    return {
        a: {c: f"{sum(r)}/{len(r)} {100 * sum(r) / len(r):.0f} %" for c, r in sorted(columns.items())}
        for a, columns in table.items()
    }


def report(name: str, table: dict[str, dict[str, str]]) -> None:
    columns = ("0", "1", "2", "3", "all")
    print(f"\n{name:<16}" + "".join(f"{c + ' things' if c != 'all' else c:>16}" for c in columns))
    for attribute in ("object", "once", "colour", "place", *FIELDS, "whole picture"):
        if attribute in table:
            print(f"{attribute:<16}" + "".join(f"{table[attribute].get(c, '–'):>16}" for c in columns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True, help="folder of the reader")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--held-out", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=8, help="pictures of each prompt written by hand")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--guidance", type=float)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--drawn", action="store_true", help="read the painter's pictures, to judge the reading")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    reader, tables = load(args.state), {}
    held_out = held_out_prompts(args.held_out)
    for name, file, prompts in (
        ("by hand", "sheet.png", hand_written() * args.seeds),
        ("held out", "held-out.png", [p for p, _ in held_out]),
    ):
        if args.drawn and name == "by hand":
            continue
        pictures = (
            [render(s) for _, s in held_out]
            if args.drawn
            else draw(args.model, [p.text for p in prompts], args.steps, args.guidance, args.batch)
        )
        Image.fromarray(sheet(pictures[:80], 8)).save(args.out / file)
        tables[name] = rates(prompts, [judge(p, r) for p, r in zip(prompts, read(reader, pictures))])
        report(name, tables[name])
    (args.out / "rates.json").write_text(json.dumps(tables, indent=2) + "\n")


if __name__ == "__main__":
    main()
