"""Paints clips into shards that the rest of training reads: latents-000.npy (f16) and clips-000.jsonl.

    python clips.py --state state/ --shards 24

A shard that is there is kept, so the command can be stopped, repeated and run several times at once
with different `--first` and `--step`.
"""

import argparse
import random
import time
from pathlib import Path

import numpy as np
import space as spaces
from film import frames_of
from motions import COUNTS, Clip, draw_clip, line_of

from brush import SIZE
from scenes import held_out

SHARD = 1024


def clips_of(shard: int) -> list[Clip]:
    rng, clips = random.Random(5000 + shard), []
    while len(clips) < SHARD:
        clip = draw_clip(rng, rng.choices(list(COUNTS), list(COUNTS.values()))[0])
        if not held_out(clip.scene):
            clips.append(clip)
    return clips


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--shards", type=int, default=24, help="the number of the last one, and one more")
    args = parser.parse_args()
    folder, space = args.state / "clips", spaces.load(args.state)
    folder.mkdir(parents=True, exist_ok=True)
    for shard in range(args.first, args.shards, args.step):
        path = folder / f"latents-{shard:03}.npy"
        if path.exists():
            continue
        began, clips = time.time(), clips_of(shard)
        latents = np.empty((SHARD, spaces.CHANNELS, 4, SIZE // spaces.PATCH, SIZE // spaces.PATCH), np.float16)
        for i in range(0, SHARD, 16):
            latents[i : i + 16] = space.encode(np.stack([frames_of(clip) for clip in clips[i : i + 16]]))
        (folder / f"clips-{shard:03}.jsonl").write_text("\n".join(map(line_of, clips)) + "\n")
        np.save(path.with_suffix(".new.npy"), latents)
        path.with_suffix(".new.npy").replace(path)
        print(f"shard {shard}: {SHARD / (time.time() - began):.0f} clips a second", flush=True)


if __name__ == "__main__":
    main()
