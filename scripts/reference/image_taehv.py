"""Makes tiny files of TAEHV and what they decode:  python scripts/reference/image_taehv.py

checkpoints/taehv: `wan` has the levels of taew2_1, `patched` those of the files for latents of eight frames, with patches as in taew2_2. The
network is written here after madebyollin/taehv (taehv.py), computed over all frames at once; its names are those of the published files.
"""

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

from image_checkpoints import FOLDERS, draw
from image_golden import write_case
from recipe import Draws, keep

FOLDER = FOLDERS / 'taehv'
FILES = {
    'wan': dict(seed=350, channels=4, widths=[12, 8, 8, 4], grows=[False, True, True], patch=1),
    'patched': dict(seed=351, channels=6, widths=[8, 12, 8, 8], grows=[True, True, True], patch=2),
}


def conv(n, m, **options):
    return nn.Conv2d(n, m, 3, padding=1, **options)


class MemBlock(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.conv = nn.Sequential(conv(2 * n, n), nn.ReLU(), conv(n, n), nn.ReLU(), conv(n, n))

    def forward(self, x):
        before = torch.cat([torch.zeros_like(x[:1]), x[:-1]])
        return F.relu(self.conv(torch.cat([x, before], 1)) + x)


class Grow(nn.Module):
    def __init__(self, n, frames):
        super().__init__()
        self.conv = nn.Conv2d(n, n * frames, 1, bias=False)

    def forward(self, x):
        return self.conv(x).reshape(-1, *x.shape[1:])


class Clamp(nn.Module):
    def forward(self, x):
        return torch.tanh(x / 3) * 3


class Taehv(nn.Module):
    def __init__(self, channels, widths, grows, patch):
        super().__init__()
        layers = [Clamp(), conv(channels, widths[0]), nn.ReLU()]
        for n, m, grow in zip(widths, widths[1:], grows):
            layers += [MemBlock(n), MemBlock(n), MemBlock(n), nn.Upsample(scale_factor=2), Grow(n, 2 if grow else 1), conv(n, m, bias=False)]
        self.decoder = nn.Sequential(*layers, nn.ReLU(), conv(widths[-1], 3 * patch**2))
        self.trimmed = 2 ** sum(grows) - 1
        self.patch = patch

    def forward(self, latents):
        """Frames of latents [frames, channels, height, width] to frames of pixels, of which 0 … 1 is seen."""
        return F.pixel_shuffle(self.decoder(latents), self.patch)[self.trimmed :]


def without_growth(state, widths):
    """The weights of a decoder that makes one frame of each: the last of those that it would make."""
    places = [7 + 6 * i for i in range(len(widths) - 1)]
    cut = {f'decoder.{at}.conv.weight': n for at, n in zip(places, widths)}
    return {name: tensor[-cut[name] :] if name in cut else tensor for name, tensor in state.items()}


@torch.no_grad()
def make(name, seed, channels, widths, grows, patch):
    model = Taehv(channels, widths, grows, patch)
    draws = draw(model, seed)
    path = FOLDER / f'{name}.safetensors'
    save_file({key: tensor.half() for key, tensor in model.state_dict().items()}, path)
    keep(path, draws)
    state = {key: tensor.float() for key, tensor in load_file(path).items()}
    model.load_state_dict(state)
    few = Taehv(channels, widths, [False] * len(grows), patch)
    few.load_state_dict(without_growth(state, widths))
    inputs = Draws(seed + 10)
    latents = inputs('latents', (2 if all(grows) else 3, channels, 3, 2), 1.5)
    outputs = {'sample': 2 * model(latents) - 1, 'preview': 2 * few(latents) - 1}
    document = {'class': 'TAEHV', 'checkpoint': f'checkpoints/taehv/{name}.safetensors'}
    write_case(f'taehv-{name}', 'image_taehv.py', document, {'latents': latents}, outputs, inputs)
    for key, value in outputs.items():
        print(name, key, list(value.shape), f'std {value.std():.3f} largest {value.abs().max():.3f}')


if __name__ == '__main__':
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, file in FILES.items():
        make(name, **file)
