"""Trains the autoencoder, diffusers' AutoencoderKL: eight times smaller, 8 latent channels, those of `basis.py`.

    python autoencoder.py --part decoder --data data/ --state state/ --minutes 60
    python autoencoder.py --part encoder --data data/ --state state/ --minutes 20

The decoder learns to paint from latents, the encoder to give them; each at its own time. Both on crops of 64×64, the decoder at last on
whole pictures (`--size 128`).
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from diffusers import AutoencoderKL
from PIL import Image

import basis
import workers
from muon import optimizers, restore, take_step
from render import sheet

CONFIG = {
    "in_channels": 3,
    "out_channels": 3,
    "down_block_types": ["DownEncoderBlock2D"] * 4,
    "up_block_types": ["UpDecoderBlock2D"] * 4,
    "block_out_channels": [16, 32, 64, 96],
    "layers_per_block": 1,
    "latent_channels": 8,
    "norm_num_groups": 8,
    "sample_size": 128,
    "scaling_factor": 1.0,
    "force_upcast": False,
}
CERTAIN = -12.0
"""Log variance that the encoder is given: so low that latents are practically deterministic."""


def to_floats(pictures: np.ndarray) -> torch.Tensor:
    """[n, h, w, 3] u8 → [n, 3, h, w] in -1…1, channels last in memory."""
    return torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 127.5 - 1


def to_pictures(x: torch.Tensor) -> np.ndarray:
    return ((x.clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1).contiguous().cpu().numpy()


def crops(shards: list[np.ndarray], rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """`count` crops at random, on the grid of patches, half of them mirrored; u8."""
    out = np.empty((count, size, size, 3), np.uint8)
    for i in range(count):
        pictures = shards[rng.integers(len(shards))]
        picture = pictures[rng.integers(len(pictures))]
        y, x = basis.PATCH * rng.integers(0, (picture.shape[0] - size) // basis.PATCH + 1, 2)
        crop = picture[y : y + size, x : x + size]
        out[i] = crop[:, ::-1] if rng.random() < 0.5 else crop
    return out


def edges(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x[:, :, 1:] - x[:, :, :-1], x[:, :, :, 1:] - x[:, :, :, :-1]


def decoder_loss(vae: AutoencoderKL, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """Returns the loss of the decoder on latents with a little noise, because the denoiser's output has some."""
    y = vae.decode(z + 0.06 * torch.randn_like(z)).sample
    return F.l1_loss(y, x) + 0.7 * sum(F.l1_loss(a, b) for a, b in zip(edges(y), edges(x)))


def encoder_loss(vae: AutoencoderKL, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    return F.mse_loss(vae.encode(x).latent_dist.mean, z)


LOSSES = {"decoder": decoder_loss, "encoder": encoder_loss}


def make(part: str, device: str) -> tuple[AutoencoderKL, torch.nn.ModuleList]:
    """The autoencoder, and those of its modules that belong to `part`."""
    torch.manual_seed(1)
    vae = AutoencoderKL.from_config(CONFIG).to(device, memory_format=torch.channels_last)
    with torch.no_grad():
        vae.quant_conv.weight.copy_(torch.eye(16).view(16, 16, 1, 1))
        vae.quant_conv.weight[8:] = 0
        vae.quant_conv.bias.copy_(torch.tensor([0.0] * 8 + [CERTAIN] * 8))
    return vae, torch.nn.ModuleList([vae.post_quant_conv, vae.decoder] if part == "decoder" else [vae.encoder])


def load(state: Path, part: str, vae: AutoencoderKL, module: torch.nn.ModuleList) -> None:
    """Loads the averaged weights of a part, if there are any."""
    path = state / f"{part}.pt"
    if path.exists():
        module.load_state_dict(torch.load(path, weights_only=False, map_location="cpu")["average"])


def assembled(state: Path) -> AutoencoderKL:
    vae, decoder = make("decoder", "cpu")
    load(state, "decoder", vae, decoder)
    load(state, "encoder", vae, torch.nn.ModuleList([vae.encoder]))
    return vae


@torch.no_grad()
def show(vae: AutoencoderKL, space: basis.Basis, pictures: np.ndarray, path: Path) -> float:
    """Saves images above their reconstructions; returns the mean absolute error in 0…255."""
    y = to_pictures(vae.decode(torch.from_numpy(space.encode(pictures)).to(vae.device)).sample)
    rows = [p for i in range(0, len(y), 8) for p in (*pictures[i : i + 8], *y[i : i + 8])]
    Image.fromarray(sheet(rows, 8)).save(path)
    return float(np.abs(y.astype(float) - pictures).mean())


def work(rank: int, args: argparse.Namespace) -> None:
    run = workers.Run(rank, args, args.part)
    vae, module = make(args.part, args.device)
    tuned = optimizers([(module, args.muon_lr)], [(module, args.adam_lr)])
    average = workers.Average(module, 0.995)
    if saved := run.load():
        module.load_state_dict(saved["model"])
        restore(tuned, saved["optimizers"])
        average.weights = saved["average"]

    def state() -> dict:
        optimizer_states = [o.state_dict() for o in tuned]
        return {"model": module.state_dict(), "optimizers": optimizer_states, "average": average.weights}

    space = basis.load(args.state)
    shards = [np.load(p, mmap_mode="r") for p in sorted(args.data.glob("pictures-???.npy"))]
    rng = np.random.default_rng(1000 * run.done["step"] + rank)
    torch.manual_seed(1000 * run.done["step"] + rank)
    parameters, running = list(module.parameters()), 0.0
    while run.progress < 1:
        run.pause(state)
        pictures = crops(shards, rng, args.batch, args.size)
        x, z = to_floats(pictures).to(args.device), torch.from_numpy(space.encode(pictures)).to(args.device)
        loss = LOSSES[args.part](vae, x, z)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        take_step(tuned, workers.rate(run.progress))
        average.update(module, run.done["step"])
        running = loss.item() if running == 0 else 0.98 * running + 0.02 * loss.item()
        run.finish_step(state)
        run.meet(parameters)
        if rank == 0 and run.done["step"] % 100 == 0:
            speed = run.done["step"] * args.batch * args.workers / run.done["seconds"]
            print(
                f"{time.strftime('%H:%M:%S')} step {run.done['step']} loss {running:.4f}, {speed:.0f} crops a second",
                flush=True,
            )
        if rank == 0 and run.done["step"] % 500 == 0 and args.part == "decoder":
            with average.applied(module):
                error = show(vae, space, np.array(shards[0][:16]), args.state / "decoder.png")
            print(f"  mean error {error:.2f} of 255", flush=True)
    run.save(state())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    workers.add_arguments(parser, minutes=30)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=list(LOSSES), required=True)
    parser.add_argument("--size", type=int, default=64, help="side of the crops")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--muon-lr", type=float, default=0.01)
    parser.add_argument("--adam-lr", type=float, default=1.5e-3)
    args = parser.parse_args()
    workers.start(work, args)


if __name__ == "__main__":
    main()
