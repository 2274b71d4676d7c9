"""Goldens of images and animations as PIL decodes them:  python scripts/reference/media_images.py

test/golden/media-images.json: files of every kind that clients send (base64), and what transformers' load_image makes of each: EXIF
orientation applied, then RGB (deflated, base64). For files with alpha also `over_white`, as Idefics' processor composites them.
"""

import base64
import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

random = np.random.default_rng(5)
CHANNELS = {'RGB': 3, 'RGBA': 4, 'L': 1, 'LA': 2, 'CMYK': 4}


def values(width: int, height: int, channels: int) -> np.ndarray:
    x = np.linspace(0, 1, width)[None, :, None]
    y = np.linspace(0, 1, height)[:, None, None]
    channel = np.arange(1, channels + 1)[None, None, :]
    waves = 127 + 100 * np.sin(5 * x * channel + 3 * y) + random.normal(0, 10, (height, width, channels))
    return np.clip(waves, 0, 255).astype(np.uint8)


def image(width: int = 23, height: int = 17, mode: str = 'RGB') -> Image.Image:
    return Image.fromarray(values(width, height, CHANNELS[mode]).squeeze(2) if mode == 'L' else values(width, height, CHANNELS[mode]), mode)


def saved(picture: Image.Image, form: str, **options) -> bytes:
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


def turned(orientation: int, form: str = 'JPEG', **options) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return saved(image(15, 9), form, exif=exif, **options)


def deep_png(channels: int, colour_type: int) -> bytes:
    """A PNG of 16 bits a channel, which PIL does not write in colour."""
    wide = values(13, 7, channels).astype(np.uint32) * 257
    rows = (wide ^ random.integers(0, 255, wide.shape)).astype('>u2')
    raw = b''.join(b'\0' + row.tobytes() for row in rows)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    header = struct.pack('>IIBBBBB', 13, 7, 16, colour_type, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(raw)) + chunk(b'IEND', b'')


def files() -> dict[str, bytes]:
    palette = image().quantize(23)
    return {
        'rgb.png': saved(image(), 'PNG'),
        'rgba.png': saved(image(mode='RGBA'), 'PNG'),
        'grey.png': saved(image(mode='L'), 'PNG'),
        'grey-alpha.png': saved(image(mode='LA'), 'PNG'),
        'one-bit.png': saved(image(mode='L').convert('1'), 'PNG'),
        'palette.png': saved(palette, 'PNG'),
        'palette-transparent.png': saved(image().quantize(11), 'PNG', transparency=bytes([0, 128, 255, 255])),
        'colour-key.png': saved(image(), 'PNG', transparency=(1, 2, 3)),
        'rgb-16-bit.png': deep_png(3, 2),
        'rgba-16-bit.png': deep_png(4, 6),
        'grey-alpha-16-bit.png': deep_png(2, 4),
        'one-wide.png': saved(image(1, 29), 'PNG'),
        'one-pixel.png': saved(image(1, 1), 'PNG'),
        'four-to-one.jpg': saved(image(64, 16), 'JPEG'),
        'rgb.jpg': saved(image(), 'JPEG', quality=90),
        'full-chroma.jpg': saved(image(), 'JPEG', quality=95, subsampling=0),
        'half-chroma.jpg': saved(image(24, 19), 'JPEG', subsampling=1),
        'progressive.jpg': saved(image(), 'JPEG', progressive=True),
        'grey.jpg': saved(image(mode='L'), 'JPEG'),
        'cmyk.jpg': saved(image(mode='CMYK'), 'JPEG', quality=95),
        **{f'turned-{one}.jpg': turned(one) for one in range(2, 9)},
        'turned-6.png': turned(6, 'PNG'),
        'turned-8.webp': turned(8, 'WEBP', lossless=True),
        'lossy.webp': saved(image(), 'WEBP', quality=80),
        'alpha.webp': saved(image(mode='RGBA'), 'WEBP', quality=80),
        'lossless.webp': saved(image(mode='RGBA'), 'WEBP', lossless=True),
        'palette.gif': saved(palette, 'GIF'),
        'rgb.tif': saved(image(), 'TIFF'),
    }


def animations() -> dict[str, bytes]:
    def frame(step: int) -> Image.Image:
        pixels = np.zeros((10, 14, 3), np.uint8)
        pixels[...] = (30 * step, 120, 200 - 20 * step)
        pixels[2:6, step : step + 3] = (255, 0, 0)
        return Image.fromarray(pixels)

    first, *others = [frame(step) for step in range(7)]
    options = {'save_all': True, 'append_images': others, 'loop': 0}
    return {
        'animation.gif': saved(first, 'GIF', duration=[100, 50, 200, 0, 10, 120, 300], **options),
        'animation.webp': saved(first, 'WEBP', duration=[100, 50, 200, 40, 70, 120, 300], lossless=True, **options),
    }


def packed(pixels: bytes) -> str:
    return base64.b64encode(zlib.compress(pixels, 9)).decode()


def composited(picture: Image.Image) -> Image.Image:
    rgba = picture.convert('RGBA')
    white = Image.new('RGBA', rgba.size, (255, 255, 255))
    return Image.alpha_composite(white, rgba).convert('RGB')


def image_case(name: str, file: bytes) -> dict:
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(file)))
    rgb = upright.convert('RGB')
    return {
        'name': name,
        'file': base64.b64encode(file).decode(),
        'size': rgb.size,
        'rgb': packed(rgb.tobytes()),
        **({'over_white': packed(composited(upright).tobytes())} if upright.has_transparency_data else {}),
    }


def animation_case(name: str, file: bytes) -> dict:
    frames = []
    picture = Image.open(io.BytesIO(file))
    for at in range(picture.n_frames):
        picture.seek(at)
        frames.append(packed(picture.convert('RGB').tobytes()))
    return {'name': name, 'file': base64.b64encode(file).decode(), 'size': picture.size, 'frames': frames}


if __name__ == '__main__':
    path = Path(__file__).parents[2] / 'test/golden/media-images.json'
    cases = [image_case(*file) for file in files().items()] + [animation_case(*file) for file in animations().items()]
    path.write_text('[\n' + ',\n'.join(map(json.dumps, cases)) + '\n]\n')
