"""Prompts after which a model of random weights decides clearly: each greedy token stands above the next best one by a wide margin.

Random prompts are continued in batches, and those are dropped that meet a close decision. Tokens recur, so that the next one hangs on what stands
before it and where: a wrong rotary type or window changes it.
"""

import random

import torch

MARGIN = 0.02  # of the largest magnitude in a row
DIFFERENT, BATCH, BATCHES = 8, 256, 80


def leads(logits):
    """By how much the best of each row exceeds the next, relative to the largest magnitude of the row."""
    best = logits.topk(2).values
    return (best[:, 0] - best[:, 1]) / logits.abs().amax(-1)


def continued(forward, ids, steps, margin):
    """Of the rows of ids those whose tokens lead by `margin` at each step, with these tokens, and the narrowest lead of each."""
    narrowest = torch.full((len(ids),), torch.inf)
    for _ in range(steps):
        logits = forward(ids)
        narrowest = torch.minimum(narrowest, leads(logits))
        clear = narrowest > margin
        ids, narrowest = torch.cat((ids, logits.argmax(-1)[:, None]), 1)[clear], narrowest[clear]
        if not len(ids):
            break
    return ids, narrowest


@torch.no_grad()
def clear_prompt(forward, seed, vocabulary, length, steps, placed=None):
    """A prompt and its continuation; `forward` gives the logits behind rows of ids, `placed` are tokens at positions."""
    draws = random.Random(seed)
    margin, best = MARGIN, None
    for batch in range(BATCHES):
        ids = torch.tensor([draws.choices(vocabulary, k=length) for _ in range(BATCH)])
        for position, token in (placed or {}).items():
            ids[:, position] = token
        rows, narrowest = continued(forward, ids, steps, margin)
        for row, lead in zip(rows, narrowest.tolist()):
            if len(set(row[length:].tolist())) >= DIFFERENT and lead > margin:
                margin, best = lead, row
        if best is not None:
            return best.tolist()
    raise RuntimeError(f'{seed}: no prompt of {BATCHES * BATCH} decides clearly; try another seed')
