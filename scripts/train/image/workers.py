"""Training on several CPU cores: one process with one thread a core, each with its own batches and optimizer; every few steps they average their weights.

On cores that others use too this beats threads, which meet at every operation, and gradients averaged at every step. On a GPU it is one process.
A run counts its own training time; it saves every few minutes and on a pause, and resumes from what it saved. On a CPU that is the time
which the processor spent on it: what other work takes, or a process that is stopped, does not count.
"""

import argparse
import contextlib
import datetime
import os
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing


def add_arguments(parser: argparse.ArgumentParser, minutes: float) -> None:
    parser.add_argument("--state", type=Path, required=True, help="folder for the running state")
    parser.add_argument("--minutes", type=float, default=minutes, help="training time, pauses left out")
    parser.add_argument("--workers", type=int, default=2, help="processes; 1 on a GPU")
    parser.add_argument("--meet", type=int, default=10, help="steps between two averages of the workers' weights")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--port", default="29873", help="at which the workers meet")
    parser.add_argument("--pause-file", type=Path, help="save and wait while this file exists")


def start(work: Callable, args: argparse.Namespace) -> None:
    args.state.mkdir(parents=True, exist_ok=True)
    if args.workers == 1:
        work(0, args)
    else:
        torch.multiprocessing.spawn(work, (args,), nprocs=args.workers)


class Run:
    """The schedule of one worker: its training time, its synchronizations with other workers, and its saves."""

    def __init__(self, rank: int, args: argparse.Namespace, name: str) -> None:
        self.rank, self.args, self.path = rank, args, args.state / f"{name}.pt"
        self.done, self.progress = {"step": 0, "seconds": 0.0}, 0.0
        self.last_save = time.time()
        if args.workers > 1:
            os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
            os.environ["MASTER_PORT"] = args.port
            patience = datetime.timedelta(days=2)
            dist.init_process_group("gloo", rank=rank, world_size=args.workers, timeout=patience)
            torch.set_num_threads(1)
        self.began = self.clock()

    def clock(self) -> float:
        return time.process_time() / torch.get_num_threads() if self.args.device == "cpu" else time.time()

    def load(self) -> dict | None:
        """Returns the last saved state, which is equal for all workers."""
        saved = torch.load(self.path, weights_only=False, map_location=self.args.device) if self.path.exists() else None
        if saved:
            self.done = dict(saved["done"])
            self.done["step"] -= self.done["step"] % self.args.meet
            self.progress = min(1.0, self.done["seconds"] / (60 * self.args.minutes))
        if self.args.workers > 1:
            dist.barrier()
        return saved

    def save(self, state: dict) -> None:
        if self.rank == 0:
            torch.save({**state, "done": self.done}, self.path.with_suffix(".new"))
            self.path.with_suffix(".new").replace(self.path)
        self.last_save = time.time()

    def pause(self, state: Callable[[], dict]) -> None:
        file = self.args.pause_file
        if file and file.exists():
            self.save(state())
            while file.exists():
                time.sleep(1)
        self.began = self.clock()

    @torch.no_grad()
    def meet(self, parameters: list[torch.nn.Parameter]) -> None:
        """Every few steps: averages the workers' weights, and agrees on how far the run has come."""
        if self.done["step"] % self.args.meet:
            return
        self.progress = min(1.0, self.done["seconds"] / (60 * self.args.minutes))
        if self.args.workers == 1:
            return
        flat = torch.cat([*(p.reshape(-1) for p in parameters), torch.tensor([self.progress])])
        dist.all_reduce(flat)
        flat /= self.args.workers
        start = 0
        for p in parameters:
            p.copy_(flat[start : start + p.numel()].view_as(p))
            start += p.numel()
        self.progress = flat[-1].item()

    def finish_step(self, state: Callable[[], dict], every: float = 180) -> None:
        self.done["step"] += 1
        self.done["seconds"] += self.clock() - self.began
        if time.time() - self.last_save > every:
            self.save(state())


def rate(progress: float, warm_up: float = 0.02, decay: float = 0.5, least: float = 0.02) -> float:
    """The learning rate's factor: up, level, then linearly down."""
    return min(1.0, (progress + 1e-3) / warm_up, max(least, (1 - progress) / decay))


class Average:
    """An exponential moving average of a module's weights, slower as steps go by."""

    def __init__(self, module: torch.nn.Module, longest: float) -> None:
        self.longest, self.weights = longest, {k: v.detach().clone() for k, v in module.state_dict().items()}

    @torch.no_grad()
    def update(self, module: torch.nn.Module, step: int) -> None:
        keep = min(self.longest, (1 + step) / (10 + step))
        now = module.state_dict()
        torch._foreach_lerp_(list(self.weights.values()), [now[name] for name in self.weights], 1 - keep)

    @contextlib.contextmanager
    def applied(self, module: torch.nn.Module):
        """Context manager: the module has its averaged weights within the block."""
        own = {k: v.detach().clone() for k, v in module.state_dict().items()}
        module.load_state_dict(self.weights)
        yield module
        module.load_state_dict(own)
