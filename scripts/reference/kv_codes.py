"""How far attention's keys and values in 8 and 4 bits move the log probabilities of a shipped model, by way of coding them.

Run: python scripts/reference/kv_codes.py [TEXT]   (prints a table; needs torch and transformers)

Each layer's keys (after norm and rotation) and values are coded and decoded before attention. The error is the mean of
|log p - log p of exact keys and values| over the text's own tokens, and the mean Kullback-Leibler divergence. `outliers`: weights of the norms
of queries and keys are changed so that two pairs of channels of every key are 16 times as large and those of the queries 16 times as small,
which changes nothing in exact arithmetic.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import Qwen3Config, Qwen3ForCausalLM
from transformers.models.qwen3 import modeling_qwen3

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "models" / "svc-chat-mini"
TOKENS = 768
OUTLIERS = (3, 17)  # channels, each with its partner of the rotation


def steps(x, dim, levels):
    """Symmetric codes with one bf16 scale along `dim`, rounded up."""
    most = x.abs().amax(dim, keepdim=True) / levels
    bits = most.contiguous().view(torch.int32)
    scale = ((bits + 0xFFFF) >> 16 << 16).view(torch.float32).clamp(min=1e-30)
    return torch.round(x / scale).clamp(-levels, levels) * scale


def ranges(x, dim, levels):
    """Codes from the least to the largest value."""
    least, most = x.amin(dim, keepdim=True), x.amax(dim, keepdim=True)
    scale = ((most - least) / levels).clamp(min=1e-30)
    return torch.round((x - least) / scale) * scale + least


def e4m3(x, dim):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-30) / 448
    return (x / scale).to(torch.float8_e4m3fn).to(torch.float32) * scale


def groups(coder, size):
    return lambda x: coder(x.unflatten(-1, (-1, size)), -1).flatten(-2)


def pages(coder):
    """By channel over pages of 32 tokens."""

    def code(x):
        whole = x.shape[2] // 32 * 32
        head = coder(x[:, :, :whole].unflatten(2, (-1, 32)), 3).flatten(2, 3)
        return torch.cat([head, x[:, :, whole:]], 2)

    return code


def hadamard(dims):
    h = torch.ones(1, 1)
    while h.shape[0] < dims:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)])
    return h / dims**0.5


def turned(coder):
    def code(x):
        h = hadamard(x.shape[-1])
        return coder(x @ h) @ h

    return code


def token(coder):
    return lambda x: coder(x, -1)


same = lambda x: x
int8, int4 = (lambda x, d: steps(x, d, 127)), (lambda x, d: steps(x, d, 7))
WAYS = {
    "f16": (lambda x: x.half().float(),) * 2,
    "int8, token": (token(int8),) * 2,
    "int8, token, turned keys": (turned(token(int8)), token(int8)),
    "fp8_e4m3, token": (token(e4m3),) * 2,
    "fp8_e4m3, token, turned keys": (turned(token(e4m3)), token(e4m3)),
    "int4, token": (token(int4),) * 2,
    "int4, token, turned keys": (turned(token(int4)), token(int4)),
    "int4, token, both turned": (turned(token(int4)), turned(token(int4))),
    "int4, 32 of a token": (groups(int4, 32),) * 2,
    "int4, 32 of a token, turned keys": (turned(groups(int4, 32)), groups(int4, 32)),
    "int4 keys by channel of a page": (pages(int4), token(int4)),
    "int4, token, range": (lambda x: ranges(x, -1, 15),) * 2,
    "int4, token, turned keys, range": (turned(lambda x: ranges(x, -1, 15)), lambda x: ranges(x, -1, 15)),
    "int4 keys alone, turned": (turned(token(int4)), same),
    "int4 values alone": (same, token(int4)),
}


def model_of(outliers):
    config = json.loads((MODEL / "config.json").read_text())["text_config"]
    weights = load_file(MODEL / "model.safetensors")
    prefix = next(name for name in weights if name.endswith("embed_tokens.weight"))[: -len("embed_tokens.weight")]
    own = {"model." + name[len(prefix) :]: x.float() for name, x in weights.items() if name.startswith(prefix)}
    if outliers:
        for name, x in own.items():
            factor = 16 if name.endswith("k_norm.weight") else 1 / 16 if name.endswith("q_norm.weight") else None
            if factor:
                for d in OUTLIERS:
                    x[d] *= factor
                    x[d + x.shape[0] // 2] *= factor
    model = Qwen3ForCausalLM(Qwen3Config(**config, attn_implementation="eager")).eval()
    model.load_state_dict(own, strict=False)
    model.tie_weights()
    return model


def main():
    text = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "src" / "README.md").read_text()
    ids = torch.tensor([Tokenizer.from_file(str(MODEL / "tokenizer.json")).encode(text).ids[:TOKENS]])
    exact = modeling_qwen3.eager_attention_forward
    for outliers in (False, True):
        model = model_of(outliers)
        own = lambda: torch.log_softmax(model(ids).logits[0, :-1].double(), -1)
        with torch.no_grad():
            modeling_qwen3.eager_attention_forward = exact
            wanted = own()
            at = ids[0, 1:, None]
            print(f"{'outliers' if outliers else 'as it is'}: mean log p {wanted.gather(1, at).mean():.3f}")
            for name, (of_keys, of_values) in WAYS.items():

                def coded(module, q, k, v, *rest, **named):
                    return exact(module, q, of_keys(k), of_values(v), *rest, **named)

                modeling_qwen3.eager_attention_forward = coded
                got = own()
                apart = (got - wanted).gather(1, at)
                kl = (wanted.exp() * (wanted - got)).sum(-1).mean()
                print(f"  {name:34} |d log p| {apart.abs().mean():.5f}  bias {apart.mean():+.5f}  KL {kl:.6f}")


if __name__ == "__main__":
    main()
