"""torch's random streams:  python scripts/reference/noise.py

test/golden/noise.json, of the CPU generator: the first 64-bit words of torch.Generator('cpu').manual_seed(seed) (two 32-bit
words each, the first one high), its uniforms, and the normals of torch.randn in f32 for a sequence of counts drawn from one
generator; counts of 16 and more go through vector code, so `capability` names the processor's features that torch used.
`digest` is SHA-256 over the little-endian f32 of a whole latent tensor [4, 64, 64].

Of the CUDA generator, without a GPU: Philox 4x32-10 in Python's integers, checked against the known answers of its authors
(Random123), spread over the tensor by the launch rule of torch's ATen/native/cuda/DistributionTemplates.h for a GPU of
`limits` [multiprocessors, threads of one], and curand's Box-Muller with numpy's float64 functions rounded to f32.
`published` are normals that AUTOMATIC1111's rng_philox documents for torch's seed 0.
"""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

GOLDEN = Path(__file__).resolve().parents[2] / 'test' / 'golden'
SEEDS = [0, 42, 1_000_000_000, 2**32 + 7]
COUNTS = [5, 3, 64, 37, 1, 16, 100]
F32 = np.float32
KNOWN = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([2**32 - 1] * 4, [2**32 - 1] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]
PUBLISHED = [
    -0.92466259, -0.42534415, -2.6438457, 0.14518388, -0.12086647, -0.57972564, -0.62285122, -0.32838709, -1.07454231,
    -0.36314407, -1.67105067, 2.26550497,
]  # fmt: skip


def generator(seed):
    return torch.Generator('cpu').manual_seed(seed)


def decimals(values):
    """The shortest that read back as the same f32."""
    return [float(str(value)) for value in np.asarray(values, dtype=F32)]


def cpu(seed):
    words = torch.empty(8, dtype=torch.int64).random_(-(2**63), None, generator=generator(seed)).numpy().view(np.uint64)
    drawing = generator(seed)
    latents = torch.randn(4, 64, 64, generator=generator(seed)).numpy().astype('<f4')
    return {
        'seed': seed,
        'words': [f'{word:016x}' for word in words],
        'uniforms': decimals(torch.rand(16, generator=generator(seed))),
        'normals': [decimals(torch.randn(count, generator=drawing)) for count in COUNTS],
        'digest': hashlib.sha256(latents.tobytes()).hexdigest(),
    }


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ k[0], second & 0xFFFFFFFF, first >> 32 ^ c[3] ^ k[1], first & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def uniforms(x, y):
    """Returns the uniform numbers u and v of curand's Box-Muller transform."""
    unit, angle = F32(2.3283064e-10), F32(2.3283064e-10) * F32(6.2831855)
    u = F32(np.float64(F32(x)) * unit + unit / 2)
    v = F32(np.float64(F32(y)) * angle + angle / 2)
    return u, v


def normal(words, i):
    u, v = uniforms(*words[i & 2 : (i & 2) + 2])
    radius = np.sqrt(F32(-2) * F32(np.log(np.float64(u))))
    return F32(np.cos(np.float64(v)) if i % 2 else np.sin(np.float64(v))) * radius


def cuda(seed, limits, counts, at):
    """Returns normal numbers at the indices `at` of each of several tensors drawn in turn."""
    multiprocessors, threads_each = limits
    key, offset, drawn = [seed % 2**32, seed >> 32], 0, []
    for count in counts:
        threads = 256 * min(multiprocessors * (threads_each // 256), -(-count // 256))
        places = [place for place in at if place < count] + [count - 1]
        values = []
        for place in places:
            call, rest = divmod(place, threads * 4)
            i, thread = divmod(rest, threads)
            values.append(normal(philox([offset // 4 + call, 0, thread, 0], key), i))
        drawn.append({'count': count, 'places': places, 'normals': decimals(values)})
        offset += ((count - 1) // (threads * 4) + 1) * 4
    return {'seed': seed, 'limits': limits, 'tensors': drawn}


def cuda_words(seed):
    words = [philox([3, 0, thread, 0], [seed % 2**32, seed >> 32]) for thread in range(4)]
    pairs = [uniforms(four[0], four[1]) for four in words]
    return {'seed': seed, 'call': 3, 'words': words, 'uniforms': [decimals(pair) for pair in pairs]}


if __name__ == '__main__':
    assert all(philox(counter, key) == words for counter, key, words in KNOWN)
    first = cuda(0, [108, 2048], [12], range(11))['tensors'][0]['normals']
    assert np.allclose(first, PUBLISHED, atol=1e-6)
    places = [*range(6), 255, 256, 4095, 4096, 9999, 16383, 21503, 21504, 40000, 65535]
    document = {
        'command': 'python scripts/reference/noise.py',
        'made_with': {package: version(package) for package in ('numpy', 'torch')},
        'capability': torch.backends.cpu.get_cpu_capability(),
        'counts': COUNTS,
        'cpu': [cpu(seed) for seed in SEEDS],
        'cuda': {
            'published': PUBLISHED,
            'words': [cuda_words(seed) for seed in SEEDS],
            # A100 and, so that a thread takes several numbers, a small GPU (GeForce MX250: 3 multiprocessors).
            'runs': [cuda(s, limits, [12, 16384, 65536, 300], places) for s in SEEDS for limits in ([108, 2048], [3, 2048])],
        },
    }
    (GOLDEN / 'noise.json').write_text(json.dumps(document) + '\n')
