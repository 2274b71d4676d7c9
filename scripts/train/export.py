"""Turns a training state into the checkpoint: config, weights in bfloat16, generation settings.

    python export.py --state state/ --model ../../models/svc-chat-mini

Checks that transformers' Qwen3ForCausalLM gives the logits of the training model.
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from model import ChatModel

GENERATION = {"do_sample": True, "temperature": 0.3, "top_p": 0.9, "top_k": 20, "max_new_tokens": 256}


def export(state: dict, folder: Path) -> ChatModel:
    """Writes config.json, generation_config.json and model.safetensors; returns the rounded model."""
    config = state["config"]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    end, pad = tokenizer.token_to_id("<|im_end|>"), tokenizer.token_to_id("<|endoftext|>")
    rounded = {name: weight.to(torch.bfloat16).contiguous() for name, weight in state["model"].items()}
    save_file(rounded, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)
    (folder / "config.json").write_text(json.dumps(config.to_huggingface(pad, end), indent=2) + "\n")
    generation = {"bos_token_id": pad, "eos_token_id": [end, pad], "pad_token_id": pad, **GENERATION}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")
    model = ChatModel(config)
    model.load_state_dict({name: weight.float() for name, weight in rounded.items()})
    return model


@torch.no_grad()
def check(model: ChatModel, folder: Path) -> float:
    """Returns the largest difference from the logits of transformers, relative to the largest logit."""
    from transformers import Qwen3ForCausalLM

    reference = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids = torch.randint(0, model.c.vocab_size, (2, 300), generator=torch.Generator().manual_seed(1))
    expected = reference(ids).logits.view(-1, model.c.vocab_size)
    difference = (model([ids]) - expected).abs().max() / expected.abs().max()
    assert difference < 1e-4, f"logits differ from transformers by {difference:.2e}"
    return difference.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    args = parser.parse_args()
    state = torch.load(args.state / "latest.pt", weights_only=False)
    difference = check(export(state, args.model), args.model)
    done = state["done"]
    print(
        f"{done['step']} steps, {done['tokens'] / 1e6:.1f} M tokens, {done['seconds'] / 60:.0f} minutes; logits within {difference:.1e} of transformers"
    )


if __name__ == "__main__":
    main()
