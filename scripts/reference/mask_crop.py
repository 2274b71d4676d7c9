"""Goldens of padding_mask_crop:  python scripts/reference/mask_crop.py

test/golden/mask-crop.json: for pictures and masks of the given sizes, made by the formulas of `picture` and `mask`, what
diffusers' VaeImageProcessor makes of them for a picture of `drawn` pixels: the region, the two parts at that size, and
the picture with a drawn one laid over it. Pixels are base64 of RGB, masks of one byte.
"""

import base64
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from diffusers.image_processor import VaeImageProcessor
from PIL import Image

GOLDEN = Path(__file__).resolve().parents[2] / 'test' / 'golden'
# Picture, [left, top, right, bottom] that the mask marks, drawn, padding.
CASES = {
    'in the middle, larger than it was': ((40, 32), (14, 10, 25, 19), (32, 32), 2),
    'smaller than it was': ((90, 70), (11, 9, 75, 60), (24, 16), 5),
    'in a corner': ((40, 32), (33, 28, 40, 32), (24, 32), 6),
    'wider than the picture is high': ((61, 13), (3, 2, 55, 11), (24, 24), 0),
    'higher than the picture is wide': ((11, 57), (2, 5, 9, 52), (30, 20), 4),
    'of the proportions asked for': ((40, 32), (8, 8, 24, 24), (16, 16), 0),
}


def picture(width, height, turn=0):
    y, x, channel = np.mgrid[0:height, 0:width, 0:3]
    return ((x * 37 + y * 61 + channel * 83 + x * y * 7 + turn * 101) % 256).astype(np.uint8)


def mask(width, height, marked):
    """White, with a grey edge on the left."""
    left, top, right, bottom = marked
    values = np.zeros((height, width), np.uint8)
    values[top:bottom, left:right] = 255
    values[top:bottom, left] = 90
    return values


def text(pixels):
    return base64.b64encode(np.ascontiguousarray(pixels).tobytes()).decode()


def made(size, marked, drawn, padding):
    processor = VaeImageProcessor(do_normalize=False)
    image, white = Image.fromarray(picture(*size)), Image.fromarray(mask(*size, marked))
    width, height = drawn
    region = processor.get_crop_region(white, width, height, pad=padding)

    def part(one):
        return np.asarray(processor.resize(one.crop(region), height, width, resize_mode='fill').convert(one.mode))

    shown = processor.apply_overlay(white, image, Image.fromarray(picture(width, height, 1)), region)
    return {
        'size': size,
        'marked': marked,
        'drawn': drawn,
        'padding': padding,
        'region': region,
        'image': text(part(image)),
        'mask': text(part(white)),
        'shown': text(np.asarray(shown)),
    }


if __name__ == '__main__':
    document = {
        'command': 'python scripts/reference/mask_crop.py',
        'made_with': {package: version(package) for package in ('diffusers', 'numpy', 'pillow')},
        'cases': {name: made(*case) for name, case in CASES.items()},
    }
    (GOLDEN / 'mask-crop.json').write_text(json.dumps(document, separators=(",", ":")) + '\n')
