"""Trains the chat model together with its sight, for a given number of minutes, on conversations made as it goes.

    export PYTHONPATH=..:../image
    python ../image/pictures.py --data data/ --shards 64
    python train_sight.py --model ../../../models/svc-chat-mini --data data/ --state state/ --minutes 110
    python train_sight.py ... --only-sight --workers 1 --minutes 30                          # the chat model's weights stay as they are
    python train_sight.py ... --device cuda --workers 1 --feeders 12 --block 4096 --tokens 16384 --pictures 128 --minutes 6   # on a GPU

The models start from the weights in the model's folder where there are any: of a Qwen3ForCausalLM, or of the checkpoint that export_sight.py writes.
Each step takes a batch of texts and a batch of pictures. Workers, saves and pauses are those of image/workers.py.
"""

import argparse
import time
from pathlib import Path

import feed
import pictures_stream
import sight as seeing
import torch
import workers
from muon import restore, take_step
from safetensors.torch import load_file
from tokenizers import Tokenizer
from tower import TowerConfig

from data import BLOCK_TOKENS
from export_sight import PARTS
from model import ChatModel, Config
from optimizer import Muon
from train import held_out_batches, held_out_losses
from train import loss_of as text_loss


def optimizers(chat: torch.nn.Module, sight: torch.nn.Module, muon_lr: float, adam_lr: float) -> list:
    """Muon for the matrices of both models' layers, Adam for the rest."""
    named = [*chat.named_parameters(), *sight.named_parameters()]
    named = [(name, p) for name, p in named if p.requires_grad]
    matrices = [p for name, p in named if p.ndim == 2 and (".layers." in name or ".layer." in name)]
    taken = {id(p) for p in matrices}
    others = [p for _, p in named if id(p) not in taken]
    made = [Muon(matrices, muon_lr), torch.optim.AdamW(others, lr=adam_lr, betas=(0.9, 0.95), weight_decay=1e-3)]
    for optimizer in made:
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
    return made


def begin_from(weights: dict[str, torch.Tensor], both: torch.nn.ModuleDict) -> None:
    """Takes up a checkpoint of a chat model, or of one that sees: the names of the latter have other prefixes."""
    if not any(name.startswith("model.language_model.") for name in weights):
        both["chat"].grow_from(weights)
        return
    own = {}
    for name, weight in weights.items():
        (prefix, published) = next(part for part in PARTS.items() if name.startswith(part[1]))
        own[prefix + name.removeprefix(published)] = weight.float()
    missing, unexpected = both.load_state_dict(own, strict=False)
    assert not unexpected and all(name.startswith("sight.readout.") for name in missing), (missing, unexpected)


def work(rank: int, args: argparse.Namespace) -> None:
    run = workers.Run(rank, args, "sight")
    torch.manual_seed(args.seed)
    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    config, tower = Config(vocab_size=tokenizer.get_vocab_size(), num_hidden_layers=args.layers), TowerConfig()
    both = torch.nn.ModuleDict({"chat": ChatModel(config), "sight": seeing.Sight(tower, config.hidden_size)})
    chat, sight = both["chat"], both["sight"]
    if (weights := args.model / "model.safetensors").exists():
        begin_from(load_file(weights), both)
    both.to(args.device)
    chat.requires_grad_(not args.only_sight)
    tuned = optimizers(chat, sight, args.muon_lr, args.adam_lr)
    average = workers.Average(both, args.average)
    if saved := run.load():
        both.load_state_dict(saved["model"])
        restore(tuned, saved["optimizers"])
        average.weights = saved["average"]

    def state() -> dict:
        states = [o.state_dict() for o in tuned]
        return {
            "config": config,
            "tower": tower,
            "model": both.state_dict(),
            "optimizers": states,
            "average": average.weights,
        }

    seed = args.seed + 1000 * run.done["step"] + rank
    batches, progress = feed.feed(args, seed, tower.tokens)
    image = tokenizer.token_to_id(pictures_stream.IMAGE)
    held_out = held_out_batches(tokenizer) if rank == 0 and not args.only_sight else {}
    torch.manual_seed(seed)
    parameters, running = list(both.parameters()), None
    torch.set_float32_matmul_precision("high")
    halves = torch.autocast(args.device, torch.bfloat16, enabled=args.device != "cpu")
    while run.progress < 1:
        run.pause(state)
        progress.fill_(run.progress)
        of_texts, about_pictures = next(batches)
        of_text = torch.zeros(())
        if not args.only_sight:
            with halves:
                of_text = text_loss(chat, of_texts)
            of_text.backward()
        with halves:
            of_pictures, of_readout = seeing.picture_losses(chat, sight, image, about_pictures)
        (of_pictures + args.readout * of_readout).backward()
        take_step(tuned, workers.rate(run.progress, warm_up=0.01))
        average.update(both, run.done["step"])
        run.finish_step(state)
        run.meet(parameters)
        losses = torch.stack([of_text, of_pictures, of_readout]).detach()
        running = losses if running is None else running.lerp(losses, 0.03)
        if rank == 0 and run.done["step"] % 20 == 0:
            text, pictures, readout = running.tolist()
            speed = run.done["step"] * args.pictures * args.workers / run.done["seconds"]
            print(
                f"{time.strftime('%H:%M:%S')} step {run.done['step']} text {text:.3f} pictures {pictures:.3f} readout {readout:.3f} run {run.progress:.3f}, {speed:.1f} pictures a second",
                flush=True,
            )
        if held_out and run.done["step"] % 400 == 0:
            print("  held out: " + held_out_losses(chat, held_out), flush=True)
    run.save(state())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    workers.add_arguments(parser, minutes=110)
    parser.add_argument("--model", type=Path, required=True, help="folder with tokenizer.json")
    parser.add_argument("--data", type=Path, required=True, help="folder of pictures and scenes")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=3072, help="tokens of texts a worker takes at once")
    parser.add_argument("--pictures", type=int, default=24, help="pictures a worker takes at once")
    parser.add_argument(
        "--block", type=int, default=BLOCK_TOKENS, help="tokens of the blocks that a batch is cut into; 4096 on a GPU"
    )
    parser.add_argument(
        "--feeders", type=int, default=0, help="processes a worker has for making batches; 0: it makes them itself"
    )
    parser.add_argument(
        "--readout",
        type=float,
        default=0.15,
        help="share of the readout's loss; 0 for short runs from a tower that sees: a new readout would disturb it",
    )
    parser.add_argument(
        "--only-sight", action="store_true", help="train tower and projector before a chat model that stays as it is"
    )
    parser.add_argument("--muon-lr", type=float, default=0.014)
    parser.add_argument("--adam-lr", type=float, default=0.002)
    parser.add_argument("--average", type=float, default=0.998, help="how much of the moving average a step keeps")
    parser.add_argument("--seed", type=int, default=1)
    workers.start(work, parser.parse_args())


if __name__ == "__main__":
    main()
