"""Makes the goldens of NVFP4 as ModelOpt and compressed-tensors publish it:  python scripts/reference/nvfp4_weights.py

test/golden/nvfp4-weights.safetensors holds, for each case, the tensors of a module as a checkpoint has them, `<case>.<tensor>`, and
`<case>.values`, f32 [rows, k]. Values of compressed-tensors are those that its own unpack_fp4_from_uint8 and dequantize give in f32 (0.20.0, installed with
`pip install --no-deps compressed-tensors==0.20.0 loguru`); those of ModelOpt are float of E2M1 · (float of E4M3 · factor) in torch's f32, as its
NVFP4QTensor.dequantize computes them. Codes are random bytes; scales are all of E4M3's numbers without sign.
"""

import sys
from pathlib import Path

import torch
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.quantization import QuantizationArgs
from compressed_tensors.quantization.lifecycle.forward import dequantize
from safetensors.torch import save_file

PATH = Path(__file__).resolve().parents[2] / 'test' / 'golden' / 'nvfp4-weights.safetensors'
ROWS = 36
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def stored(random, k):
    codes = torch.randint(0, 256, (ROWS, k // 2), generator=random).to(torch.uint8)
    scales = torch.randint(0, 127, (ROWS, k // 16), generator=random).to(torch.uint8).view(torch.float8_e4m3fn)
    return codes, scales


def modelopt(random, *, k, factor):
    codes, scales = stored(random, k)
    factor = torch.tensor(factor)
    digits = E2M1[torch.stack([codes & 15, codes >> 4], dim=-1).reshape(ROWS, k).long()]
    values = digits * (scales.float() * factor).repeat_interleave(16, dim=1)
    tensors = {'weight': codes, 'weight_scale': scales, 'weight_scale_2': factor, 'input_scale': torch.tensor(0.01)}
    return tensors, values


def compressed(random, *, k, factor):
    codes, scales = stored(random, k)
    factor = torch.tensor([factor])
    args = QuantizationArgs(num_bits=4, type='float', symmetric=True, strategy='tensor_group', group_size=16)
    tensors = {'weight_packed': codes, 'weight_scale': scales, 'weight_global_scale': factor}
    # Its compressor computes the same in bf16.
    digits = unpack_fp4_from_uint8(codes, ROWS, k, dtype=torch.float32)
    values = dequantize(x_q=digits, scale=scales.float(), args=args, global_scale=factor, dtype=torch.float32)
    return dict(tensors, input_global_scale=torch.tensor([300.0])), values


CASES = {
    'modelopt': (modelopt, {'k': 256, 'factor': 0.000123456789}),
    'modeloptrows': (modelopt, {'k': 64, 'factor': 0.0123456789}),
    'modeloptrows2': (modelopt, {'k': 64, 'factor': 0.0003}),
    'compressed': (compressed, {'k': 256, 'factor': 12345.678}),
    'compressedrows': (compressed, {'k': 64, 'factor': 777.7}),
}


def main():
    tensors = {}
    for number, (name, (make, form)) in enumerate(CASES.items()):
        own, values = make(torch.Generator().manual_seed(number), **form)
        assert values.isfinite().all() and values.shape == (ROWS, form['k']), name
        tensors |= {f'{name}.{of}': tensor for of, tensor in own.items()} | {f'{name}.values': values.contiguous()}
    save_file(tensors, PATH)
    print(PATH, PATH.stat().st_size, file=sys.stderr)


main()
