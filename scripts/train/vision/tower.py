"""The tower and the projector of InternVL in plain torch, for training.

Parameter names are those of InternVLForConditionalGeneration within `model.vision_tower` and
`model.multi_modal_projector`, so `state_dict()` is their part of the checkpoint.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class TowerConfig:
    image_size: int = 128
    patch_size: int = 16
    hidden_size: int = 160
    intermediate_size: int = 480
    num_hidden_layers: int = 6
    num_attention_heads: int = 5
    layer_norm_eps: float = 1e-6
    downsample: int = 2
    """Patches along one side of a token for the language model."""

    @property
    def grid(self) -> int:
        return self.image_size // self.patch_size

    @property
    def tokens(self) -> int:
        return (self.grid // self.downsample) ** 2

    def to_huggingface(self) -> dict:
        """Returns vision_config of the checkpoint's config.json."""
        return {
            "model_type": "internvl_vision",
            "image_size": [self.image_size] * 2,
            "patch_size": [self.patch_size] * 2,
            "num_channels": 3,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "layer_norm_eps": self.layer_norm_eps,
            "norm_type": "layer_norm",
            "hidden_act": "gelu",
            "attention_bias": True,
            "use_qk_norm": False,
            "use_absolute_position_embeddings": True,
            "use_mask_token": False,
            "use_mean_pooling": True,
            "layer_scale_init_value": 0.1,
            "attention_dropout": 0.0,
            "hidden_dropout_prob": 0.0,
            "projection_dropout": 0.0,
            "initializer_range": 0.02,
        }


class Patches(nn.Module):
    def __init__(self, c: TowerConfig):
        super().__init__()
        self.projection = nn.Conv2d(3, c.hidden_size, c.patch_size, c.patch_size)

    def forward(self, x: Tensor) -> Tensor:
        """Pictures (n, 3, side, side) → (n, patches, hidden), as one product."""
        weight, size = self.projection.weight, self.projection.kernel_size[0]
        n, channels, side, _ = x.shape
        cut = x.view(n, channels, side // size, size, side // size, size).permute(0, 2, 4, 1, 3, 5)
        return F.linear(cut.reshape(n, -1, channels * size * size), weight.flatten(1), self.projection.bias)


class Embeddings(nn.Module):
    def __init__(self, c: TowerConfig):
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, c.hidden_size))
        self.patch_embeddings = Patches(c)
        self.position_embeddings = nn.Parameter(0.02 * torch.randn(1, c.grid**2 + 1, c.hidden_size))

    def forward(self, x: Tensor) -> Tensor:
        patches = self.patch_embeddings(x)
        return torch.cat([self.cls_token.expand(len(x), -1, -1), patches], 1) + self.position_embeddings


class Attention(nn.Module):
    def __init__(self, c: TowerConfig):
        super().__init__()
        self.heads = c.num_attention_heads
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(c.hidden_size, c.hidden_size))
        self.projection_layer = nn.Linear(c.hidden_size, c.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        n, tokens, hidden = x.shape
        weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        bias = torch.cat([self.q_proj.bias, self.k_proj.bias, self.v_proj.bias])
        qkv = F.linear(x, weight, bias).view(n, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(*qkv)
        return self.projection_layer(attended.transpose(1, 2).reshape(n, tokens, hidden))


class MLP(nn.Module):
    def __init__(self, c: TowerConfig):
        super().__init__()
        self.fc1 = nn.Linear(c.hidden_size, c.intermediate_size)
        self.fc2 = nn.Linear(c.intermediate_size, c.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(F.gelu(self.fc1(x)))


class Layer(nn.Module):
    def __init__(self, c: TowerConfig):
        super().__init__()
        self.attention = Attention(c)
        self.mlp = MLP(c)
        self.layernorm_before = nn.LayerNorm(c.hidden_size, eps=c.layer_norm_eps)
        self.layernorm_after = nn.LayerNorm(c.hidden_size, eps=c.layer_norm_eps)
        self.lambda_1 = nn.Parameter(torch.full((c.hidden_size,), 0.5))
        self.lambda_2 = nn.Parameter(torch.full((c.hidden_size,), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.lambda_1 * self.attention(self.layernorm_before(x))
        return x + self.lambda_2 * self.mlp(self.layernorm_after(x))


class Encoder(nn.Module):
    def __init__(self, c: TowerConfig):
        super().__init__()
        self.layer = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))


class VisionTower(nn.Module):
    def __init__(self, c: TowerConfig):
        super().__init__()
        self.embeddings = Embeddings(c)
        self.encoder = Encoder(c)

    def forward(self, x: Tensor) -> Tensor:
        """Normalized pictures (n, 3, side, side) → states of the patches (n, patches, hidden)."""
        x = self.embeddings(x)
        for layer in self.encoder.layer:
            x = layer(x)
        return x[:, 1:]


class Projector(nn.Module):
    def __init__(self, c: TowerConfig, hidden: int):
        super().__init__()
        wide = c.hidden_size * c.downsample**2
        self.c = c
        self.layer_norm = nn.LayerNorm(wide)
        self.linear_1 = nn.Linear(wide, hidden)
        self.linear_2 = nn.Linear(hidden, hidden)

    def forward(self, x: Tensor) -> Tensor:
        """States of the patches → tokens (n, tokens, hidden). The order within a token is that of InternVL's pixel shuffle."""
        n, _, hidden = x.shape
        side, by = self.c.grid, self.c.downsample
        x = x.view(n, side, side // by, hidden * by).permute(0, 2, 1, 3)
        x = x.reshape(n, side // by, side // by, hidden * by * by).permute(0, 2, 1, 3)
        return self.linear_2(F.gelu(self.linear_1(self.layer_norm(x.reshape(n, -1, hidden * by * by)))))


MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


def normalized(pictures: Tensor) -> Tensor:
    """Pictures (n, 3, side, side) in 0 … 1 as the processor gives them to the tower."""
    return (pictures - MEAN.to(pictures.device)) / STD.to(pictures.device)
