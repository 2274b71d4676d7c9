"""Trains the chat model together with its sight, for a given number of minutes, on conversations made as it goes.

    export PYTHONPATH=..:../image
    python ../image/pictures.py --data data/ --shards 64
    python train_sight.py --model ../../../models/svc-chat-mini --data data/ --state state/ --minutes 110

The chat model starts from the weights in the model's folder where there are any (of Qwen3ForCausalLM). Each step takes a batch of texts and a batch of pictures. Workers, saves and pauses are those of image/workers.py.
"""

import argparse
import random
import time
from pathlib import Path

import pictures_stream
import sight as seeing
import torch
import workers
from muon import restore, take_step
from safetensors.torch import load_file
from tokenizers import Tokenizer
from tower import TowerConfig

import data as texts
from model import ChatModel, Config
from optimizer import Muon
from train import LONG_FROM, held_out_batches, held_out_losses
from train import loss_of as text_loss

READOUT = 0.15
"""Share of the readout's loss in a step's."""


def optimizers(chat: torch.nn.Module, sight: torch.nn.Module, muon_lr: float, adam_lr: float) -> list:
    """Muon for the matrices of both models' layers, Adam for the rest."""
    named = [*chat.named_parameters(), *sight.named_parameters()]
    matrices = [p for name, p in named if p.ndim == 2 and (".layers." in name or ".layer." in name)]
    taken = {id(p) for p in matrices}
    others = [p for _, p in named if id(p) not in taken]
    made = [Muon(matrices, muon_lr), torch.optim.AdamW(others, lr=adam_lr, betas=(0.9, 0.95), weight_decay=1e-3)]
    for optimizer in made:
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
    return made


def work(rank: int, args: argparse.Namespace) -> None:
    run = workers.Run(rank, args, "sight")
    torch.manual_seed(args.seed)
    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    config, tower = Config(vocab_size=tokenizer.get_vocab_size(), num_hidden_layers=args.layers), TowerConfig()
    both = torch.nn.ModuleDict({"chat": ChatModel(config), "sight": seeing.Sight(tower, config.hidden_size)})
    chat, sight = both["chat"], both["sight"]
    if (weights := args.model / "model.safetensors").exists():
        chat.grow_from(load_file(weights))
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
    text_stream = texts.Stream(tokenizer, seed, args.tokens)
    picture_stream = pictures_stream.Stream(tokenizer, args.data, seed, args.pictures, tower.tokens)
    image = tokenizer.token_to_id(pictures_stream.IMAGE)
    held_out = held_out_batches(tokenizer) if rank == 0 else {}
    random.seed(seed)
    torch.manual_seed(seed)
    parameters, running = list(both.parameters()), [0.0, 0.0, 0.0]
    while run.progress < 1:
        run.pause(state)
        if run.progress > LONG_FROM:
            text_stream.longest, text_stream.long_share = 1024, 0.06
        of_text = text_loss(chat, next(text_stream))
        of_text.backward()
        of_pictures, of_readout = seeing.picture_losses(chat, sight, image, next(picture_stream))
        (of_pictures + READOUT * of_readout).backward()
        take_step(tuned, workers.rate(run.progress, warm_up=0.01))
        average.update(both, run.done["step"])
        run.finish_step(state)
        run.meet(parameters)
        losses = [of_text.item(), of_pictures.item(), of_readout.item()]
        running = [b if a == 0 else 0.97 * a + 0.03 * b for a, b in zip(running, losses)]
        if rank == 0 and run.done["step"] % 20 == 0:
            speed = run.done["step"] * args.pictures * args.workers / run.done["seconds"]
            print(
                f"{time.strftime('%H:%M:%S')} step {run.done['step']} text {running[0]:.3f} pictures {running[1]:.3f} readout {running[2]:.3f} run {run.progress:.3f}, {speed:.1f} pictures a second",
                flush=True,
            )
        if rank == 0 and run.done["step"] % 400 == 0:
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
    parser.add_argument("--muon-lr", type=float, default=0.014)
    parser.add_argument("--adam-lr", type=float, default=0.002)
    parser.add_argument("--average", type=float, default=0.998, help="how much of the moving average a step keeps")
    parser.add_argument("--seed", type=int, default=1)
    workers.start(work, parser.parse_args())


if __name__ == "__main__":
    main()
