"""Makes the goldens of bitsandbytes' weights:  python scripts/reference/bitsandbytes_weights.py

test/golden/bitsandbytes-weights.safetensors holds, for each case, the tensors of a module as a checkpoint has them, `<case>.<tensor>`, and
`<case>.values`, f32 [rows, k], which bitsandbytes 0.50.2 computes for them on the CPU
(requirements-quantized.txt). Codes are random; so are the scales: of eight blocks in turn
ordinary ones, larger ones, 2**60, 2**-100, zeros.
"""

import sys
from pathlib import Path

import bitsandbytes.functional as bnb
import torch
from safetensors.torch import save_file

PATH = Path(__file__).resolve().parents[2] / 'test' / 'golden' / 'bitsandbytes-weights.safetensors'
ROWS = 32


def extreme(random, count):
    scales = torch.rand(count, generator=random) / 8 + 1e-3
    scales[1::8] *= 100
    scales[2::8] = 2.0**60
    scales[3::8] = 2.0**-100
    scales[4::8] = 0
    return scales


def blocks(random, *, kind, k, size, nested):
    count = -(-ROWS * k // size)
    code = bnb.get_4bit_type(kind, device='cpu')
    offset, inner = None, None
    absmax = extreme(random, count)
    if nested:
        absmax = torch.randint(0, 256, (count,), generator=random).to(torch.uint8)
        scales = extreme(random, -(-count // 256))
        scales[3::8] = 2.0**-30  # beside the offset
        offset = torch.tensor(0.0525830574, dtype=torch.float32)
        inner = bnb.QuantState(absmax=scales, code=bnb.create_dynamic_map(), blocksize=256, dtype=torch.float32)
    state = bnb.QuantState(
        absmax=absmax, shape=torch.Size([ROWS, k]), code=code, blocksize=size, quant_type=kind, dtype=torch.float32, offset=offset, state2=inner
    )
    codes = torch.randint(0, 256, (ROWS * k // 2, 1), generator=random).to(torch.uint8)
    tensors = {'weight': codes} | {f'weight.{name}': tensor for name, tensor in state.as_dict(packed=True).items()}
    # Blocks run over the whole matrix. The CPU kernel begins each row with a block of its own, which undoes its own quantization only where
    # rows are whole blocks: one row of everything is.
    state.shape = torch.Size([ROWS * k])
    return tensors, bnb.dequantize_4bit(codes, state).reshape(ROWS, k)


def llm_int8(random, *, k):
    codes = torch.randint(-128, 128, (ROWS, k), generator=random).to(torch.int8)
    ranges = extreme(random, ROWS)
    tensors = {'weight': codes, 'SCB': ranges, 'weight_format': torch.tensor(0, dtype=torch.uint8)}
    return tensors, bnb.int8_vectorwise_dequant(codes, ranges)


CASES = {
    'nf4': (blocks, {'kind': 'nf4', 'k': 256, 'size': 64, 'nested': False}),
    'nf4nested': (blocks, {'kind': 'nf4', 'k': 1024, 'size': 64, 'nested': True}),
    'nf4wide': (blocks, {'kind': 'nf4', 'k': 256, 'size': 128, 'nested': False}),
    'nf4across': (blocks, {'kind': 'nf4', 'k': 160, 'size': 64, 'nested': False}),
    'nf4acrossnested': (blocks, {'kind': 'nf4', 'k': 192, 'size': 256, 'nested': True}),
    'fp4': (blocks, {'kind': 'fp4', 'k': 192, 'size': 64, 'nested': False}),
    'fp4across': (blocks, {'kind': 'fp4', 'k': 96, 'size': 64, 'nested': True}),
    'int8': (llm_int8, {'k': 256}),
    'int8narrow': (llm_int8, {'k': 96}),
}


def main():
    stored = {}
    for name, (make, form) in CASES.items():
        random = torch.Generator().manual_seed(len(name) * 1000 + form['k'])
        tensors, values = make(random, **form)
        assert values.isfinite().all() and values.dtype == torch.float32 and values.shape == (ROWS, form['k']), name
        stored |= {f'{name}.{of}': tensor.contiguous() for of, tensor in tensors.items()}
        stored[f'{name}.values'] = values.contiguous()
    save_file(stored, PATH)
    print(PATH, PATH.stat().st_size, file=sys.stderr)


main()
