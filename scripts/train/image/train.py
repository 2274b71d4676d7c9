"""Trains the denoiser and, slowly, the text encoder with it, for a given number of minutes.

    python train.py --data data/ --state state/ --tokenizer tokenizer/ --minutes 85

Latents are those of `basis.py`; captions are written anew each time. The learning rate and the curriculum
(none or one thing first, then two, then three) follow the training time spent; a longer --minutes takes a finished
run up again. `export.py` turns <state>/denoiser.pt into the checkpoint.
"""

import argparse
import itertools
import random
import time
from pathlib import Path

import numpy as np
import torch
from diffusers import UNet2DConditionModel
from transformers import CLIPTextModel, CLIPTokenizer

import basis
import workers
from captions import caption
from model import Noise, make_unet
from muon import optimizers, restore, take_step
from objects import box_of
from scenes import KINDS, Scene, mirrored, read_scenes

CURRICULUM = [(0.0, (0.2, 0.8, 0.0, 0.0)), (0.3, (0.12, 0.55, 0.33, 0.0)), (0.55, (0.08, 0.35, 0.32, 0.25))]
"""From that share of the run on, the shares of pictures with no, one, two and three things."""
UNCONDITIONAL = 0.1
THING_WEIGHT = 4.0


def weights_of(scene: Scene, size: int = 16) -> np.ndarray:
    """[size, size]: the loss weighs more where things are."""
    weights = np.ones((size, size), np.float32)
    for thing in scene.things:
        left, top, right, bottom = (v * size for v in box_of(thing))
        rows = slice(max(0, int(top)), min(size, int(bottom) + 1))
        columns = slice(max(0, int(left)), min(size, int(right) + 1))
        weights[rows, columns] = THING_WEIGHT
    return weights


def focus_of(scene: Scene, focus: dict[str, float]) -> float:
    """How often it is shown, against others with as many things."""
    return max((focus.get(thing.kind, 1.0) for thing in scene.things), default=1.0)


class Stream:
    """Batches of latents, captions and loss weights."""

    def __init__(
        self, data: Path, space: basis.Basis, seed: int, shares: list[float] | None, focus: dict[str, float]
    ) -> None:
        self.rng, self.space, self.shares = random.Random(seed), space, shares
        self.pictures, self.by_count = [], {0: [], 1: [], 2: [], 3: []}
        for shard, path in enumerate(sorted(data.glob("scenes-???.jsonl"))):
            self.pictures.append(
                np.load(path.with_name(path.name.replace("scenes", "pictures")).with_suffix(".npy"), mmap_mode="r")
            )
            for row, scene in enumerate(read_scenes(path)):
                self.by_count[len(scene.things)].append((shard, row, scene))
        self.weights = {
            count: list(itertools.accumulate(focus_of(scene, focus) for _, _, scene in rows))
            for count, rows in self.by_count.items()
        }

    def next(self, count: int, progress: float) -> tuple[torch.Tensor, list[str], torch.Tensor]:
        shares = self.shares or next(s for start, s in reversed(CURRICULUM) if progress >= start)
        pictures, captions, weights = [], [], []
        for things in self.rng.choices(range(4), shares, k=count):
            ((shard, row, scene),) = self.rng.choices(self.by_count[things], cum_weights=self.weights[things])
            flip = self.rng.random() < 0.5
            scene = mirrored(scene) if flip else scene
            pictures.append(self.pictures[shard][row][:, :: -1 if flip else 1])
            captions.append("" if self.rng.random() < UNCONDITIONAL else caption(self.rng, scene))
            weights.append(weights_of(scene))
        x = torch.from_numpy(self.space.encode(np.stack(pictures))).contiguous(memory_format=torch.channels_last)
        return x, captions, torch.from_numpy(np.stack(weights)).unsqueeze(1)


class Models:
    def __init__(self, args: argparse.Namespace) -> None:
        self.tokenizer = CLIPTokenizer.from_pretrained(args.tokenizer)
        self.text = CLIPTextModel.from_pretrained(args.state / "text_encoder").to(args.device)
        torch.manual_seed(3)
        self.unet: UNet2DConditionModel = make_unet(self.text.config.hidden_size)
        torch.nn.init.zeros_(self.unet.conv_out.weight)
        self.unet.to(args.device, memory_format=torch.channels_last)
        self.both = torch.nn.ModuleDict({"unet": self.unet, "text": self.text})
        self.noise = Noise(args.device)
        self.device, self.text_learns = args.device, args.text_lr > 0

    def loss(self, x: torch.Tensor, captions: list[str], weights: torch.Tensor) -> torch.Tensor:
        ids = self.tokenizer(captions, padding="max_length", truncation=True, return_tensors="pt").input_ids
        with torch.set_grad_enabled(self.text_learns):
            words = self.text(ids.to(self.device)).last_hidden_state
        t = torch.randint(0, 1000, (len(x),), device=self.device)
        noised, target = self.noise.add(x.to(self.device), t)
        error = self.unet(noised, t, words).sample - target
        return (error.square() * weights.to(self.device)).mean()


def work(rank: int, args: argparse.Namespace) -> None:
    run = workers.Run(rank, args, "denoiser")
    models = Models(args)
    tuned = optimizers([(models.unet, args.muon_lr)], [(models.unet, args.adam_lr), (models.text, args.text_lr)])
    models.text.requires_grad_(models.text_learns)
    average = workers.Average(models.both, args.average)
    if saved := run.load():
        models.both.load_state_dict(saved["model"])
        restore(tuned, saved["optimizers"])
        average.weights = saved["average"]

    def state() -> dict:
        optimizer_states = [o.state_dict() for o in tuned]
        return {"model": models.both.state_dict(), "optimizers": optimizer_states, "average": average.weights}

    stream = Stream(args.data, basis.load(args.state), 1000 * run.done["step"] + rank, args.shares, dict(args.focus))
    torch.manual_seed(1000 * run.done["step"] + rank)
    parameters, running = list(models.both.parameters()), 0.0
    while run.progress < 1:
        run.pause(state)
        loss = models.loss(*stream.next(args.batch, run.progress))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        take_step(tuned, workers.rate(run.progress, decay=args.decay))
        average.update(models.both, run.done["step"])
        running = loss.item() if running == 0 else 0.98 * running + 0.02 * loss.item()
        run.finish_step(state)
        run.meet(parameters)
        if rank == 0 and run.done["step"] % 50 == 0:
            speed = run.done["step"] * args.batch * args.workers / run.done["seconds"]
            print(
                f"{time.strftime('%H:%M:%S')} step {run.done['step']} loss {running:.4f} run {run.progress:.2f}, {speed:.1f} pictures a second",
                flush=True,
            )
    run.save(state())


def of_kind(text: str) -> tuple[str, float]:
    kind, _, factor = text.partition("=")
    if kind not in KINDS:
        raise argparse.ArgumentTypeError(f"{kind} is none of {', '.join(KINDS)}")
    return kind, float(factor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    workers.add_arguments(parser, minutes=85)
    parser.add_argument("--data", type=Path, required=True, help="folder of pictures and scenes")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=16, help="pictures a worker takes at once")
    parser.add_argument("--muon-lr", type=float, default=0.01)
    parser.add_argument("--adam-lr", type=float, default=1.5e-3)
    parser.add_argument("--text-lr", type=float, default=2e-4, help="0: the text encoder stays as it is")
    parser.add_argument(
        "--shares", type=float, nargs=4, help="of pictures with no, one, two, three things; else by a curriculum"
    )
    parser.add_argument(
        "--focus", type=of_kind, nargs="*", default=[], help="as kite=4: scenes with one come so many times as often"
    )
    parser.add_argument("--average", type=float, default=0.998, help="how much of the moving average a step keeps")
    parser.add_argument("--decay", type=float, default=0.4, help="share of the run in which the rate falls")
    workers.start(work, parser.parse_args())


if __name__ == "__main__":
    main()
