"""The rule by which the engine quantises weights while loading, block by block.

A matrix [rows, K] is cut along K into blocks of 32; a last block that is shorter stands as if padded with zeros. Scales
are f32 in the packed layout, so that dequantised values are exactly `scale * code` (or `scale * (code - 8)`) in f32.

int8  scale = max |w| / 127, rounded to f32   code = round(127 * w / max |w|)           in -127..127   w = scale * code
int4  scale = extreme / -8                    code = min(floor(w / scale + 8.5), 15)    in 0..15       w = scale * (code - 8)
      `extreme` is the signed weight of largest magnitude, the first where there are several (the scale may be negative): it
      always takes code 0.
Quotients are exact before they are rounded; halves go to the even code (int8) or to the higher one (int4). Weights of few
digits often lie on a half: 0.27 % of random bf16 weights do in int4, where a quotient that is one unit off gives another code.
A block whose largest magnitude is below 2^-119 has scale 0; its codes are 0 (int8) and 8 (int4).

Every matrix is quantised: all linear layers, those of experts, the embedding and the head. Vectors (norms, biases) stay as
stored, and so do convolutions over time, routers, whose choices must not hang on a rounding, and the gates of linear attention,
which say what a state forgets.
"""

import torch

BLOCK = 32
SMALLEST = 2.0**-119
EXEMPT = (
    'mlp.gate.weight', 'mlp.router.weight', '_bias',
    'linear_attn.in_proj_a.weight', 'linear_attn.in_proj_b.weight', 'linear_attn.conv1d.weight',
)  # fmt: skip


def is_quantised(name, tensor):
    return tensor.dim() > 1 and not name.endswith(EXEMPT)


def by_rows(name, names, tensor, change, *rest):
    """`change` of a matrix whose blocks lie along K: gpt-oss, whose experts have biases among `names`, has them as [experts, K, rows]."""
    if f'{name}_bias' not in names:
        return change(tensor, *rest)
    return change(tensor.transpose(-1, -2), *rest).transpose(-1, -2).contiguous()


def blocks_of(matrix):
    rows, k = matrix.shape
    padding = -k % BLOCK
    return torch.nn.functional.pad(matrix, (0, padding)).reshape(rows, -1, BLOCK)  # [rows, blocks, 32]


def extremes(blocks):
    index = blocks.abs().argmax(-1, keepdim=True)
    return blocks.gather(-1, index)  # [rows, blocks, 1]


def scaled(blocks, format):
    """Returns the scale of each block, and the weights divided by it in f64, whose precision decides ties of rounding exactly."""
    extreme = extremes(blocks)
    levels = 127 * torch.sign(extreme) if format == 'int8' else torch.full_like(extreme, -8)
    is_zero = extreme.abs() < SMALLEST
    units = blocks.double() * levels.double() / torch.where(is_zero, 1.0, extreme).double()
    return torch.where(is_zero, 0.0, extreme / levels), torch.where(is_zero, 0.0, units)


def dequantised(tensor, format):
    """A matrix, or several of one shape stacked."""
    matrix = tensor.flatten(0, -2)
    scale, units = scaled(blocks_of(matrix), format)
    codes = torch.round(units) if format == 'int8' else (units + 8.5).floor().clamp(0, 15) - 8
    return (codes.float() * scale).flatten(1)[:, : matrix.shape[1]].reshape(tensor.shape)
