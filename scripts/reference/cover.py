"""Goldens of coverImage:  python scripts/reference/cover.py

test/golden/cover.json: images of the given sizes, made by the formula of `source`, as ImageOps.fit of Pillow scales and crops them
with its Lanczos filter. Pixels are base64 of RGB.
"""

import base64
import json
from pathlib import Path

from PIL import Image, ImageOps

# Width and height of the source, then of the result.
SIZES = [
    (64, 64, 32, 32),
    (65, 47, 33, 33),
    (200, 100, 25, 25),
    (31, 17, 48, 40),
    (64, 64, 40, 24),
    (37, 300, 19, 23),
    (1, 1, 3, 2),
    (9, 7, 1, 1),
]


def source(width: int, height: int) -> Image.Image:
    values = bytes(
        (x * 37 + y * 61 + channel * 83 + x * y * 7) % 256
        for y in range(height)
        for x in range(width)
        for channel in range(3)
    )
    return Image.frombytes('RGB', (width, height), values)


def case(width: int, height: int, to_width: int, to_height: int) -> dict:
    covered = ImageOps.fit(source(width, height), (to_width, to_height), Image.LANCZOS)
    return {
        'from': [width, height],
        'to': [to_width, to_height],
        'pixels': base64.b64encode(covered.tobytes()).decode(),
    }


if __name__ == '__main__':
    path = Path(__file__).parents[2] / 'test/golden/cover.json'
    lines = ',\n'.join(json.dumps(case(*size)) for size in SIZES)
    path.write_text(f'[\n{lines}\n]\n')
