"""Endless batches of freshly generated conversations.

Conversations are sorted by length within a pool and cut into blocks of equal length, then
the blocks are shuffled: a batch mixes short and long ones and is padded by a percent or two.
"""

import random

import torch
from tokenizers import Tokenizer
from torch import Tensor

import dialogues
from template import segments

MIXTURE = {
    "chat": 2.0, "facts": 4.5, "unknown": 0.9, "story": 0.3, "arithmetic": 1.6,
    "reading": 1.7, "json": 1.7, "memory": 1.5, "tools": 1.9,
}  # fmt: skip

POOL = 1500
BLOCK_TOKENS = 1024
"""Tokens of a block on a CPU, where larger ones leave its caches; a GPU wants fewer and larger ones."""

Example = tuple[list[int], list[bool]]


def encode(tokenizer: Tokenizer, conversation: dict) -> Example:
    """Token ids, and for each whether the model is to write it."""
    ids: list[int] = []
    wanted: list[bool] = []
    for text, written in segments(conversation):
        piece = tokenizer.encode(text, add_special_tokens=False).ids
        ids += piece
        wanted += [written] * len(piece)
    return ids, wanted


def blocks(examples: list[Example], most: int = BLOCK_TOKENS) -> list[tuple[Tensor, Tensor]]:
    """Blocks (rows, length) of at most `most` ids, and of whether the token after each is to be learnt."""
    examples = sorted(examples, key=lambda e: len(e[0]))
    made, start = [], 0
    while start < len(examples):
        end = start + 1
        while end < len(examples) and len(examples[end][0]) * (end + 1 - start) <= most:
            end += 1
        length = len(examples[end - 1][0])
        ids = torch.zeros(end - start, length, dtype=torch.long)
        wanted = torch.zeros(end - start, length, dtype=torch.bool)
        for row, (tokens, flags) in enumerate(examples[start:end]):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            wanted[row, : len(tokens) - 1] = torch.tensor(flags[1:])
        made.append((ids, wanted))
        start = end
    return made


class Stream:
    """An iterator of batches of about `tokens`; `longest` and `long_share` may change underway."""

    def __init__(self, tokenizer: Tokenizer, seed: int, tokens: int, block: int = BLOCK_TOKENS):
        self.tokenizer, self.tokens, self.block = tokenizer, tokens, block
        self.rng = random.Random(seed)
        self.longest, self.long_share = 512, 0.0
        self.pool: list[tuple[Tensor, Tensor]] = []

    def _fill(self) -> None:
        rng, examples = self.rng, []
        for skill in rng.choices(list(MIXTURE), list(MIXTURE.values()), k=POOL):
            long = rng.random() < self.long_share
            example = encode(
                self.tokenizer, dialogues.long_conversation(rng) if long else dialogues.conversation(rng, skill)
            )
            if len(example[0]) <= self.longest:
                examples.append(example)
        self.pool = blocks(examples, self.block)
        rng.shuffle(self.pool)

    def __next__(self) -> list[tuple[Tensor, Tensor]]:
        batch, size = [], 0
        while size < self.tokens:
            if not self.pool:
                self._fill()
            block = self.pool.pop()
            batch.append(block)
            size += block[0].numel()
        return batch
