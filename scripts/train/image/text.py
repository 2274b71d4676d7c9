"""Teaches the text encoder, a small CLIPTextModel, to tell a scene from its caption, before the denoiser uses it.

    python text.py --tokenizer tokenizer/ --state state/ --minutes 10

Linear heads on the last token read terrain, time, weather and season, and of each kind of thing
whether it is there, its colour, size, place and height. Only the encoder is kept: <state>/text_encoder.
"""

import argparse
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

import scenes
import workers
from captions import caption
from scenes import KINDS, Scene

SCENE_FIELDS = {"terrain": scenes.TERRAINS, "time": scenes.TIMES, "weather": scenes.WEATHERS, "season": scenes.SEASONS}
THING_FIELDS = {"colour": scenes.COLOURS, "size": scenes.SIZES, "place": scenes.PLACES, "height": scenes.HEIGHTS}
WIDTH = 128


def config_of(tokenizer: CLIPTokenizer) -> CLIPTextConfig:
    return CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=384,
        projection_dim=WIDTH,
        num_hidden_layers=3,
        num_attention_heads=4,
        max_position_embeddings=tokenizer.model_max_length,
        hidden_act="quick_gelu",
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


class Reader(torch.nn.Module):
    def __init__(self, encoder: CLIPTextModel) -> None:
        super().__init__()
        self.encoder = encoder
        self.sizes = [len(v) for v in SCENE_FIELDS.values()]
        self.sizes += [n for _ in KINDS for n in (2, *(len(v) for v in THING_FIELDS.values()))]
        self.heads = torch.nn.Linear(WIDTH, sum(self.sizes))

    def forward(self, ids: torch.Tensor, ends: torch.Tensor) -> list[torch.Tensor]:
        hidden = self.encoder(ids).last_hidden_state
        return self.heads(hidden[torch.arange(len(ids)), ends]).split(self.sizes, dim=1)


def answers(scene: Scene) -> list[int]:
    """Returns the target class of each classifier head; −1 if the scene has none."""
    found = [values.index(getattr(scene, field)) for field, values in SCENE_FIELDS.items()]
    things = {t.kind: t for t in scene.things}
    for kind in KINDS:
        thing = things.get(kind)
        found.append(int(thing is not None))
        for field, values in THING_FIELDS.items():
            aloft = field != "height" or kind in scenes.SKY_KINDS
            found.append(values.index(getattr(thing, field)) if thing and aloft else -1)
    return found


def work(rank: int, args: argparse.Namespace) -> None:
    run = workers.Run(rank, args, "text")
    tokenizer = CLIPTokenizer.from_pretrained(args.tokenizer)
    torch.manual_seed(2)
    reader = Reader(CLIPTextModel(config_of(tokenizer))).to(args.device)
    optimizer = torch.optim.AdamW(reader.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=0.01)
    if saved := run.load():
        reader.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])

    def state() -> dict:
        return {"model": reader.state_dict(), "optimizer": optimizer.state_dict()}

    rng = random.Random(1000 * run.done["step"] + rank)
    parameters, running = list(reader.parameters()), 0.0
    while run.progress < 1:
        run.pause(state)
        chosen = [scenes.draw_scene(rng, rng.choice((0, 1, 1, 2, 3))) for _ in range(args.batch)]
        batch = tokenizer([caption(rng, s) for s in chosen], padding=True, return_tensors="pt")
        ends = batch.attention_mask.sum(1) - 1
        wanted = torch.tensor([answers(s) for s in chosen]).to(args.device)
        logits = reader(batch.input_ids.to(args.device), ends.to(args.device))
        losses = [F.cross_entropy(x, wanted[:, i], ignore_index=-1, reduction="sum") for i, x in enumerate(logits)]
        loss = sum(losses) / len(chosen)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = args.lr * workers.rate(run.progress)
        optimizer.step()
        optimizer.zero_grad()
        running = loss.item() if running == 0 else 0.97 * running + 0.03 * loss.item()
        run.finish_step(state)
        run.meet(parameters)
        if rank == 0 and run.done["step"] % 50 == 0:
            print(f"{time.strftime('%H:%M:%S')} step {run.done['step']} loss {running:.3f}", flush=True)
    run.save(state())
    if rank == 0:
        reader.encoder.save_pretrained(args.state / "text_encoder")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    workers.add_arguments(parser, minutes=10)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    workers.start(work, args)


if __name__ == "__main__":
    main()
