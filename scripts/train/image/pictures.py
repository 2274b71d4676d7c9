"""Renders scenes into shards that the rest of training reads: pictures-000.npy (u8) and scenes-000.jsonl.

    python pictures.py --data data/ --shards 24

A shard that is there is kept, so the command can be stopped, repeated and run several times at once
with different `--first`.
"""

import argparse
import json
import random
import time
from pathlib import Path

import numpy as np

from brush import SIZE
from render import render
from scenes import Scene, draw_lit_scene, draw_scene, held_out

SHARD = 2048
COUNTS = {0: 0.14, 1: 0.42, 2: 0.28, 3: 0.16}
"""Number of things in an image → share of images."""


def scenes_of(shard: int, lit: float = 0.0) -> list[Scene]:
    rng = random.Random(1000 + shard)
    scenes: list[Scene] = []
    while len(scenes) < SHARD:
        count = rng.choices(list(COUNTS), list(COUNTS.values()))[0]
        scene = draw_lit_scene(rng, max(1, count)) if lit and rng.random() < lit else draw_scene(rng, count)
        if not held_out(scene):
            scenes.append(scene)
    return scenes


def write_scenes(path: Path, scenes: list[Scene]) -> None:
    lines = [json.dumps({**vars(s), "things": [vars(t) for t in s.things]}) for s in scenes]
    path.write_text("\n".join(lines) + "\n")


def wait_while(pause: Path | None) -> None:
    while pause and pause.exists():
        time.sleep(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--shards", type=int, default=24)
    parser.add_argument(
        "--lit", type=float, default=0.0, help="share of scenes whose lights only their form tells apart"
    )
    parser.add_argument("--pause-file", type=Path)
    args = parser.parse_args()
    args.data.mkdir(parents=True, exist_ok=True)
    for shard in range(args.first, args.first + args.shards):
        path = args.data / f"pictures-{shard:03}.npy"
        if path.exists():
            continue
        began, scenes = time.time(), scenes_of(shard, args.lit)
        pictures = np.zeros((SHARD, SIZE, SIZE, 3), np.uint8)
        for i, scene in enumerate(scenes):
            wait_while(args.pause_file)
            pictures[i] = render(scene)
        write_scenes(args.data / f"scenes-{shard:03}.jsonl", scenes)
        np.save(path.with_suffix(".new.npy"), pictures)
        path.with_suffix(".new.npy").replace(path)
        print(f"shard {shard}: {SHARD / (time.time() - began):.0f} pictures a second", flush=True)


if __name__ == "__main__":
    main()
