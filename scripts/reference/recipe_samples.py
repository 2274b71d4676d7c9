"""Numbers of draws.py, to which those of scripts/setup/recipe.mjs are held:  python scripts/reference/recipe_samples.py

test/golden/recipe-samples.json: draws with the sums and the first of their numbers, and the digest of their bytes in each dtype.
"""

import hashlib
import json
from pathlib import Path

from draws import cast, integers, numbers

NUMBERS = (
    (1, 'model.embed_tokens.weight', 5000, 0.25, 0.0),
    (1, 'model.layers.0.norm.weight', 64, 0.3, 1.0),
    (4294967295, 'gewöhnlich/größer', 333, 1e-6, -1.5),
    (0, '', 7, 70000.0, 0.0),
    (77, 'blocks.1.to_q.weight', 1, 0.102, 0.0),
    (5, 'subnormal in f16', 500, 2e-6, 0.0),
)
INTEGERS = ((24, 'experts_blocks', 999, 0, 255), (24, 'experts_scales', 50, 121, 123))


def digest(values):
    return hashlib.sha256(values.tobytes()).hexdigest()[:16]


def sample(seed, name, count, scale, offset):
    values = numbers(seed, name, count, scale, offset)
    digests = {dtype: digest(cast(values, dtype)) for dtype in ('F32', 'F16', 'BF16')}
    return dict(seed=seed, name=name, count=count, scale=scale, offset=offset, first=[float(str(value)) for value in values[:3]], digests=digests)


if __name__ == '__main__':
    drawn = [
        dict(seed=seed, name=name, count=count, low=low, high=high, digest=digest(cast(integers(seed, name, count, low, high), 'U8')))
        for seed, name, count, low, high in INTEGERS
    ]
    lines = [json.dumps(one, ensure_ascii=False) for one in (*(sample(*one) for one in NUMBERS), *drawn)]
    (Path(__file__).parents[2] / 'test/golden/recipe-samples.json').write_text('[\n' + ',\n'.join(lines) + '\n]\n')
