"""Muon for the matrices of the layers, Adam for embeddings and norms."""

import torch
import torch.distributed as dist
from torch import Tensor


def orthogonalized(g: Tensor, steps: int = 5) -> Tensor:
    """The nearest semi-orthogonal matrices to the batch g (n, rows, columns), by Newton-Schulz
    iteration with the coefficients of Muon (Jordan et al. 2024)."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = g.shape[-2] > g.shape[-1]
    x = g.mT if tall else g
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


def shared(g: Tensor) -> Tensor:
    """`orthogonalized`, each worker doing its share of the matrices."""
    if not dist.is_initialized():
        return orthogonalized(g)
    mine = slice(dist.get_rank(), None, dist.get_world_size())
    result = torch.zeros_like(g)
    result[mine] = orthogonalized(g[mine])
    dist.all_reduce(result)
    return result


class Muon(torch.optim.Optimizer):
    """Matrices of one shape are updated together, as one batch."""

    def __init__(self, params: list[Tensor], lr: float, momentum: float = 0.95, weight_decay: float = 0.01):
        shapes = sorted({tuple(p.shape) for p in params})
        groups = [{"params": [p for p in params if tuple(p.shape) == shape]} for shape in shapes]
        super().__init__(groups, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            params = group["params"]
            updates = []
            for p in params:
                state = self.state[p]
                buffer = state.setdefault("momentum", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                updates.append(p.grad.lerp(buffer, group["momentum"]))
            rows, columns = params[0].shape
            scale = group["lr"] * max(1.0, rows / columns) ** 0.5
            for p, update in zip(params, shared(torch.stack(updates))):
                p.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-scale)


def optimizers(model: torch.nn.Module, muon_lr: float, adam_lr: float) -> list[torch.optim.Optimizer]:
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "layers" in name]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]
    made = [Muon(matrices, muon_lr), torch.optim.Adam(others, lr=adam_lr, betas=(0.9, 0.95), eps=1e-10)]
    for optimizer in made:
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
    return made
