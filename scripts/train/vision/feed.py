"""Batches of texts and pictures, made by other processes while the device computes the step before."""

import random
from argparse import Namespace
from collections.abc import Iterator

import pictures_stream
import torch
from tokenizers import Tokenizer
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

import data as texts
from train import LONG_FROM

SEEDS_APART = 100
"""Feeders of one worker, at most: their seeds follow the worker's own."""


class Batches(IterableDataset):
    """Endless pairs of a batch of texts and one of pictures. `progress`: of the run, a tensor that all processes share."""

    def __init__(self, args: Namespace, seed: int, tokens: int, progress: torch.Tensor) -> None:
        self.args, self.seed, self.tokens, self.progress = args, seed, tokens, progress

    def __iter__(self) -> Iterator[tuple]:
        args, feeder = self.args, get_worker_info()
        seed = self.seed * SEEDS_APART + (feeder.id if feeder else 0)
        random.seed(seed)
        tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
        text_stream = texts.Stream(tokenizer, seed, args.tokens, args.block)
        talk = pictures_stream.question if args.only_sight else pictures_stream.conversation
        picture_stream = pictures_stream.Stream(
            tokenizer, args.data, seed, args.pictures, self.tokens, args.block, talk
        )
        while True:
            if self.progress.item() > LONG_FROM:
                text_stream.longest, text_stream.long_share = 1024, 0.06
            yield [] if args.only_sight else next(text_stream), next(picture_stream)


def _as_it_is(batch: tuple) -> tuple:
    return batch


def feed(args: Namespace, seed: int, tokens: int) -> tuple[Iterator[tuple], torch.Tensor]:
    """The batches, by `args.feeders` processes (0: by this one), and the tensor to which the run writes its progress. `tokens`: of a picture."""
    torch.multiprocessing.set_sharing_strategy(
        "file_system"
    )  # a batch is many small tensors: more than a process may have open files
    progress = torch.zeros(()).share_memory_()
    batches = Batches(args, seed, tokens, progress)
    ahead = 4 if args.feeders else None
    loader = DataLoader(batches, batch_size=None, num_workers=args.feeders, collate_fn=_as_it_is, prefetch_factor=ahead)
    return iter(loader), progress
