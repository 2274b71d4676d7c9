"""Trains the autoencoder: diffusers' AutoencoderKL, eight times smaller, 8 latent channels, on crops of 64×64.

    python autoencoder.py --data data/ --state state/ --minutes 30

At the end (and with `--write-only`) each latent channel is brought to mean 0 and deviation 1 by folding its statistics into the
1×1 convolutions at the bottleneck, so that the scaling factor is 1.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from diffusers import AutoencoderKL
from PIL import Image

import workers
from muon import optimizers, take_step
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
CROP = 64


def to_floats(pictures: np.ndarray) -> torch.Tensor:
    """[n, h, w, 3] u8 → [n, 3, h, w] in -1…1, channels last in memory."""
    return torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 127.5 - 1


def to_pictures(x: torch.Tensor) -> np.ndarray:
    return ((x.clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1).contiguous().cpu().numpy()


def crops(shards: list[np.ndarray], rng: np.random.Generator, count: int, size: int) -> torch.Tensor:
    """`count` crops at random, half of them mirrored."""
    out = np.empty((count, size, size, 3), np.uint8)
    for i in range(count):
        pictures = shards[rng.integers(len(shards))]
        picture = pictures[rng.integers(len(pictures))]
        y, x = rng.integers(0, picture.shape[0] - size + 1, 2)
        crop = picture[y : y + size, x : x + size]
        out[i] = crop[:, ::-1] if rng.random() < 0.5 else crop
    return to_floats(out)


def edges(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x[:, :, 1:] - x[:, :, :-1], x[:, :, :, 1:] - x[:, :, :, :-1]


def loss_of(vae: AutoencoderKL, x: torch.Tensor, decoder_only: bool) -> torch.Tensor:
    with torch.set_grad_enabled(not decoder_only):
        posterior = vae.encode(x).latent_dist
        z = posterior.sample()
    y = vae.decode(z).sample
    sharp = sum(F.l1_loss(a, b) for a, b in zip(edges(y), edges(x)))
    return F.l1_loss(y, x) + 0.7 * sharp + 3e-4 * posterior.kl().mean() / posterior.mean[0].numel()


@torch.no_grad()
def show(vae: AutoencoderKL, pictures: np.ndarray, path: Path) -> float:
    """Saves pictures above their reconstructions; returns the mean absolute error in 0…255."""
    x = to_floats(pictures).to(vae.device)
    y = to_pictures(vae.decode(vae.encode(x).latent_dist.mode()).sample)
    rows = [p for i in range(0, len(y), 8) for p in (*pictures[i : i + 8], *y[i : i + 8])]
    Image.fromarray(sheet(rows, 8)).save(path)
    return float(np.abs(y.astype(float) - pictures).mean())


@torch.no_grad()
def fold(vae: AutoencoderKL, pictures: np.ndarray) -> None:
    """Brings the latent's channels to mean 0 and deviation 1."""
    z = torch.cat([vae.encode(to_floats(p).to(vae.device)).latent_dist.mode() for p in np.array_split(pictures, 32)])
    mean, std = z.mean((0, 2, 3)), z.std((0, 2, 3))
    c = len(mean)
    vae.quant_conv.weight[:c] /= std.view(-1, 1, 1, 1)
    vae.quant_conv.bias[:c] = (vae.quant_conv.bias[:c] - mean) / std
    vae.quant_conv.bias[c:] -= 2 * std.log()
    vae.post_quant_conv.bias += (vae.post_quant_conv.weight[:, :, 0, 0] * mean).sum(1)
    vae.post_quant_conv.weight *= std.view(1, -1, 1, 1)


def work(rank: int, args: argparse.Namespace) -> None:
    run = workers.Run(rank, args, "decoder" if args.decoder_only else "autoencoder")
    torch.manual_seed(1)
    vae = AutoencoderKL.from_pretrained(args.state / "vae") if args.decoder_only else AutoencoderKL.from_config(CONFIG)
    vae.to(args.device, memory_format=torch.channels_last)
    trained = torch.nn.ModuleList([vae.post_quant_conv, vae.decoder]) if args.decoder_only else vae
    tuned = optimizers([(trained, args.muon_lr)], [(trained, args.adam_lr)])
    average = workers.Average(vae, 0.998)
    if saved := run.load():
        vae.load_state_dict(saved["model"])
        for optimizer, state in zip(tuned, saved["optimizers"]):
            optimizer.load_state_dict(state)
        average.weights = saved["average"]

    def state() -> dict:
        optimizer_states = [o.state_dict() for o in tuned]
        return {"model": vae.state_dict(), "optimizers": optimizer_states, "average": average.weights}

    shards = [np.load(p, mmap_mode="r") for p in sorted(args.data.glob("pictures-???.npy"))]
    rng = np.random.default_rng(1000 * run.done["step"] + rank)
    torch.manual_seed(1000 * run.done["step"] + rank)
    parameters, running = list(trained.parameters()), 0.0
    size = 128 if args.decoder_only else CROP
    while run.progress < 1:
        run.pause(state)
        loss = loss_of(vae, crops(shards, rng, args.batch, size).to(args.device), args.decoder_only)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        take_step(tuned, workers.rate(run.progress))
        average.update(vae, run.done["step"])
        running = loss.item() if running == 0 else 0.98 * running + 0.02 * loss.item()
        run.finish_step(state)
        run.meet(parameters)
        if rank == 0 and run.done["step"] % 100 == 0:
            speed = run.done["step"] * args.batch * args.workers / run.done["seconds"]
            print(
                f"{time.strftime('%H:%M:%S')} step {run.done['step']} loss {running:.4f}, {speed:.0f} crops a second",
                flush=True,
            )
        if rank == 0 and run.done["step"] % 500 == 0:
            with average.applied(vae):
                error = show(vae, np.array(shards[0][:16]), args.state / "autoencoder.png")
            print(f"  mean error {error:.2f} of 255", flush=True)
    run.save(state())
    if rank == 0:
        finish(args)


def finish(args: argparse.Namespace) -> None:
    """Writes the averaged autoencoder to <state>/vae, folded unless its encoder is that of the latents."""
    name = "decoder.pt" if args.decoder_only else "autoencoder.pt"
    saved = torch.load(args.state / name, weights_only=False, map_location="cpu")
    vae = AutoencoderKL.from_config(CONFIG)
    vae.load_state_dict(saved["average"])
    pictures = np.load(min(args.data.glob("pictures-???.npy")), mmap_mode="r")
    before = show(vae, np.array(pictures[:16]), args.state / "autoencoder.png")
    if not args.decoder_only:
        fold(vae, np.array(pictures[:512]))
    after = show(vae, np.array(pictures[:16]), args.state / "autoencoder.png")
    assert abs(before - after) < 0.02, "folding the statistics must not change the pictures"
    vae.save_pretrained(args.state / "vae")
    print(f"mean error {after:.2f} of 255")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    workers.add_arguments(parser, minutes=30)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--muon-lr", type=float, default=0.01)
    parser.add_argument("--adam-lr", type=float, default=1.5e-3)
    parser.add_argument("--decoder-only", action="store_true", help="whole pictures; latents made before stay valid")
    parser.add_argument("--write-only", action="store_true", help="write <state>/vae from the state as it is")
    args = parser.parse_args()
    finish(args) if args.write_only else workers.start(work, args)


if __name__ == "__main__":
    main()
