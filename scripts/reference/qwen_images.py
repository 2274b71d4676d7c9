"""What transformers' processor of Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen3.5 makes of odd images:  python scripts/reference/qwen_images.py

test/golden/qwen-images.json: for settings as published and for small ones, the grid of each image of internvl/images.json and
media-images.json, and of some narrow ones that are stored there, and a digest of the bytes whose normalized values the patches hold, in order.
null: the processor refuses the image.
"""

import base64
import hashlib
import io
import json
from importlib.metadata import version
from pathlib import Path

import numpy
from PIL import Image, ImageOps
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

ROOT = Path(__file__).parents[2] / 'test' / 'golden'
HALVES = dict(image_mean=[0.5] * 3, image_std=[0.5] * 3)
SETTINGS = {
    'qwen2': dict(patch_size=14, size=dict(shortest_edge=56 * 56, longest_edge=28 * 28 * 1280)),
    'qwen3': dict(patch_size=16, size=dict(shortest_edge=256 * 256, longest_edge=4096 * 4096), **HALVES),
    # Most of the images shrink.
    'small': dict(patch_size=6, size=dict(shortest_edge=12 * 12, longest_edge=12 * 12 * 3)),
}
NARROW = [(200, 1), (1, 200), (201, 1), (1, 201), (402, 2), (7, 301)]


def narrow(width, height):
    random = numpy.random.default_rng(width)
    file = io.BytesIO()
    Image.fromarray(random.integers(0, 256, (height, width, 3), dtype=numpy.uint8)).save(file, 'PNG')
    return base64.b64encode(file.getvalue()).decode()


def opened(file):
    return ImageOps.exif_transpose(Image.open(io.BytesIO(base64.b64decode(file))))


def seen(processor, file):
    try:
        out = processor(images=[opened(file)], return_tensors='np')
    except ValueError as error:
        assert 'aspect ratio' in str(error)
        return None
    grid, pixels = out['image_grid_thw'][0], out['pixel_values'].astype(numpy.float64)
    # Columns: channels, frames, rows and columns of a patch.
    mean, std = (numpy.repeat(getattr(processor, f'image_{key}'), pixels.shape[1] // 3) for key in ('mean', 'std'))
    whole = (pixels * std + mean) * 255
    assert abs(whole - whole.round()).max() < 1e-2
    made = whole.round().astype(numpy.uint8)
    return dict(grid=grid.tolist(), tokens=int(grid.prod()) // processor.merge_size**2, sha256=hashlib.sha256(made.tobytes()).hexdigest())


def main():
    files = {name: one['file'] for name, one in json.loads((ROOT / 'internvl' / 'images.json').read_text())['images'].items()}
    files |= {case['name']: case['file'] for case in json.loads((ROOT / 'media-images.json').read_text()) if 'rgb' in case}
    own = {f'{width} × {height}': narrow(width, height) for width, height in NARROW}
    listed = {}
    for name, settings in SETTINGS.items():
        processor = Qwen2VLImageProcessorPil(**settings)
        values = {key: getattr(processor, key) for key in ('patch_size', 'merge_size', 'temporal_patch_size', 'image_mean', 'image_std')}
        images = {title: seen(processor, file) for title, file in (files | own).items()}
        listed[name] = dict(settings=dict(values, size=settings['size']), images=images)
    made = {'command': 'python scripts/reference/qwen_images.py', 'made_with': {name: version(name) for name in ('transformers', 'pillow')}}
    (ROOT / 'qwen-images.json').write_text(json.dumps(made | {'files': own, 'processors': listed}, indent=1) + '\n')


if __name__ == '__main__':
    main()
