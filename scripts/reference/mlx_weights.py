"""Makes the goldens of MLX's quantized weights:  python scripts/reference/mlx_weights.py

test/golden/mlx-weights.safetensors holds, for each case, the tensors of a module as a folder of mlx-lm has them, `<case>.<tensor>`, and `<case>.values`,
f32 [rows, k], which mlx 0.32.4 computes for them on the CPU (requirements-quantized.txt) with scales and offsets widened to f32. Codes are random words; of
eight rows in turn scales and offsets are ordinary ones, larger ones, the largest, the smallest normal ones, zeros.
"""

from pathlib import Path

import mlx.core as mx
import numpy as np

PATH = Path(__file__).resolve().parents[2] / 'test' / 'golden' / 'mlx-weights.safetensors'
ROWS = 32
LARGEST = {mx.float16: 2.0**7, mx.bfloat16: 2.0**50}
SMALLEST = {mx.float16: 2.0**-14, mx.bfloat16: 2.0**-100}


def extreme(random, groups, dtype):
    values = (random.random((ROWS, groups)) - 0.5) / 8
    values[1::8] *= 100
    values[2::8] = LARGEST[dtype] * np.sign(values[2::8])
    values[3::8] = SMALLEST[dtype] * np.sign(values[3::8])
    values[4::8] = 0
    return mx.array(values.astype(np.float32)).astype(dtype)


def words(random, k, bits):
    return mx.array(random.integers(0, 2**32, (ROWS, k * bits // 32), dtype=np.uint32))


def affine(random, *, bits, k, group, dtype):
    groups = k // group
    tensors = {'weight': words(random, k, bits), 'scales': extreme(random, groups, dtype), 'biases': extreme(random, groups, dtype)}
    wide = (tensors['scales'].astype(mx.float32), tensors['biases'].astype(mx.float32))
    return tensors, mx.dequantize(tensors['weight'], *wide, group_size=group, bits=bits)


def mxfp4(random, *, k):
    exponents = random.integers(100, 150, (ROWS, k // 32), dtype=np.uint8)
    exponents[1::8] = 2
    exponents[2::8] = 190
    tensors = {'weight': words(random, k, 4), 'scales': mx.array(exponents)}
    values = mx.dequantize(tensors['weight'], tensors['scales'], group_size=32, bits=4, mode='mxfp4', dtype=mx.float32)
    return tensors, values


CASES = {
    'a4': (affine, {'bits': 4, 'k': 192, 'group': 64, 'dtype': mx.bfloat16}),
    'a4half': (affine, {'bits': 4, 'k': 192, 'group': 64, 'dtype': mx.float16}),
    'a4small': (affine, {'bits': 4, 'k': 96, 'group': 32, 'dtype': mx.bfloat16}),
    'a4smallhalf': (affine, {'bits': 4, 'k': 96, 'group': 32, 'dtype': mx.float16}),
    'a4large': (affine, {'bits': 4, 'k': 256, 'group': 128, 'dtype': mx.bfloat16}),
    'a4largehalf': (affine, {'bits': 4, 'k': 256, 'group': 128, 'dtype': mx.float16}),
    'a8': (affine, {'bits': 8, 'k': 192, 'group': 64, 'dtype': mx.bfloat16}),
    'a8half': (affine, {'bits': 8, 'k': 192, 'group': 64, 'dtype': mx.float16}),
    'a8small': (affine, {'bits': 8, 'k': 96, 'group': 32, 'dtype': mx.bfloat16}),
    'a8smallhalf': (affine, {'bits': 8, 'k': 96, 'group': 32, 'dtype': mx.float16}),
    'a8large': (affine, {'bits': 8, 'k': 128, 'group': 128, 'dtype': mx.bfloat16}),
    'a8largehalf': (affine, {'bits': 8, 'k': 128, 'group': 128, 'dtype': mx.float16}),
    'mxfp4': (mxfp4, {'k': 160}),
}


def main():
    stored = {}
    for number, (name, (make, form)) in enumerate(CASES.items()):
        tensors, values = make(np.random.default_rng(number), **form)
        assert mx.isfinite(values).all() and values.dtype == mx.float32 and values.shape == (ROWS, form['k']), name
        stored |= {f'{name}.{of}': tensor for of, tensor in tensors.items()}
        stored[f'{name}.values'] = values
    mx.save_safetensors(str(PATH), stored)
    print(PATH, PATH.stat().st_size)


main()
