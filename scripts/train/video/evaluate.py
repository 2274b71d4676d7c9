"""Draws prompts from several seeds, reads what moves in the clips, and prints how often it is what was asked for.

    python evaluate.py --model ../../../models/svc-clips-mini --out evaluation/

Drawing is by diffusers, in f32. With --drawn clips of the painter are read instead: what the reading itself misses. Writes
<out>/rates.json and sheet.png, five frames of each clip.
"""

import argparse
import json
import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from diffusers import WanPipeline
from film import frames_of
from following import camera_of, move_of, turn_of
from motions import STILL, Clip, draw_clip
from PIL import Image

from render import sheet

PROMPTS = """
a red balloon rises over the sea at sunset | red up
a yellow balloon floats up over snowy mountains | yellow up
a purple balloon sinks over the city | purple down
an orange balloon drifts to the right over a lake | orange right
a green balloon drifts to the left over the desert | green left
a red kite flies to the left over the beach | red left
a yellow kite flies to the right over a meadow | yellow right
a pink kite rises over green hills | pink up
a red boat sails to the right on the sea at sunset | red right
a big white boat sails to the left on a lake | white left
a black boat crosses the sea from left to right in the evening | black right
an orange boat sails left on the sea at night | orange left
the yellow sun rises over the sea at sunrise | yellow up
the red sun sets over the mountains at sunset | red down
the white moon rises over the forest at night | white up
a yellow moon goes down over the desert at night | yellow down
the camera pans to the right over snowy mountains | camera right
the camera pans to the left over a city at night | camera left
a forest in autumn, the camera pans right | camera right
night falls over the sea | turn nightfall
day turns into night over a city | turn nightfall
day breaks over the mountains | turn daybreak
night turns into day over a meadow with a red house on the left | turn daybreak
a red house in a meadow in spring | red still
"""


def prompts() -> list[tuple[str, str, str]]:
    """A prompt, the colour that moves (or `camera`, `turn`), and how."""
    lines = (line.split(" | ") for line in PROMPTS.strip().splitlines())
    return [(text, *wanted.split()) for text, wanted in lines]


def read(frames: np.ndarray, what: str) -> str:
    return camera_of(frames) if what == "camera" else turn_of(frames) if what == "turn" else move_of(frames, what)


def draw(folder: Path, texts: list[str], seeds: list[int], steps: int | None, guidance: float | None) -> np.ndarray:
    defaults = json.loads((folder / "svc.json").read_text())
    pipeline = WanPipeline.from_pretrained(folder, torch_dtype=torch.float32)
    pipeline.set_progress_bar_config(disable=True)
    clips = []
    for text, seed in zip(texts, seeds):
        video = pipeline(
            text,
            width=defaults["width"],
            height=defaults["height"],
            num_frames=defaults["num_frames"],
            num_inference_steps=steps or defaults["num_inference_steps"],
            guidance_scale=guidance or defaults["guidance_scale"],
            generator=torch.Generator().manual_seed(seed),
            output_type="np",
        ).frames[0]
        clips.append((video * 255).round().astype(np.uint8))
    return np.stack(clips)


def wanted_of(clip: Clip) -> tuple[str, str] | None:
    """What to read from a painted clip: its camera, its light, or its only moving thing."""
    if clip.camera in ("left", "right"):
        return "camera", clip.camera
    if clip.turn:
        return ("turn", clip.turn) if all(m == STILL for m in clip.moves) else None
    moving = [(t.colour, m) for t, m in zip(clip.scene.things, clip.moves) if m != STILL]
    return moving[0] if len(moving) == 1 and clip.camera == STILL else None


def drawn(count: int) -> tuple[list[tuple[str, str]], np.ndarray]:
    rng, wanted, clips = random.Random(9), [], []
    while len(wanted) < count:
        clip = draw_clip(rng, rng.choice((1, 2)))
        if found := wanted_of(clip):
            wanted.append(found)
            clips.append(frames_of(clip))
    return wanted, np.stack(clips)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=4, help="clips of each prompt")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--guidance", type=float)
    parser.add_argument(
        "--drawn", type=int, default=0, help="read so many of the painter's clips, to judge the reading"
    )
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.drawn:
        wanted, clips = drawn(args.drawn)
    else:
        chosen = [(text, what, how, seed) for seed in range(args.seeds) for text, what, how in prompts()]
        wanted = [(what, how) for _, what, how, _ in chosen]
        clips = draw(args.model, [c[0] for c in chosen], [c[3] for c in chosen], args.steps, args.guidance)
    rates: dict[str, list[bool]] = defaultdict(list)
    for (what, how), frames in zip(wanted, clips):
        kind = what if what in ("camera", "turn") else "thing"
        for name in (f"{kind} {how}", "all"):
            rates[name].append(read(frames, what) == how)
    table = {name: f"{sum(r)}/{len(r)} {100 * sum(r) / len(r):.0f} %" for name, r in sorted(rates.items())}
    (args.out / "rates.json").write_text(json.dumps(table, indent=2) + "\n")
    Image.fromarray(sheet([frame for frames in clips[:48] for frame in frames[::3]], 10)).save(args.out / "sheet.png")
    for name, rate in table.items():
        print(f"{name:<20}{rate:>16}")


if __name__ == "__main__":
    main()
