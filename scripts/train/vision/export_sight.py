"""Turns a training state into the checkpoint of a chat model that sees, in the form of InternVLForConditionalGeneration.

    export PYTHONPATH=..:../image
    python export_sight.py --state state/ --model ../../../models/svc-chat-mini

The folder holds the tokenizer. Writes the averaged weights in bfloat16, without the readout, and the files of the model and its
processor; checks that transformers gives the logits of the training model, and its processor the tokens of a training conversation.
"""

import argparse
import json
from pathlib import Path

import pictures_stream
import torch
from safetensors.torch import save_file
from sight import Sight
from tokenizers import Tokenizer
from torch import Tensor
from tower import MEAN, STD, TowerConfig

from export import GENERATION
from model import ChatModel, Config

PARTS = {"chat.model.": "model.language_model.", "sight.vision_tower.": "model.vision_tower."} | {
    "sight.multi_modal_projector.": "model.multi_modal_projector."
}
"""Prefixes of the state's names → those of the checkpoint. What has none is left out."""
TOLERANCE = 1e-4
"""Of logits, relative to the largest."""


def checkpoint_of(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    made = {}
    for name, weight in weights.items():
        for own, published in PARTS.items():
            if name.startswith(own):
                made[published + name.removeprefix(own)] = weight.to(torch.bfloat16).contiguous()
    return made


def config_of(chat: Config, tower: TowerConfig, tokenizer: Tokenizer) -> dict:
    """config.json"""
    end, pad = tokenizer.token_to_id("<|im_end|>"), tokenizer.token_to_id("<|endoftext|>")
    return {
        "architectures": ["InternVLForConditionalGeneration"],
        "model_type": "internvl",
        "image_token_id": tokenizer.token_to_id(pictures_stream.IMAGE),
        "image_seq_length": tower.tokens,
        "downsample_ratio": 1 / tower.downsample,
        "projector_hidden_act": "gelu",
        "vision_feature_layer": -1,
        "vision_feature_select_strategy": "default",
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "text_config": chat.to_huggingface(pad, end),
        "vision_config": tower.to_huggingface(),
    }


def processor_of(tower: TowerConfig) -> dict:
    """preprocessor_config.json: the whole picture as one tile, as in training."""
    return {
        "image_processor_type": "GotOcr2ImageProcessor",
        "processor_class": "InternVLProcessor",
        "size": {"height": tower.image_size, "width": tower.image_size},
        "crop_to_patches": True,
        "min_patches": 1,
        "max_patches": 1,
        "do_resize": True,
        "resample": 3,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": [round(v, 3) for v in MEAN.flatten().tolist()],
        "image_std": [round(v, 3) for v in STD.flatten().tolist()],
        "do_convert_rgb": True,
    }


def write(folder: Path, name: str, content: dict) -> None:
    (folder / name).write_text(json.dumps(content, indent=2) + "\n")


def export(state: dict, folder: Path) -> dict[str, Tensor]:
    """Writes the checkpoint's files beside the tokenizer's; returns the rounded weights."""
    chat, tower = state["config"], state["tower"]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    rounded = checkpoint_of(state["average"])
    save_file(rounded, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)
    write(folder, "config.json", config_of(chat, tower, tokenizer))
    write(folder, "preprocessor_config.json", processor_of(tower))
    sequence = {"processor_class": "InternVLProcessor", "image_seq_length": tower.tokens}
    write(folder, "processor_config.json", sequence)
    end, pad = tokenizer.token_to_id("<|im_end|>"), tokenizer.token_to_id("<|endoftext|>")
    ends = {"bos_token_id": pad, "eos_token_id": [end, pad], "pad_token_id": pad}
    write(folder, "generation_config.json", {**ends, **GENERATION})
    return rounded


def training_model(state: dict, rounded: dict[str, Tensor]) -> tuple[ChatModel, Sight]:
    """The modules of the training, with the rounded weights."""
    own = {"chat": ChatModel(state["config"]), "sight": Sight(state["tower"], state["config"].hidden_size)}
    for part, module in own.items():
        weights = {
            name.removeprefix(prefix.partition(".")[0] + "."): weight
            for prefix, published in PARTS.items()
            for name, weight in (
                (prefix + n.removeprefix(published), w.float()) for n, w in rounded.items() if n.startswith(published)
            )
            if prefix.startswith(part + ".")
        }
        missing, unexpected = module.load_state_dict(weights, strict=False)
        assert not unexpected and all(name.startswith("readout.") for name in missing), (missing, unexpected)
    return own["chat"].eval(), own["sight"].eval()


@torch.no_grad()
def check(state: dict, rounded: dict[str, Tensor], folder: Path) -> float:
    """Returns the largest difference from transformers' logits for two pictures in one text, relative to the largest logit."""
    from transformers import InternVLForConditionalGeneration

    chat, sight = training_model(state, rounded)
    reference = InternVLForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    image, tower = tokenizer.token_to_id(pictures_stream.IMAGE), state["tower"]
    text = "".join(pictures_stream.with_picture("what do you see?", tower.tokens) for _ in range(2))
    ids = torch.tensor([tokenizer.encode(text, add_special_tokens=False).ids])
    pictures = torch.rand(2, 3, tower.image_size, tower.image_size, generator=torch.Generator().manual_seed(1))
    expected = reference(input_ids=ids, pixel_values=(pictures - MEAN) / STD).logits[0]
    places = (ids[0] == image).nonzero()[:, 0]
    found = chat([ids], None, (places, sight(pictures)[0].flatten(0, 1)))
    difference = ((found - expected).abs().max() / expected.abs().max()).item()
    assert difference < TOLERANCE, f"logits differ from transformers by {difference:.2e}"
    return difference


def check_processor(folder: Path, tokens: int) -> None:
    """The processor writes a picture as the training does."""
    import numpy as np
    from PIL import Image
    from transformers import AutoTokenizer, GotOcr2ImageProcessor

    tokenizer = AutoTokenizer.from_pretrained(folder)
    parts = [{"type": "image"}, {"type": "text", "text": "what is this?"}]
    made = tokenizer.apply_chat_template([{"role": "user", "content": parts}], tokenize=False)
    made = made.replace(pictures_stream.IMAGE, f"<img>{pictures_stream.IMAGE * tokens}</img>")
    assert pictures_stream.with_picture("what is this?", tokens) in made, made
    picture = Image.fromarray(np.zeros((120, 160, 3), np.uint8))
    shape = GotOcr2ImageProcessor.from_pretrained(folder)(picture, return_tensors="pt")["pixel_values"].shape
    assert shape[0] == 1, f"a picture is cut into {shape[0]} tiles"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    args = parser.parse_args()
    state = torch.load(args.state / "sight.pt", weights_only=False)
    rounded = export(state, args.model)
    difference = check(state, rounded, args.model)
    check_processor(args.model, state["tower"].tokens)
    done = state["done"]
    parameters = sum(weight.numel() for weight in rounded.values())
    print(
        f"{parameters / 1e6:.2f} M parameters after {done['step']} steps, {done['seconds'] / 60:.0f} minutes; logits within {difference:.1e} of transformers"
    )


if __name__ == "__main__":
    main()
