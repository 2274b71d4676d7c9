"""Makes tiny networks that enlarge images, and what they compute:  python scripts/reference/image_upscalers.py [case ...]

checkpoints/upscalers/<case>.safetensors is a file in names that are found in published ones, test/golden/image/<case>/ what torch makes of an
image in 0 … 1. The networks are written here after the architectures of ESRGAN and Real-ESRGAN: RRDBNet and SRVGGNetCompact.
"""

import re
import sys

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

from image_checkpoints import FOLDERS
from image_golden import distance, write_case
from recipe import Draws, keep

SHARE = 0.2


def conv(from_channels, to_channels):
    return nn.Conv2d(from_channels, to_channels, 3, padding=1)


def leaky(x):
    return F.leaky_relu(x, SHARE)


class Dense(nn.Module):
    def __init__(self, features, growth):
        super().__init__()
        for i in range(4):
            setattr(self, f'conv{i + 1}', conv(features + i * growth, growth))
        self.conv5 = conv(features + 4 * growth, features)

    def forward(self, x):
        seen = [x]
        for i in range(4):
            seen.append(leaky(getattr(self, f'conv{i + 1}')(torch.cat(seen, 1))))
        return x + SHARE * self.conv5(torch.cat(seen, 1))


class Residual(nn.Module):
    def __init__(self, features, growth):
        super().__init__()
        self.rdb1, self.rdb2, self.rdb3 = (Dense(features, growth) for _ in range(3))

    def forward(self, x):
        return x + SHARE * self.rdb3(self.rdb2(self.rdb1(x)))


class RRDBNet(nn.Module):
    """`ups`: doublings after the blocks; `unshuffle`: pixels along a side that become channels before them."""

    def __init__(self, features, growth, blocks, ups=2, unshuffle=1):
        super().__init__()
        self.ups, self.unshuffle = ups, unshuffle
        self.conv_first = conv(3 * unshuffle**2, features)
        self.body = nn.Sequential(*(Residual(features, growth) for _ in range(blocks)))
        self.conv_body = conv(features, features)
        for i in range(ups):
            setattr(self, f'conv_up{i + 1}', conv(features, features))
        self.conv_hr = conv(features, features)
        self.conv_last = conv(features, 3)

    def forward(self, image):
        x = self.conv_first(F.pixel_unshuffle(image, self.unshuffle))
        x = x + self.conv_body(self.body(x))
        for i in range(self.ups):
            x = leaky(getattr(self, f'conv_up{i + 1}')(F.interpolate(x, scale_factor=2, mode='nearest')))
        return self.conv_last(leaky(self.conv_hr(x)))


class SRVGGNetCompact(nn.Module):
    def __init__(self, features, convs, scale):
        super().__init__()
        self.scale = scale
        layers = [conv(3, features), nn.PReLU(features)]
        for _ in range(convs):
            layers += [conv(features, features), nn.PReLU(features)]
        self.body = nn.ModuleList([*layers, conv(features, 3 * scale**2)])

    def forward(self, image):
        x = image
        for layer in self.body:
            x = layer(x)
        return F.pixel_shuffle(x, self.scale) + F.interpolate(image, scale_factor=self.scale, mode='nearest')


def numbered(name):
    """Names of the first ESRGAN, for one doubling."""
    name = re.sub(r'^body\.(\d+)\.rdb(\d)\.conv(\d)\.', r'model.1.sub.\1.RDB\2.conv\3.0.', name)
    outer = {'conv_first': '0', 'conv_body': '1.sub.2', 'conv_up1': '3', 'conv_hr': '5', 'conv_last': '7'}
    return re.sub(r'^(conv_\w+)\.', lambda found: f'model.{outer[found[1]]}.', name)


def authors(name):
    """Names in the repository of ESRGAN."""
    name = re.sub(r'^body\.(\d+)\.rdb', r'RRDB_trunk.\1.RDB', name)
    return name.replace('conv_body', 'trunk_conv').replace('conv_up', 'upconv').replace('conv_hr', 'HRconv')


CASES = {
    'upscale-rrdb-x4': ('RRDBNet, 4 times, features wide enough for Winograd', RRDBNet(36, 8, 2), (1, 3, 9, 7), str),
    'upscale-rrdb-x2': ('RRDBNet, 2 times by channels of 2 × 2 pixels', RRDBNet(20, 12, 1, unshuffle=2), (1, 3, 10, 6), lambda name: f'params_ema.{name}'),
    'upscale-rrdb-x1': ('RRDBNet of equal size by channels of 4 × 4 pixels, names of its authors', RRDBNet(12, 4, 1, unshuffle=4), (1, 3, 12, 8), authors),
    'upscale-rrdb-old': ('RRDBNet with one doubling, names by number', RRDBNet(16, 8, 2, ups=1), (1, 3, 8, 5), numbered),
    'upscale-compact': ('SRVGGNetCompact, 4 times, with PReLU', SRVGGNetCompact(33, 3, 4), (1, 3, 8, 9), str),
    'upscale-compact-x3': ('SRVGGNetCompact, 3 times', SRVGGNetCompact(8, 1, 3), (1, 3, 5, 6), lambda name: f'params.{name}'),
}  # fmt: skip


@torch.no_grad()
def make(name, seed):
    exercises, model, shape, renamed = CASES[name]
    draws = Draws(seed)
    for key, weight in model.named_parameters():
        is_slope = weight.dim() == 1 and key.endswith('weight')
        spread = (0.2, 0.25) if is_slope else (0.1, 0.0) if weight.dim() == 1 else (1 / weight[0].numel() ** 0.5, 0.0)
        weight.data = draws(renamed(key), weight.shape, *spread)
    path = FOLDERS / 'upscalers' / f'{name}.safetensors'
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({renamed(key): weight.contiguous() for key, weight in model.state_dict().items()}, path)
    keep(path, draws)
    own = Draws(seed + 100)
    image = own('image', shape, 0.25, 0.5)
    large = model(image)
    document = {
        'class': type(model).__name__,
        'checkpoint': f'checkpoints/upscalers/{name}.safetensors',
        'config': {},
        'exercises': exercises,
        'f32_from_f64': {'large': float(f'{distance(large, model.double()(image.double())):.1e}')},
    }
    write_case(name, 'image_upscalers.py', document, {'image': image}, {'large': large}, own)
    print(f'{name:20} {list(large.shape)} std {large.std():.3f} largest {large.abs().max():.3f}', flush=True)


if __name__ == '__main__':
    for index, name in enumerate(CASES):
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(name, 1200 + index)
