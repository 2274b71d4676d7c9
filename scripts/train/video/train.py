"""Trains one stage of the clip model for a number of minutes; goes on where it was stopped.

    python train.py --stage text --state state/ --minutes 10
    python train.py --stage denoiser --state state/ --minutes 900 --until 0.2

Stages: text, decoder, encoder, denoiser; all but the last are independent of each other, and the denoiser starts from the text encoder that
`text` taught. The learning rate follows the share of the minutes that is done; a longer --minutes takes a finished run up again. Minutes are those
of the processor, so that a stopped process, and one that waits for others, loses nothing.
"""

import argparse
import time

import torch
import workers
from codec import Decoder, Encoder
from denoising import Denoiser
from listening import Text
from muon import optimizers, restore, take_step
from PIL import Image

from render import sheet

STAGES = {"text": Text, "decoder": Decoder, "encoder": Encoder, "denoiser": Denoiser}
SAVED_EVERY = 600.0
"""Seconds from one save to the next."""


def work(rank: int, args: argparse.Namespace) -> None:
    run = workers.Run(rank, args, args.stage)
    saved = run.load()
    seed = 1000 * run.done["step"] + rank
    stage = STAGES[args.stage](args, seed)
    torch.manual_seed(seed)
    module, tuned = stage.module, optimizers(stage.muon, stage.adam)
    average = workers.Average(module, args.average)
    if saved:
        module.load_state_dict(saved["model"])
        restore(tuned, saved["optimizers"])
        average.weights = saved["average"]

    def state() -> dict:
        return {
            "model": module.state_dict(),
            "optimizers": [o.state_dict() for o in tuned],
            "average": average.weights,
        }

    parameters, running = list(module.parameters()), 0.0
    while run.progress < args.until:
        run.pause(state)
        loss = stage.loss()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        take_step(tuned, workers.rate(run.progress, decay=args.decay))
        average.update(module, run.done["step"])
        running = loss.item() if running == 0 else 0.98 * running + 0.02 * loss.item()
        run.finish_step(state, every=SAVED_EVERY)
        run.meet(parameters)
        if rank == 0 and run.done["step"] % 100 == 0:
            report(run, running)
        if rank == 0 and run.done["step"] % 1000 == 0 and hasattr(stage, "show"):
            with average.applied(module):
                Image.fromarray(sheet(stage.show(), 7)).save(args.state / f"{args.stage}.png")
    run.save(state())


def report(run: workers.Run, loss: float) -> None:
    pace = run.done["seconds"] / run.done["step"]
    print(
        f"{time.strftime('%H:%M:%S')} step {run.done['step']} loss {loss:.4f} run {run.progress:.3f}, {pace:.2f} s a step",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    workers.add_arguments(parser, minutes=60)
    parser.add_argument("--stage", choices=list(STAGES), required=True)
    parser.add_argument("--until", type=float, default=1.0, help="share of the minutes at which to stop")
    parser.add_argument("--batch", type=int, default=16, help="clips, or crops, a worker takes at once")
    parser.add_argument("--size", type=int, default=48, help="side of the autoencoder's crops")
    parser.add_argument("--average", type=float, default=0.999, help="how much of the moving average a step keeps")
    parser.add_argument("--decay", type=float, default=0.35, help="share of the run in which the rate falls")
    workers.start(work, parser.parse_args())


if __name__ == "__main__":
    main()
