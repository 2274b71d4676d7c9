"""Trains the chat model, for a given number of minutes, on conversations made as it goes.

    python train.py --model ../../models/svc-chat-mini --state state/ --minutes 75

Each worker is one process with one thread and its own share of a step; they meet once a step
to add their gradients. On cores that others use too this beats threads, which meet at every
operation. The learning rate follows the training time spent, so a run on a slow machine is a whole run
with fewer steps. It resumes from `--state`, saves and waits while `--pause-file` exists, and writes its
weights there every few minutes; `export.py` turns them into the checkpoint.
"""

import argparse
import datetime
import os
import random
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing
import torch.nn.functional as F
from tokenizers import Tokenizer

import data
import dialogues
from model import ChatModel, Config
from optimizer import optimizers

WARM_UP, DECAY = 0.01, 0.5
"""Shares of the run in which the learning rate rises and falls."""
LONG_FROM = 0.9
"""From here on conversations of up to 1,024 tokens join those of up to 512."""


def rate(progress: float) -> float:
    return min(1.0, (progress + 1e-3) / WARM_UP, max(0.02, (1 - progress) / DECAY))


def loss_of(model: ChatModel, batch: list) -> torch.Tensor:
    """Mean cross entropy of the tokens that the model is to write."""
    device = next(model.parameters()).device
    wanted = torch.cat([flags.reshape(-1) for _, flags in batch]).nonzero()[:, 0]
    following = torch.cat([torch.roll(ids, -1, dims=1).reshape(-1) for ids, _ in batch])[wanted]
    return F.cross_entropy(model([ids.to(device) for ids, _ in batch], wanted.to(device)), following.to(device))


@torch.no_grad()
def held_out_losses(model: ChatModel, held_out: dict[str, list]) -> str:
    return "  ".join(f"{skill} {loss_of(model, batch).item():.3f}" for skill, batch in held_out.items())


def held_out_batches(tokenizer: Tokenizer) -> dict[str, list]:
    rng = random.Random(99)
    return {
        skill: data.blocks(
            [data.encode(tokenizer, dialogues.conversation(rng, skill, held_out=True)) for _ in range(24)]
        )
        for skill in dialogues.SKILLS
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="folder with tokenizer.json")
    parser.add_argument("--state", type=Path, required=True, help="folder for the running state")
    parser.add_argument("--minutes", type=float, default=75, help="training time, pauses left out")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=6144, help="tokens a step")
    parser.add_argument("--muon-lr", type=float, default=0.02)
    parser.add_argument("--adam-lr", type=float, default=0.004)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause-file", type=Path, help="wait while this file exists")
    return parser.parse_args()


def average_gradients(model: ChatModel, loss: torch.Tensor, stop: bool) -> tuple[float, bool]:
    """Averages gradients and loss over the workers; anyone's `stop` stops all."""
    grads = [p.grad for p in model.parameters()]
    flat = torch.cat([*(g.reshape(-1) for g in grads), loss.detach().reshape(1), torch.tensor([float(stop)])])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    start = 0
    for g in grads:
        g.copy_(flat[start : start + g.numel()].view_as(g))
        start += g.numel()
    return flat[-2].item(), flat[-1].item() > 0


def work(rank: int, args: argparse.Namespace) -> None:
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29871")
    dist.init_process_group("gloo", rank=rank, world_size=args.workers, timeout=datetime.timedelta(days=2))
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    config = Config(vocab_size=tokenizer.get_vocab_size(), num_hidden_layers=args.layers)
    model = ChatModel(config)
    tuned = optimizers(model, args.muon_lr, args.adam_lr)
    done = {"step": 0, "tokens": 0, "seconds": 0.0}
    latest = args.state / "latest.pt"
    if latest.exists():
        saved = torch.load(latest, weights_only=False)
        model.load_state_dict(saved["model"])
        for optimizer, state in zip(tuned, saved["optimizers"]):
            optimizer.load_state_dict(state)
        done = saved["done"]
    dist.barrier()

    def save() -> None:
        state = {
            "config": config,
            "model": model.state_dict(),
            "optimizers": [o.state_dict() for o in tuned],
            "done": done,
        }
        torch.save(state, latest.with_suffix(".new"))
        latest.with_suffix(".new").replace(latest)

    held_out = held_out_batches(tokenizer) if rank == 0 else {}
    stream = data.Stream(tokenizer, args.seed + 1000 * done["step"] + rank, args.tokens // args.workers)
    budget, running, last_save, stop = args.minutes * 60, 0.0, time.time(), False
    while not stop:
        if args.pause_file and args.pause_file.exists():
            if rank == 0:
                save()
            while args.pause_file.exists():
                time.sleep(1)
        began = time.time()
        progress = min(1.0, done["seconds"] / budget)
        if progress > LONG_FROM:
            stream.longest, stream.long_share = 1024, 0.06
        batch = next(stream)
        loss = loss_of(model, batch)
        loss.backward()
        mean_loss, stop = average_gradients(model, loss, rank == 0 and progress >= 1)
        factor = torch.tensor(rate(progress))
        dist.broadcast(factor, 0)
        for optimizer in tuned:
            for group in optimizer.param_groups:
                group["lr"] = group["initial_lr"] * factor.item()
            optimizer.step()
            optimizer.zero_grad()
        running = mean_loss if running == 0 else 0.97 * running + 0.03 * mean_loss
        done["step"] += 1
        done["tokens"] += args.workers * sum(ids.numel() for ids, _ in batch)
        done["seconds"] += time.time() - began
        if rank == 0 and done["step"] % 20 == 0:
            print(
                f"{time.strftime('%H:%M:%S')} step {done['step']} loss {running:.3f} rate {factor:.2f} {done['tokens'] / 1e6:.2f} M tokens, {done['tokens'] / done['seconds']:.0f} a second",
                flush=True,
            )
        if rank == 0 and done["step"] % 200 == 0:
            print("  held out: " + held_out_losses(model, held_out), flush=True)
        if rank == 0 and (stop or time.time() - last_save > 180):
            save()
            last_save = time.time()


def main() -> None:
    args = arguments()
    args.state.mkdir(parents=True, exist_ok=True)
    torch.multiprocessing.spawn(work, (args,), nprocs=args.workers)


if __name__ == "__main__":
    main()
