"""Pass rates of questions about pictures by kind, over HTTP from `svc serve` or in transformers from the checkpoint.

    export PYTHONPATH=..:../image
    python evaluate_sight.py --url http://127.0.0.1:30000 --drawn drawn/           # what a user gets
    python evaluate_sight.py --model ../../../models/svc-chat-mini --drawn drawn/  # the same without the server

Three sets: the painter's pictures of combinations that training never saw, with phrasings that it never saw; questions.jsonl, which
is written by hand, about scenes that are painted for it; and pictures that svc-scenes-mini draws from the prompts of image/prompts.py,
asked about what their prompts say. The last are drawn into the folder of --drawn, once.
"""

import argparse
import base64
import collections
import io
import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import questions
from PIL import Image
from prompts import Prompt, hand_written
from render import render
from scenes import KINDS, Scene, draw_scene, draw_thing, held_out

import evaluate

ROOT = Path(__file__).resolve().parents[3]
DRAWER = ROOT / "models" / "svc-scenes-mini"
COUNTS = {0: 0.14, 1: 0.42, 2: 0.28, 3: 0.16}
"""Number of things → share of the held-out pictures."""
FIELDS = {"terrain": "land", "time": "time", "weather": "weather", "season": "season"}
"""What a prompt says of a scene → the kind of question about it."""


def url_of(picture: np.ndarray) -> str:
    stored = io.BytesIO()
    Image.fromarray(picture).save(stored, "PNG")
    return "data:image/png;base64," + base64.b64encode(stored.getvalue()).decode()


def case_of(kind: str, picture: np.ndarray, turns: list[tuple[str, dict]]) -> dict:
    return {
        "skill": kind,
        "picture": url_of(picture),
        "turns": [{"user": user, "expect": expect} for user, expect in turns],
    }


def asked(rng: random.Random, scene: Scene, kind: str) -> tuple[str, dict] | None:
    made = questions.exchange(rng, scene, kind, held_out=True)
    return made and (made.user, {"any" if made.any_of else "all": made.expect})


def unseen(count: int) -> Iterator[dict]:
    """`count` questions of each kind about scenes with a combination of kind, colour and terrain that training never drew, or about empty ones."""
    rng = random.Random(2026)
    for kind in questions.KINDS_OF_QUESTIONS:
        made = 0
        while made < count:
            scene = draw_scene(rng, rng.choices(list(COUNTS), list(COUNTS.values()))[0])
            turn = asked(rng, scene, kind) if held_out(scene) or not scene.things else None
            if turn:
                yield case_of(kind, render(scene), [turn])
                made += 1


def scene_of(seed: int, words: str) -> Scene:
    """ "lake sunset clear summer: red boat left, white moon right big" → the scene."""
    setting, _, listed = words.partition(":")
    rng = random.Random(seed)
    scene = Scene(*setting.split(), seed)
    for one in filter(None, (part.strip() for part in listed.split(","))):
        colour, kind, place, *size = one.split()
        assert kind in KINDS, f"no such thing: {kind}"
        thing = draw_thing(rng, kind, place, scene.time, above=False)
        if size:
            thing.scale *= {"small": 0.66, "medium": 1.0, "big": 1.42}[size[0]] / thing.scale
            thing.size = size[0]
        thing.colour = colour
        scene.things.append(thing)
    return scene


def by_hand() -> Iterator[dict]:
    for seed, line in enumerate((Path(__file__).parent / "questions.jsonl").read_text().splitlines()):
        one = json.loads(line)
        picture = render(scene_of(seed, one["scene"]))
        yield {"skill": one["skill"], "picture": url_of(picture), "turns": one["turns"]}


def drawn(folder: Path) -> Iterator[dict]:
    """What the prompts of the shipped image model say, asked about its pictures. What they leave out is not asked."""
    rng = random.Random(11)
    folder.mkdir(parents=True, exist_ok=True)
    for at, prompt in enumerate(hand_written()):
        path = folder / f"{at:02}.png"
        if not path.exists():
            draw(prompt.text, at, path)
        picture = np.asarray(Image.open(path).convert("RGB"))
        for kind, turn in told(rng, prompt):
            yield case_of(kind, picture, [turn])


def draw(text: str, seed: int, path: Path) -> None:
    command = ["node", str(ROOT / "dist" / "cli" / "main.js"), "generate", "--model-path", str(DRAWER)]
    given = ["--prompt", text, "--seed", str(seed), "--output-path", str(path.parent), "--output-file-name", path.name]
    subprocess.run([*command, *given], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def told(rng: random.Random, prompt: Prompt) -> Iterator[tuple[str, tuple[str, dict]]]:
    """Kind and turn of each fact that the prompt states."""
    surroundings = {"terrain": "meadow", "time": "day", "weather": "clear", "season": "summer"} | prompt.scene
    for field, kind in FIELDS.items():
        if field in prompt.scene:
            yield kind, asked(rng, Scene(**surroundings, seed=0), kind)
    for wanted in prompt.things:
        thing = draw_thing(rng, wanted.kind, wanted.place or "centre", surroundings["time"], above=False)
        thing.colour = wanted.colour or thing.colour
        alone = Scene(**surroundings, seed=0, things=[thing])
        yield "is there", (f"can you see a {wanted.kind}?", {"any": ["yes"]})
        if wanted.colour:
            yield "colour", asked(rng, alone, "colour")
        if wanted.place:
            yield "place", asked(rng, alone, "place")


def by_transformers(folder: Path) -> evaluate.Ask:
    """Greedy replies of the checkpoint in the folder, in f32."""
    import torch
    from transformers import AutoTokenizer, GenerationConfig, GotOcr2ImageProcessor, InternVLForConditionalGeneration

    tokenizer = AutoTokenizer.from_pretrained(folder)
    processor = GotOcr2ImageProcessor.from_pretrained(folder)
    model = InternVLForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    token = tokenizer.convert_ids_to_tokens(model.config.image_token_id)
    written = f"<img>{token * model.config.image_seq_length}</img>"
    ends = GenerationConfig.from_pretrained(folder)
    best = GenerationConfig(
        do_sample=False,
        max_new_tokens=evaluate.LONGEST,
        eos_token_id=ends.eos_token_id,
        pad_token_id=ends.pad_token_id,
    )

    def ask(messages: list[dict], thinking: bool, greedy: bool) -> str:
        assert greedy, "sampling is not compared here"
        pictures = []
        for message in messages:
            for part in message["content"] if isinstance(message["content"], list) else []:
                if part["type"] == "image_url":
                    pictures.append(picture_of(part["image_url"]["url"]))
        plain = [
            {**m, "content": [named(p) for p in m["content"]]} if isinstance(m["content"], list) else m
            for m in messages
        ]
        text = tokenizer.apply_chat_template(
            plain, tokenize=False, add_generation_prompt=True, enable_thinking=thinking
        )
        inputs = tokenizer(text.replace(token, written), return_tensors="pt", return_token_type_ids=False)
        if pictures:
            inputs["pixel_values"] = processor(pictures, return_tensors="pt")["pixel_values"]
        ids = model.generate(**inputs, generation_config=best)
        reply = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], clean_up_tokenization_spaces=False)
        return reply.replace("<|im_end|>", "")

    return ask


def named(part: dict) -> dict:
    return {"type": "image"} if part["type"] == "image_url" else part


def picture_of(url: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--drawn", type=Path, required=True, help="folder of pictures that the shipped model draws")
    parser.add_argument("--count", type=int, default=24, help="held-out questions of each kind")
    parser.add_argument("--failures", action="store_true", help="print what failed")
    args = parser.parse_args()
    ask = evaluate.by_server(args.url) if args.url else by_transformers(args.model)
    sets = {"held out": unseen(args.count), "by hand": by_hand(), "drawn by svc-scenes-mini": drawn(args.drawn)}
    columns: dict[str, dict[str, list[bool]]] = {}
    for name, cases in sets.items():
        rates = columns.setdefault(name, collections.defaultdict(list))
        for case in cases:
            passed, replies = evaluate.run(case, ask, greedy=True)
            rates[case["skill"]].append(passed)
            if args.failures and not passed:
                wanted = case["turns"][-1]["expect"]
                print(
                    f"{name}, {case['skill']}: {[t['user'] for t in case['turns']]} {replies} wanted {wanted}",
                    flush=True,
                )
    evaluate.print_rates(columns, list(questions.KINDS_OF_QUESTIONS))


if __name__ == "__main__":
    main()
