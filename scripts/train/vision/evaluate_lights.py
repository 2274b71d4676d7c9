"""Which moons, stars and suns the model takes for one another: a table by kind and colour, in transformers from the checkpoint.

    export PYTHONPATH=..:../image
    python evaluate_lights.py --model ../../../models/svc-chat-mini --drawn lights/

Each light is alone in its picture. "Painted" are pictures of the painter, "drawn" those that svc-scenes-mini draws into the folder of
--drawn, once, from prompts such as "a yellow moon over the desert at night".
"""

import argparse
import collections
import random
import re
from pathlib import Path

import numpy as np
import torch
from captions import article
from evaluate_sight import draw
from PIL import Image
from render import render
from scenes import LIGHTS, Scene, draw_scene, draw_thing, kinds_of
from transformers import AutoTokenizer, GotOcr2ImageProcessor, InternVLForConditionalGeneration

import evaluate

OPEN = ("what do you see?", "which thing is there?")
"""The reply is to name the light, and no other one."""
LANDS = {"desert": "the desert", "city": "a city", "mountains": "mountains", "forest": "a forest"}
DRAWN_COLOURS = ("white", "yellow", "orange")
BATCH = 48


def painted(kind: str, colour: str, count: int) -> list[np.ndarray]:
    """Scenes with this light alone, of every place, size, form, land and weather."""
    rng = random.Random(f"{kind} {colour} 7")
    pictures: list[np.ndarray] = []
    while len(pictures) < count:
        scene: Scene = draw_scene(rng, 0)
        if kind in kinds_of(scene.terrain, scene.time):
            thing = draw_thing(rng, kind, rng.choice(("left", "centre", "right")), scene.time, above=False)
            thing.colour = colour
            scene.things = [thing]
            pictures.append(render(scene))
    return pictures


def drawn(folder: Path, kind: str, colour: str) -> list[np.ndarray]:
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for seed, (land, words) in enumerate(LANDS.items()):
        path = folder / f"{kind}-{colour}-{land}.png"
        if not path.exists():
            draw(f"{article(colour)} {kind} over {words} at night", seed, path)
        pictures.append(np.asarray(Image.open(path).convert("RGB")))
    return pictures


class Asked:
    """Greedy replies to one question about many pictures at once."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.processor = GotOcr2ImageProcessor.from_pretrained(folder)
        self.model = InternVLForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
        token = self.tokenizer.convert_ids_to_tokens(self.model.config.image_token_id)
        self.picture = f"<img>{token * self.model.config.image_seq_length}</img>\n"

    @torch.no_grad()
    def __call__(self, pictures: list[np.ndarray], question: str) -> list[str]:
        messages = [{"role": "user", "content": self.picture + question}]
        text = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        ids = self.tokenizer(text, return_tensors="pt").input_ids
        replies: list[str] = []
        for at in range(0, len(pictures), BATCH):
            some = [Image.fromarray(one) for one in pictures[at : at + BATCH]]
            pixels = self.processor(some, return_tensors="pt")["pixel_values"]
            rows = ids.expand(len(some), -1)
            made = self.model.generate(
                input_ids=rows,
                attention_mask=torch.ones_like(rows),
                pixel_values=pixels,
                do_sample=False,
                max_new_tokens=48,
            )
            replies += self.tokenizer.batch_decode(made[:, ids.shape[1] :], skip_special_tokens=True)
        return [reply.split("</think>")[-1].strip().lower() for reply in replies]


def judged(asked: Asked, pictures: list[np.ndarray], kind: str) -> dict[str, int]:
    """Numbers of replies: right, naming another light, and by question of yes or no."""
    found: collections.Counter[str] = collections.Counter()
    for question in OPEN:
        for reply in asked(pictures, question):
            named = set(LIGHTS) & set(re.findall(r"\w+", reply))  # whole words: a sunset is no sun
            found["right"] += named == {kind}
            found.update(f"a {other}" for other in named - {kind})
    for light in LIGHTS:
        for reply in asked(pictures, f"is there a {light}?"):
            found[f"yes to {light}"] += evaluate.holds(reply, "yes")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--count", type=int, default=64, help="painted pictures of each light in each colour")
    parser.add_argument("--drawn", type=Path, help="folder of pictures that the shipped model draws")
    args = parser.parse_args()
    asked = Asked(args.model)
    columns = ["right", *(f"a {light}" for light in LIGHTS), *(f"yes to {light}" for light in LIGHTS)]
    print("| light | " + " | ".join(columns) + " |")
    print("|---" * (1 + len(columns)) + "|")
    for kind, colours in LIGHTS.items():
        for colour in colours:
            sets = {"painted": painted(kind, colour, args.count)}
            if args.drawn and kind != "sun" and colour in DRAWN_COLOURS:
                sets["drawn"] = drawn(args.drawn, kind, colour)
            for name, pictures in sets.items():
                found = judged(asked, pictures, kind)
                shares = [
                    found[column] / len(pictures) / (1 if column.startswith("yes") else len(OPEN)) for column in columns
                ]
                cells = " | ".join(f"{100 * share:.0f} %" for share in shares)
                print(f"| {colour} {kind}, {name} ({len(pictures)}) | {cells} |", flush=True)


if __name__ == "__main__":
    main()
