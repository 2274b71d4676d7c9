"""Goldens of BMP files as PIL decodes them:  python scripts/reference/bmp_files.py

test/golden/bmp-files.json: files of every header, depth, mask and compression that PIL reads (base64), and their pixels as RGB (deflated,
base64). For files with alpha also `over_white`, as in media_images.py.
"""

import json
import struct
from pathlib import Path

import numpy as np
from media_images import image, image_case, saved

WIDTH, HEIGHT = 23, 7
random = np.random.default_rng(9)


def padded(rows: list[bytes]) -> bytes:
    return b''.join(row + b'\0' * (-len(row) % 4) for row in rows)


def bmp(
    bits: int,
    pixels: bytes,
    *,
    size: int = 40,
    compression: int = 0,
    top_down: bool = False,
    palette: bytes = b'',
    colours: int = 0,
    masks: tuple[int, ...] = (),
    width: int = WIDTH,
    height: int = HEIGHT,
) -> bytes:
    if size == 12:
        header = struct.pack('<IHHHH', 12, width, height, 1, bits)
    else:
        stated = -height if top_down else height
        header = struct.pack('<IiiHHIIiiII', size, width, stated, 1, bits, compression, len(pixels), 2835, 2835, colours, 0)
        header += b''.join(struct.pack('<I', mask) for mask in masks)
        header = header.ljust(size, b'\0')
    start = 14 + len(header) + len(palette)
    return b'BM' + struct.pack('<IHHI', start + len(pixels), 0, 0, start) + header + palette + pixels


def numbers(bits: int, colours: int) -> bytes:
    """Rows of numbers of colours."""
    rows = []
    for row in random.integers(0, colours, (HEIGHT, WIDTH)):
        text = ''.join(format(one, f'0{bits}b') for one in row)
        text += '0' * (-len(text) % 8)
        rows.append(int(text, 2).to_bytes(len(text) // 8, 'big'))
    return padded(rows)


def palette(colours: int, entry: int = 4) -> bytes:
    return b''.join(bytes(random.integers(0, 256, 3).tolist()) + b'\0' * (entry - 3) for _ in range(colours))


def words(bits: int) -> bytes:
    return padded([random.integers(0, 256, WIDTH * bits // 8, np.uint8).tobytes() for _ in range(HEIGHT)])


def runs_8() -> bytes:
    rows = [
        bytes([10, 3, 13, 200]) + b'\0\0',
        bytes([0, 5, 1, 2, 3, 4, 5, 0, 18, 7]) + b'\0\0',  # five values, filled up
        bytes([4, 9]) + b'\0\0',  # the rest of the row is left out
        bytes([2, 1, 0, 2, 3, 1, 5, 30]) + b'\0\0',  # a jump to the right and up
        bytes([0, 4, 11, 12, 13, 14, 19, 250]) + b'\0\0',
        bytes([23, 77]) + b'\0\1',
    ]
    return b''.join(rows)


def runs_4() -> bytes:
    rows = [
        bytes([23, 0x5A]) + b'\0\0',
        bytes([0, 4, 0x12, 0x34, 19, 0xF0]) + b'\0\0',
        bytes([0, 8, 0x89, 0xAB, 0xCD, 0xEF, 7, 0x77]) + b'\0\0',
        bytes([3, 0x21, 0, 2, 4, 2, 2, 0x66]) + b'\0\0',
        bytes([23, 0x3C]) + b'\0\1',
    ]
    return b''.join(rows)


def files() -> dict[str, bytes]:
    xrgb, rgba, abgr = (0xFF0000, 0xFF00, 0xFF, 0), (0xFF, 0xFF00, 0xFF0000, 0xFF000000), (0xFF000000, 0xFF0000, 0xFF00, 0xFF)
    bgra, zero = (0xFF0000, 0xFF00, 0xFF, 0xFF000000), (0, 0, 0, 0)
    return {
        'saved-24': saved(image(), 'BMP'),
        'saved-grey': saved(image(mode='L'), 'BMP'),
        'saved-1': saved(image(mode='L').convert('1'), 'BMP'),
        'saved-8': saved(image().quantize(23), 'BMP'),
        'saved-alpha': saved(image(mode='RGBA'), 'BMP'),
        '1': bmp(1, numbers(1, 2), palette=palette(2)),
        '1-top-down': bmp(1, numbers(1, 2), palette=palette(2), top_down=True),
        '4': bmp(4, numbers(4, 16), palette=palette(16)),
        '4-few-colours': bmp(4, numbers(4, 5), palette=palette(5), colours=5),
        '8': bmp(8, numbers(8, 256), palette=palette(256)),
        '8-top-down': bmp(8, numbers(8, 30), palette=palette(30), colours=30, top_down=True),
        '16': bmp(16, words(16)),
        '16-fields-565': bmp(16, words(16), compression=3, masks=(0xF800, 0x7E0, 0x1F), size=52),
        '16-fields-555': bmp(16, words(16), compression=3, masks=(0x7C00, 0x3E0, 0x1F, 0), size=56),
        '24-top-down': bmp(24, words(24), top_down=True),
        '32': bmp(32, words(32)),
        '32-top-down': bmp(32, words(32), top_down=True),
        '32-fields': bmp(32, words(32), compression=3, masks=xrgb, size=108),
        '32-alpha': bmp(32, words(32), compression=3, masks=bgra, size=108),
        '32-alpha-rgba': bmp(32, words(32), compression=3, masks=rgba, size=124),
        '32-alpha-abgr': bmp(32, words(32), compression=3, masks=abgr, size=56, top_down=True),
        '32-alpha-unstated': bmp(32, words(32), compression=3, masks=zero, size=108),
        'os2-1': bmp(1, numbers(1, 2), palette=palette(2, 3), size=12),
        'os2-8': bmp(8, numbers(8, 256), palette=palette(256, 3), size=12),
        'os2-24': bmp(24, words(24), size=12),
        'os2-second-24': bmp(24, words(24), size=64),
        'runs-8': bmp(8, runs_8(), palette=palette(256), compression=1),
        'runs-4': bmp(4, runs_4(), palette=palette(16), compression=2),
        # Masks behind the shortest header.
        'masks-behind': masks_behind(),
    }


def masks_behind() -> bytes:
    file = bmp(16, words(16), compression=3, masks=(0xF800, 0x7E0, 0x1F), size=52)
    return file[:14] + struct.pack('<I', 40) + file[18:]


if __name__ == '__main__':
    path = Path(__file__).parents[2] / 'test/golden/bmp-files.json'
    path.write_text(json.dumps([image_case(*file) for file in files().items()], indent=1) + '\n')
