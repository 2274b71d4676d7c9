"""The rule by which the engine quantises weights while loading, in f32 and block by block.

A matrix [rows, K] is cut along K into blocks of 32; a last block that is shorter stands as if padded with zeros. Scales
stay f32 in the packed layout, so that dequantised values are exactly `scale * code` (or `scale * (code - 8)`) in f32.

int8  scale = max |w| / 127           code = round(w / scale)                       in -127..127   w = scale * code
int4  scale = extreme / -8            code = clamp(floor(w / scale + 8.5), 0, 15)   in 0..15       w = scale * (code - 8)
      `extreme` is the signed weight of largest magnitude (the scale may be negative): it always takes code 0.
A block of zeros has scale 0; its codes are 0 (int8) and 8 (int4).

Every matrix is quantised: all linear layers, those of experts, the embedding and the head. Vectors (norms, biases) stay as
stored, and so do routers, whose choices must not hang on a rounding.
`keep_clear` moves the few weights whose code would hang on the last bits of a division, so that a GPU's division, which
need not be correctly rounded, must find the very same codes.
"""

import torch

BLOCK = 32
CLEARANCE = 4e-3  # in code units: no weight lies nearer than this to a rounding edge


def is_quantised(name, tensor):
    return tensor.dim() > 1 and not name.endswith('mlp.gate.weight')


def blocks_of(matrix):
    rows, k = matrix.shape
    padding = -k % BLOCK
    return torch.nn.functional.pad(matrix, (0, padding)).reshape(rows, -1, BLOCK)  # [rows, blocks, 32]


def extremes(blocks):
    index = blocks.abs().argmax(-1, keepdim=True)
    return blocks.gather(-1, index)  # [rows, blocks, 1]


def scaled(blocks, format):
    """The scale of each block, and the weights in code units before rounding."""
    extreme = extremes(blocks)
    scale = extreme.abs() / 127 if format == 'int8' else extreme / -8
    units = torch.where(scale == 0, 0.0, blocks / torch.where(scale == 0, 1.0, scale))
    return scale, units


def dequantised(tensor, format):
    """A matrix, or several of one shape stacked."""
    matrix = tensor.flatten(0, -2)
    scale, units = scaled(blocks_of(matrix), format)
    codes = torch.round(units) if format == 'int8' else (units + 8.5).floor().clamp(0, 15) - 8
    return (codes * scale).flatten(1)[:, : matrix.shape[1]].reshape(tensor.shape)


def unclear(matrix):
    """Weights near a rounding edge of either format, and those as large as their block's extreme without being it."""
    blocks = blocks_of(matrix)
    near = torch.zeros_like(blocks, dtype=torch.bool)
    for format in ('int8', 'int4'):
        units = scaled(blocks, format)[1]
        near |= ((units - units.floor()) - 0.5).abs() < CLEARANCE
    largest = blocks.abs().max(-1, keepdim=True).values
    rivals = (blocks.abs() > largest * 0.999) & (largest > 0)
    rivals.scatter_(-1, blocks.abs().argmax(-1, keepdim=True), False)
    return (near | rivals).flatten(1)[:, : matrix.shape[1]]


def keep_clear(matrix, dtype):
    """The matrix (or several stacked) in `dtype`, with unclear weights made smaller step by step; returned in f32."""
    shape = matrix.shape
    matrix = matrix.to(dtype).float().flatten(0, -2)
    for _ in range(64):
        near = unclear(matrix)
        if not near.any():
            return matrix.reshape(shape)
        matrix = torch.where(near, matrix * (1 - 2**-7), matrix).to(dtype).float()
    raise RuntimeError('a weight stays near a rounding edge after 64 steps')
