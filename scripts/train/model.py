"""The Qwen3 decoder in plain torch, for training.

Parameter names are the checkpoint's own, so `state_dict()` is the checkpoint.
A batch is a list of blocks; a block holds conversations of nearly one length,
so there is no packing mask and almost no padding: everything but attention
runs on the tokens of all blocks laid end to end.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Config:
    vocab_size: int = 2048
    hidden_size: int = 256
    intermediate_size: int = 640
    num_hidden_layers: int = 4
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    max_position_embeddings: int = 4096

    def to_huggingface(self, bos: int, eos: int) -> dict:
        """Returns the checkpoint's config.json as a dictionary."""
        return {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            **self.__dict__,
            "hidden_act": "silu",
            "attention_bias": False,
            "attention_dropout": 0.0,
            "tie_word_embeddings": True,
            "use_sliding_window": False,
            "sliding_window": None,
            "max_window_layers": self.num_hidden_layers,
            "rope_scaling": None,
            "initializer_range": 0.02,
            "bos_token_id": bos,
            "eos_token_id": eos,
            "use_cache": True,
            "torch_dtype": "bfloat16",
        }


@torch.compile(dynamic=True)
def normalized(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


@torch.compile(dynamic=True)
def gated(gate: Tensor, up: Tensor) -> Tensor:
    return F.silu(gate) * up


@torch.compile(dynamic=True)
def turned(x: Tensor, weight: Tensor, eps: float, cos: Tensor, sin: Tensor) -> Tensor:
    """Norm and rotary embedding of the heads x (tokens, heads, size)."""
    x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return normalized(x, self.weight, self.eps)


def rope_angles(c: Config, positions: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin of the rotary angles, each (tokens, 1, head_dim / 2)."""
    frequencies = c.rope_theta ** (-torch.arange(0, c.head_dim, 2, device=positions.device).float() / c.head_dim)
    angles = (positions[:, None].float() * frequencies)[:, None, :]
    return angles.cos(), angles.sin()


class Attention(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.c = c
        heads, kv_heads, size = c.num_attention_heads, c.num_key_value_heads, c.head_dim
        self.q_proj = nn.Linear(c.hidden_size, heads * size, bias=False)
        self.k_proj = nn.Linear(c.hidden_size, kv_heads * size, bias=False)
        self.v_proj = nn.Linear(c.hidden_size, kv_heads * size, bias=False)
        self.o_proj = nn.Linear(heads * size, c.hidden_size, bias=False)
        self.q_norm = RMSNorm(size, c.rms_norm_eps)
        self.k_norm = RMSNorm(size, c.rms_norm_eps)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, shapes: list[tuple[int, int]], chosen: Tensor | None
    ) -> Tensor:
        size, eps = self.c.head_dim, self.c.rms_norm_eps
        q = turned(self.q_proj(x).view(len(x), -1, size), self.q_norm.weight, eps, cos, sin)  # (tokens, heads, size)
        k = turned(self.k_proj(x).view(len(x), -1, size), self.k_norm.weight, eps, cos, sin)
        v = self.v_proj(x).view(len(x), -1, size)
        outputs, start = [], 0
        for rows, length in shapes:
            end = start + rows * length
            block = [t[start:end].view(rows, length, -1, size).transpose(1, 2) for t in (q, k, v)]
            attended = F.scaled_dot_product_attention(*block, is_causal=True, enable_gqa=True)
            outputs.append(attended.transpose(1, 2).reshape(rows * length, -1))
            start = end
        attended = torch.cat(outputs)
        return self.o_proj(attended if chosen is None else attended[chosen])


class MLP(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.gate_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.up_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.down_proj = nn.Linear(c.intermediate_size, c.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(gated(self.gate_proj(x), self.up_proj(x)))


class Layer(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.input_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.self_attn = Attention(c)
        self.post_attention_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.mlp = MLP(c)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, shapes: list[tuple[int, int]], chosen: Tensor | None
    ) -> Tensor:
        attended = self.self_attn(self.input_layernorm(x), cos, sin, shapes, chosen)
        x = (x if chosen is None else x[chosen]) + attended
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))
        self.norm = RMSNorm(c.hidden_size, c.rms_norm_eps)


class ChatModel(nn.Module):
    """Qwen3ForCausalLM with tied embeddings."""

    def __init__(self, c: Config):
        super().__init__()
        self.c = c
        self.model = Decoder(c)
        residual = 0.02 / (2 * c.num_hidden_layers) ** 0.5
        for name, weight in self.named_parameters():
            if weight.ndim == 2:
                narrow = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(weight, std=residual if narrow else c.hidden_size**-0.5 if "layers" in name else 0.02)

    @torch.no_grad()
    def grow_from(self, weights: dict[str, Tensor]) -> None:
        """Takes the weights of a model with fewer tokens or layers. A layer that it lacks adds nothing until it has learnt."""
        for name, parameter in self.named_parameters():
            given = weights.get(name)
            if given is not None:
                parameter[: len(given)] = given.float()
            elif name.endswith(("o_proj.weight", "down_proj.weight")):
                parameter.zero_()

    def forward(
        self, blocks: list[Tensor], chosen: Tensor | None = None, shown: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """Logits of the tokens in `chosen`, indices into the laid-out blocks (all when None).

        Each block is (rows, length) of token ids whose rows start at position 0. `shown`: indices of tokens whose
        embeddings a vision tower made, and those embeddings (tokens, hidden).
        """
        shapes = [(block.shape[0], block.shape[1]) for block in blocks]
        positions = torch.cat([torch.arange(length).repeat(rows) for rows, length in shapes]).to(blocks[0].device)
        cos, sin = rope_angles(self.c, positions)
        x = self.model.embed_tokens(torch.cat([block.reshape(-1) for block in blocks]))  # (tokens, hidden)
        if shown is not None:
            x = x.index_copy(0, *shown)
        last = self.model.layers[-1]
        for layer in self.model.layers:
            x = layer(
                x, cos, sin, shapes, chosen if layer is last else None
            )  # beyond the keys, the last layer is only needed where it is read
        return F.linear(self.model.norm(x), self.model.embed_tokens.weight)
