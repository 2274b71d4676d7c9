"""Experts as gpt-oss is published with: codes of MXFP4, two a byte, and an exponent for 32 of them.

`<name>_blocks` [experts, rows, K / 32, 16] and `<name>_scales` [experts, rows, K / 32] stand for `<name>` [experts, K, rows]. Values are those
that transformers' own dequantization gives.

    python scripts/reference/mxfp4.py    # writes test/golden/mxfp4-experts.safetensors
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors


def unpacked(blocks, scales):
    return convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)


def is_expert(name):
    return name.endswith(('experts.gate_up_proj', 'experts.down_proj'))


def widened(state):
    """A file's tensors with those of experts as numbers."""
    whole = {name: tensor for name, tensor in state.items() if not name.endswith(('_blocks', '_scales'))}
    for name, tensor in state.items():
        if name.endswith('_blocks'):
            name = name.removesuffix('_blocks')
            whole[name] = unpacked(tensor, state[f'{name}_scales'])
    return whole


def make_golden(path):
    """Random codes of two experts under random exponents and the extreme ones, and their values by transformers, [experts, K, rows]."""
    torch.manual_seed(1)
    blocks = torch.randint(0, 256, (2, 12, 3, 16), dtype=torch.uint8)
    scales = torch.randint(100, 150, (2, 12, 3), dtype=torch.uint8)
    scales[0, :6, 0] = torch.tensor([0, 1, 2, 127, 253, 254], dtype=torch.uint8)
    values = unpacked(blocks, scales)
    save_file({'blocks': blocks, 'scales': scales, 'values': values}, path)


if __name__ == '__main__':
    make_golden(Path(__file__).resolve().parents[2] / 'test/golden/mxfp4-experts.safetensors')
