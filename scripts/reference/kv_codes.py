"""How far attention's keys and values in 8 and 4 bits move the log probabilities of the shipped chat model, by way of coding them.

Run: python scripts/reference/kv_codes.py   (prints a table; needs torch and transformers)

Each layer's keys, after their norm and rotation, and its values are coded and decoded before attention. Measured are the tokens that the model is to
write in new conversations of its kind: the mean of the change of their log probability, the mean of its magnitude, and the mean
Kullback-Leibler divergence of the whole distribution. With outliers: weights of the norms of queries and keys are changed so that two pairs of channels of every key are
16 times as large, and those of the queries 16 times as small, which changes nothing in exact arithmetic.
"""

import json
import random
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import Qwen3Config, Qwen3ForCausalLM
from transformers.models.qwen3 import modeling_qwen3

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "models" / "svc-chat-mini"
sys.path.append(str(ROOT / "scripts" / "train"))

import dialogues  # noqa: E402
from data import MIXTURE, encode  # noqa: E402

CONVERSATIONS = 60
OUTLIERS = (3, 17)  # channels, each with its partner of the rotation


def stored(scale):
    """A factor as pages hold it: the upper half of an f32, rounded away from zero."""
    bits = scale.contiguous().view(torch.int32)
    return ((bits + 0xFFFF) >> 16 << 16).view(torch.float32).where(scale != 0, torch.ones(()))


def int8(x, dim=-1):
    scale = stored(x.abs().amax(dim, keepdim=True) / 127)
    return (x / scale).round().clamp(-127, 127) * scale


def int4(x, dim=-1):
    """The value of the largest magnitude is -8."""
    largest = x.gather(dim, x.abs().argmax(dim, keepdim=True))
    scale = torch.copysign(stored(largest.abs() / 8), -largest)
    return (x / scale).round().clamp(-8, 7) * scale


def e4m3(x, dim=-1):
    scale = stored(x.abs().amax(dim, keepdim=True) / 448)
    return (x / scale).to(torch.float8_e4m3fn).to(torch.float32) * scale


def pages(coder):
    """Factors of channels over pages of 32 tokens; the begun page stays as it is."""

    def code(x):
        whole = x.shape[2] // 32 * 32
        head = coder(x[:, :, :whole].unflatten(2, (-1, 32)), 3).flatten(2, 3)
        return torch.cat([head, x[:, :, whole:]], 2)

    return code


def turned(coder):
    def code(x):
        h = torch.ones(1, 1)
        while h.shape[0] < x.shape[-1]:
            h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)])
        h = h / x.shape[-1] ** 0.5
        return coder(x @ h) @ h

    return code


def exactly(x):
    return x


WAYS = {
    "f16": (lambda x: x.half().float(),) * 2,
    "int8, keys as they are": (int8, int8),
    "int8 *": (turned(int8), int8),
    "fp8_e4m3 *": (e4m3, e4m3),
    "fp8_e4m3, turned keys": (turned(e4m3), e4m3),
    "int4, keys as they are": (int4, int4),
    "int4 *": (turned(int4), int4),
    "int4 keys by channel and page": (pages(int4), int4),
    "int4 values alone": (exactly, int4),
}


def model_of(outliers):
    config = json.loads((MODEL / "config.json").read_text())["text_config"]
    weights = load_file(MODEL / "model.safetensors")
    last = "embed_tokens.weight"
    prefix = next(name for name in weights if name.endswith(last))[: -len(last)]
    own = {"model." + name[len(prefix) :]: x.float() for name, x in weights.items() if name.startswith(prefix)}
    for name, x in own.items():
        factor = 16 if name.endswith("k_norm.weight") else 1 / 16 if name.endswith("q_norm.weight") else None
        if outliers and factor:
            for d in OUTLIERS:
                x[d] *= factor
                x[d + x.shape[0] // 2] *= factor
    model = Qwen3ForCausalLM(Qwen3Config(**config, attn_implementation="eager")).eval()
    model.load_state_dict(own, strict=False)
    model.tie_weights()
    return model


def log_probabilities(model, examples):
    """Of the whole vocabulary at each token that is to be written, and the tokens."""
    rows, tokens = [], []
    for ids, wanted in examples:
        logits = model(torch.tensor([ids])).logits[0, :-1]
        at = torch.tensor(wanted[1:])
        rows.append(torch.log_softmax(logits.double(), -1)[at])
        tokens.append(torch.tensor(ids[1:])[at])
    return torch.cat(rows), torch.cat(tokens)[:, None]


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    rng = random.Random(2)
    kinds = rng.choices(list(MIXTURE), list(MIXTURE.values()), k=CONVERSATIONS)
    examples = [encode(tokenizer, dialogues.conversation(rng, kind)) for kind in kinds]
    exact = modeling_qwen3.eager_attention_forward
    for outliers in (False, True):
        model = model_of(outliers)
        modeling_qwen3.eager_attention_forward = exact
        wanted, tokens = log_probabilities(model, examples)
        own = wanted.gather(1, tokens)
        print(f"{'with outliers' if outliers else 'as it is'}: {len(tokens)} tokens, mean log p {own.mean():.3f}")
        for name, (of_keys, of_values) in WAYS.items():

            def coded(module, q, k, v, *rest, **named):
                return exact(module, q, of_keys(k), of_values(v), *rest, **named)

            modeling_qwen3.eager_attention_forward = coded
            got, _ = log_probabilities(model, examples)
            apart = got.gather(1, tokens) - own
            divergence = (wanted.exp() * (wanted - got)).sum(-1).mean()
            print(f"  {name:36} mean {apart.mean():+.5f}  magnitude {apart.abs().mean():.5f}  divergence {divergence:.6f}")


if __name__ == "__main__":
    main()
