"""Muon for the matrices and convolutions of a network, Adam for the rest."""

import sys
from pathlib import Path

import torch
from torch import Tensor

sys.path.append(str(Path(__file__).resolve().parent.parent))
from optimizer import orthogonalized  # noqa: E402  (the chat model's)


def orthogonalized_long(g: Tensor, steps: int = 5) -> Tensor:
    """`orthogonalized` for matrices (n, rows, columns) much longer one way than the other, iterating on the short side alone."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = g.shape[-2] > g.shape[-1]
    x = g.mT if tall else g
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    gram = x @ x.mT
    product = one = torch.eye(gram.shape[-1], device=g.device)
    for _ in range(steps):
        factor = a * one + b * gram + c * gram @ gram
        product = factor @ product
        gram = factor @ gram @ factor
    x = product @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """Weights of one shape are updated together; a convolution [out, in, h, w] is the matrix [out, in·h·w]."""

    def __init__(self, params: list[Tensor], lr: float, momentum: float = 0.95, weight_decay: float = 0.01):
        shapes = sorted({tuple(p.shape) for p in params})
        groups = [{"params": [p for p in params if tuple(p.shape) == shape]} for shape in shapes]
        super().__init__(groups, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            updates = []
            for p in group["params"]:
                state = self.state[p]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(p)
                state["momentum"].lerp_(p.grad, 1 - group["momentum"])
                updates.append(p.grad.lerp(state["momentum"], group["momentum"]).flatten(1))
            rows, columns = updates[0].shape
            scale = group["lr"] * max(1.0, rows / columns) ** 0.5
            even = orthogonalized_long if max(rows, columns) >= 3 * min(rows, columns) else orthogonalized
            for p, update in zip(group["params"], even(torch.stack(updates))):
                p.mul_(1 - group["lr"] * group["weight_decay"]).add_(update.view_as(p), alpha=-scale)


def inner(module: torch.nn.Module) -> list[Tensor]:
    """The weights between a network's first and last convolution; what scales or shifts channels one by one is no matrix."""
    return [p for n, p in module.named_parameters() if p.ndim >= 2 and 1 < p.shape[0] < p.numel() and "block" in n]


def optimizers(muon: list[tuple[torch.nn.Module, float]], adam: list[tuple[torch.nn.Module, float]]) -> list:
    """For modules and learning rates: Muon on inner weights of the first list, Adam on all else that the second list has."""
    matrices = [(inner(module), lr) for module, lr in muon]
    taken = {id(p) for params, _ in matrices for p in params}
    groups = [{"params": [p for p in module.parameters() if id(p) not in taken], "lr": lr} for module, lr in adam]
    made = [
        *(Muon(params, lr) for params, lr in matrices),
        torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=1e-3),
    ]
    for optimizer in made:
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
    return made


def take_step(made: list, factor: float) -> None:
    for optimizer in made:
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"] * factor
        optimizer.step()
        optimizer.zero_grad()


def restore(made: list, states: list[dict]) -> None:
    """Restores saved optimizer states; the learning rates are those of this run."""
    for optimizer, state in zip(made, states):
        rates = [group["initial_lr"] for group in optimizer.param_groups]
        optimizer.load_state_dict(state)
        for group, rate in zip(optimizer.param_groups, rates):
            group["initial_lr"] = rate
