"""Random numbers by formula: each hangs on a seed, a name and its index alone, see `words`. scripts/setup/recipe.mjs states the same."""

import math

import numpy as np

STEP = math.sqrt(6) / 65536
DTYPES = {'F64': 'f8', 'F32': 'f4', 'F16': 'f2', 'BF16': 'u2', 'I64': 'i8', 'I32': 'i4', 'U32': 'u4', 'U8': 'u1', 'I8': 'i1', 'BOOL': '?'}


def mixed(x):
    x = x ^ (x >> np.uint32(16))
    x = x * np.uint32(0x21F0AAAD)
    x = x ^ (x >> np.uint32(15))
    x = x * np.uint32(0xD35A2D97)
    return x ^ (x >> np.uint32(15))


def key_of(seed, name):
    key = 0x811C9DC5
    for byte in f'{seed}/{name}'.encode():
        key = (key ^ byte) * 0x01000193 & 0xFFFFFFFF
    return np.uint32(key)


def words(seed, name, count):
    """32 random bits for each index."""
    return mixed(mixed(np.arange(count, dtype=np.uint32)) ^ key_of(seed, name))


def numbers(seed, name, count, scale, offset=0.0):
    """Sums of the two halves of each word: a triangle around `offset`, rounded to f32 once."""
    bits = words(seed, name, count)
    halves = (bits & np.uint32(0xFFFF)).astype(np.float64) + (bits >> np.uint32(16)).astype(np.float64) - 65535
    return (offset + scale * STEP * halves).astype(np.float32)


def integers(seed, name, count, low, high):
    return (low + (words(seed, name, count).astype(np.uint64) * np.uint64(high - low + 1) >> np.uint64(32))).astype(np.int64)


def digits(number):
    """Few digits, so that recipes are short."""
    return float(f'{number:.3g}')


def cast(values, dtype):
    """Numbers in the bits of a dtype, rounded to the nearest, ties to even."""
    if dtype == 'BF16':
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)
    return values.astype(DTYPES[dtype])


def widened(bits):
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32) if bits.dtype == np.uint16 else bits.astype(np.float32)


class Draws:
    """What was drawn with a seed, by name."""

    def __init__(self, seed):
        self.seed = seed
        self.drawn = {}

    def __call__(self, name, shape, scale, offset=0.0):
        """A tensor of torch in f32."""
        import torch

        scale, offset = digits(scale), digits(offset)
        values = numbers(self.seed, name, math.prod(shape), scale, offset)
        self.drawn[name] = ({'scale': scale, 'offset': offset, 'seed': self.seed}, values)
        return torch.from_numpy(values.reshape(tuple(shape)).copy())

    def integers(self, name, shape, low, high):
        """A tensor of bytes."""
        import torch

        values = integers(self.seed, name, math.prod(shape), low, high).astype(np.uint8)
        self.drawn[name] = ({'low': low, 'high': high, 'seed': self.seed}, values)
        return torch.from_numpy(values.reshape(tuple(shape)).copy())
