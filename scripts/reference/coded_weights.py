"""Makes the goldens of weights that GPTQ, AWQ and compressed-tensors files hold in several tensors:  python scripts/reference/coded_weights.py

test/golden/coded-weights.safetensors holds, for each case, the tensors of a module as a checkpoint has them, `<case>.<tensor>`, and
`<case>.values`, f32 [rows, k], which the method's own code gives for them with scales widened to f32: TorchLinear of gptqmodel 7.7.0,
dequantize_gemm of autoawq 0.2.9, PackedQuantizationCompressor of compressed-tensors 0.20.0. The settings that config.json states for a case stand
in the file's metadata. Codes and zero points are random words; the scales of eight rows in turn: ordinary ones of both signs, the largest,
the smallest normal ones, subnormal ones, zeros.

The three packages need no CUDA for this, but ask for it when they are installed as usual: install them with `pip install --no-deps`, and
loguru, pypcre, device-smi, tokenicer, logbar, threadpoolctl and defuser beside them; of autoawq, whose modules import kernels, the one
file awq/utils/packing_utils.py is loaded from the path in AWQ_PACKING.
"""

import importlib.util
import json
import os
import sys
from pathlib import Path

import torch
from compressed_tensors.compressors.pack_quantized import PackedQuantizationCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from gptqmodel.nn_modules.qlinear.torch import TorchLinear
from gptqmodel.utils.model import convert_gptq_v1_to_v2_format_module
from safetensors.torch import save_file

PATH = Path(__file__).resolve().parents[2] / 'test' / 'golden' / 'coded-weights.safetensors'
ROWS = 64

spec = importlib.util.spec_from_file_location('packing_utils', os.environ['AWQ_PACKING'])
awq = importlib.util.module_from_spec(spec)
spec.loader.exec_module(awq)


def words(random, *shape):
    return torch.randint(-(2**31), 2**31, shape, generator=random, dtype=torch.int64).to(torch.int32)


def extreme_scales(random, rows, groups, dtype):
    """Scales [rows, groups]; the row's number by 8 tells the kind."""
    scales = (torch.rand(rows, groups, generator=random) - 0.5) / 8
    largest, smallest = torch.finfo(dtype).max, torch.finfo(dtype).smallest_normal
    if dtype != torch.float16:  # what is read as a number is below 2**64
        largest, smallest = 2.0**60, 2.0**-100
    scales[1::8] *= 100
    scales[2::8] = largest * scales[2::8].sign()
    scales[3::8] = smallest * scales[3::8].sign()
    if dtype == torch.float16:
        scales[4::8] = torch.randint(-1023, 1024, scales[4::8].shape, generator=random) * 2.0**-24
    scales[5::8] = 0
    return scales.to(dtype)


def gptq(random, *, bits, k, group, version, ordered=False):
    groups = 1 if group < 0 else -(-k // group)
    tensors = {
        'qweight': words(random, k * bits // 32, ROWS),
        'qzeros': words(random, groups, ROWS * bits // 32),
        'scales': extreme_scales(random, ROWS, groups, torch.float16).t().contiguous(),
        'g_idx': torch.arange(k, dtype=torch.int32) // (k if group < 0 else group),
    }
    if ordered:
        tensors['g_idx'] = tensors['g_idx'][torch.randperm(k, generator=random)].contiguous()
    linear = TorchLinear(bits=bits, group_size=group, sym=False, desc_act=ordered, in_features=k, out_features=ROWS, bias=False, register_buffers=True)
    for name, tensor in tensors.items():
        setattr(linear, name, tensor.clone())
    if version == 1:
        convert_gptq_v1_to_v2_format_module(linear, bits, torch.int32)
    linear.scales = linear.scales.float()
    linear.post_init()
    values = linear.dequantize_weight().t().contiguous()
    settings = {'quant_method': 'gptq', 'bits': bits, 'group_size': group, 'desc_act': ordered, 'sym': False}
    if version == 2:
        settings['checkpoint_format'] = 'gptq_v2'
    return settings, tensors, values


def awq_gemm(random, *, k, group):
    tensors = {
        'qweight': words(random, k, ROWS // 8),
        'qzeros': words(random, k // group, ROWS // 8),
        'scales': extreme_scales(random, ROWS, k // group, torch.float16).t().contiguous(),
    }
    values = awq.dequantize_gemm(tensors['qweight'], tensors['qzeros'], tensors['scales'].float(), 4, group)
    settings = {'quant_method': 'awq', 'bits': 4, 'group_size': group, 'zero_point': True, 'version': 'gemm'}
    return settings, tensors, values.t().contiguous()


def packed(random, *, bits, k, group, symmetric, dtype, ordered=False):
    strategy = 'channel' if group is None else 'group'
    args = QuantizationArgs(num_bits=bits, type='int', symmetric=symmetric, strategy=strategy, group_size=group)
    scheme = QuantizationScheme(targets=['Linear'], weights=args)
    groups = 1 if group is None else k // group
    half = 2 ** (bits - 1)
    scale = extreme_scales(random, ROWS, groups, dtype)
    zero = torch.zeros(ROWS, groups, dtype=torch.int8)
    if not symmetric:
        zero = torch.randint(-half, half, (ROWS, groups), generator=random).to(torch.int8)
    codes = torch.randint(-half, half, (ROWS, k), generator=random).to(torch.int8)
    group_of = torch.arange(k, dtype=torch.int32) // (group or k)
    # Packs the codes themselves: they are the quantized values of weights with scale 1 and zero point 0.
    plain = QuantizationArgs(num_bits=bits, type='int', symmetric=True, strategy='channel')
    ones = {'weight': codes.float(), 'weight_scale': torch.ones(ROWS, 1)}
    tensors = PackedQuantizationCompressor.compress(ones, QuantizationScheme(targets=['Linear'], weights=plain))
    tensors['weight_scale'] = scale
    if not symmetric:
        from compressed_tensors.compressors.pack_quantized import pack_to_int32

        tensors['weight_zero_point'] = pack_to_int32(zero, bits, packed_dim=0).contiguous()
    wide = dict(tensors, weight_scale=scale.float())
    if ordered:
        # The compressor takes inputs in the order of their groups.
        group_of = group_of[torch.randperm(k, generator=random)].contiguous()
        order = torch.argsort(group_of, stable=True)
        ones['weight'] = codes[:, order].float()
        wide['weight_packed'] = PackedQuantizationCompressor.compress(
            ones, QuantizationScheme(targets=['Linear'], weights=plain)
        )['weight_packed']
    values = PackedQuantizationCompressor.decompress(wide, scheme)['weight']
    if ordered:
        values = values[:, torch.argsort(order)].contiguous()
        tensors['weight_g_idx'] = group_of
    weights = {'num_bits': bits, 'type': 'int', 'symmetric': symmetric, 'strategy': strategy, 'group_size': group}
    if ordered:
        weights['actorder'] = 'group'
    settings = {
        'quant_method': 'compressed-tensors',
        'format': 'pack-quantized',
        'config_groups': {'group_0': {'targets': ['Linear'], 'weights': weights}},
    }
    return settings, tensors, values


CASES = {
    'gptq4': (gptq, {'bits': 4, 'k': 256, 'group': 32, 'version': 1}),
    'gptq4v2': (gptq, {'bits': 4, 'k': 256, 'group': 128, 'version': 2}),
    'gptq4order': (gptq, {'bits': 4, 'k': 256, 'group': 64, 'version': 1, 'ordered': True}),
    'gptq8': (gptq, {'bits': 8, 'k': 192, 'group': 64, 'version': 1}),
    'gptq8whole': (gptq, {'bits': 8, 'k': 128, 'group': -1, 'version': 2}),
    'gptq8order': (gptq, {'bits': 8, 'k': 160, 'group': 64, 'version': 2, 'ordered': True}),
    'awq': (awq_gemm, {'k': 256, 'group': 128}),
    'awq32': (awq_gemm, {'k': 96, 'group': 32}),
    'packed4': (packed, {'bits': 4, 'k': 256, 'group': 128, 'symmetric': True, 'dtype': torch.bfloat16}),
    'packed4zeros': (packed, {'bits': 4, 'k': 128, 'group': 32, 'symmetric': False, 'dtype': torch.float16}),
    'packed4order': (
        packed,
        {'bits': 4, 'k': 256, 'group': 64, 'symmetric': False, 'dtype': torch.bfloat16, 'ordered': True},
    ),
    'packed8': (packed, {'bits': 8, 'k': 128, 'group': None, 'symmetric': True, 'dtype': torch.float32}),
    'packed8zeros': (packed, {'bits': 8, 'k': 128, 'group': None, 'symmetric': False, 'dtype': torch.bfloat16}),
}


def main():
    stored, stated = {}, {}
    for name, (make, form) in CASES.items():
        random = torch.Generator().manual_seed(len(name) * 1000 + form['k'])
        settings, tensors, values = make(random, **form)
        assert values.isfinite().all() and values.dtype == torch.float32, name
        assert values.shape == (ROWS, form['k']), (name, values.shape)
        stored |= {f'{name}.{of}': tensor for of, tensor in tensors.items()}
        stored[f'{name}.values'] = values
        stated[name] = json.dumps(settings)
    save_file(stored, PATH, stated)
    print(PATH, PATH.stat().st_size, file=sys.stderr)


main()
