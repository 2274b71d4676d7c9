"""Frames of videos by a formula in whole numbers, which test/models/vision/drawn-clips.ts has, too, so that no goldens hold them."""

import numpy
import torch


def frames_of(count, width, height):
    """Waves and noise, [frames, 3, height, width]"""
    t, channel, y, x = (numpy.arange(size, dtype=numpy.uint64) for size in (count, 3, height, width))
    t, channel, y = t[:, None, None, None], channel[None, :, None, None], y[None, None, :, None]
    wave = abs(((x * 5 * (channel + 1) + y * 3 + t * 17) % 510).astype(numpy.int64) - 255)
    noise = (x * 374761393 + y * 668265263 + t * 974711 + channel * 1274126177) % 2**32
    noise = ((noise ^ (noise >> 13)) * 1103515245) % 2**32
    return torch.from_numpy(((wave * 7 >> 3) + ((noise >> 16) & 31).astype(numpy.int64)).astype(numpy.uint8))
