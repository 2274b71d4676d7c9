"""Makes the goldens of the block formats that GGUF files hold:  python scripts/reference/stored_blocks.py

test/golden/stored-blocks.safetensors holds, for each format, `<format>.blocks`, u8 [rows, bytes], and `<format>.values`, f32 [rows, k], which
gguf's dequantize gives for them (Q1_0: what ggml's sources say). Codes and small scales are random bytes. The f16 scales of the rows: ordinary ones of both signs,
the largest, the smallest normal ones, subnormal ones, zeros. Exponents of e8m0 run from 2 to 251: below, scales are subnormal f32,
which WGSL may take for zero, and above, products overflow. `E4M3.codes` u8 [2, 128] are all codes of torch's float8_e4m3fn, with zeros for the
two that are NaN, and `E4M3.values` their values times 0.3 (row 0) and 7e-5 (row 1), `E4M3.scales`.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from gguf import GGMLQuantizationType, dequantize
from gguf.constants import GGML_QUANT_SIZES
from safetensors.numpy import save_file

PATH = Path(__file__).resolve().parents[2] / 'test' / 'golden' / 'stored-blocks.safetensors'
# Bytes of a block at which its f16 scales stand; None: the first byte is an exponent. Of IQ1_M four bits stand above each 12 of eight bytes.
SCALES = {
    'Q8_0': [0],
    'Q4_0': [0],
    'Q4_1': [0, 2],
    'Q5_0': [0],
    'Q5_1': [0, 2],
    'Q2_K': [80, 82],
    'Q3_K': [108],
    'Q4_K': [0, 2],
    'Q5_K': [0, 2],
    'Q6_K': [208],
    'Q1_0': [0],
    'TQ1_0': [52],
    'TQ2_0': [64],
    'IQ1_S': [0],
    'IQ1_M': [48],
    'IQ2_XXS': [0],
    'IQ2_XS': [0],
    'IQ2_S': [0],
    'IQ3_XXS': [0],
    'IQ3_S': [0],
    'IQ4_NL': [0],
    'IQ4_XS': [0],
    'MXFP4': None,
    'NVFP4': None,
}
ROWS = 7


def f16_scales(row, count, random):
    ordinary = random.uniform(-0.1, 0.1, count)
    return {
        0: ordinary,
        1: ordinary * 100,
        2: random.choice([65504.0, -65504.0], count),
        3: random.choice([2.0**-14, -(2.0**-14)], count),
        4: random.integers(-1023, 1024, count) * 2.0**-24,
        5: np.zeros(count),
        6: np.where(random.random(count) < 0.5, ordinary, 2.0**-24),
    }[row].astype(np.float16)


def blocks_of(name, random):
    values, size = (128, 18) if name == 'Q1_0' else GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    count = 512 // values if values > 32 else 3
    blocks = random.integers(0, 256, (ROWS, count, size), dtype=np.uint8)
    places = SCALES[name]
    if name == 'NVFP4':
        blocks[:, :, :4] &= 127
    elif places is None:
        blocks[:, :, 0] = random.integers(2, 252, (ROWS, count))
    for row in range(ROWS):
        for place in places or []:
            scales = f16_scales(row, count, random)
            if name == 'IQ1_M':
                parts = blocks[row, :, place : place + 8].copy().view(np.uint16)
                bits = scales.view(np.uint16)[:, None] >> np.array([0, 4, 8, 12], dtype=np.uint16)
                blocks[row, :, place : place + 8] = ((parts & 0xFFF) | (bits << np.uint16(12))).view(np.uint8)
            else:
                blocks[row, :, place : place + 2] = scales.view(np.uint8).reshape(count, 2)
    return blocks.reshape(ROWS, -1)


def dequantize_q1_0(blocks):
    """gguf has no Q1_0 yet: a scale in f16, then 128 bits that tell its sign, + for 1."""
    of = blocks.reshape(-1, 18)
    bits = np.unpackbits(of[:, 2:], axis=1, bitorder='little').astype(np.float32)
    return (of[:, :2].copy().view(np.float16).astype(np.float32) * (2 * bits - 1)).reshape(len(blocks), -1)


def main():
    tensors = {}
    for name in SCALES:
        blocks = blocks_of(name, np.random.default_rng(len(name) * 1000 + ord(name[1])))
        values = dequantize_q1_0(blocks) if name == 'Q1_0' else dequantize(blocks, GGMLQuantizationType[name])
        assert np.isfinite(values).all(), name
        tensors[f'{name}.blocks'] = blocks
        tensors[f'{name}.values'] = values.astype(np.float32)
    codes = np.arange(256, dtype=np.uint8)
    codes[[127, 255]] = 0
    codes = codes.reshape(2, 128)
    scales = np.array([[0.3], [7e-5]], dtype=np.float32)
    floats = torch.from_numpy(codes).view(torch.float8_e4m3fn).float().numpy()
    tensors |= {'E4M3.codes': codes, 'E4M3.scales': scales, 'E4M3.values': floats * scales}
    save_file(tensors, PATH)
    print(PATH, PATH.stat().st_size, file=sys.stderr)


main()
