"""Goldens of single modules on the tiny checkpoints:  python scripts/reference/image_modules.py [case ...]

test/golden/image/<case>/: case.json says the class, the checkpoint's folder, what is laid over its config.json, and
which numbers go in beside the tensors; inputs.safetensors and outputs.safetensors hold what goes in and what diffusers
or transformers make of it, in f32 on the CPU; `f32_from_f64` is how far f64 arithmetic would move them at most. Pictures and latents are [batch, channels, height, width], as there.
"""

import sys

import torch

from image_cases import DRAWS, MODULES
from image_checkpoints import FOLDERS
from image_golden import distance, loaded, write_case


@torch.no_grad()
def make(name):
    case = MODULES[name]
    model = loaded(FOLDERS / case.checkpoint, case.config)
    inputs = case.inputs()
    outputs = case.outputs(model, **inputs)
    exact = case.outputs(
        model.double(), **{key: t.double() if t.is_floating_point() else t for key, t in inputs.items()}
    )
    document = {
        'class': type(model).__name__,
        'checkpoint': f'checkpoints/{case.checkpoint}',
        'config': case.config,
        'exercises': case.exercises,
        'f32_from_f64': {key: float(f'{distance(value, exact[key]):.1e}') for key, value in outputs.items()},
    }
    write_case(name, 'image_modules.py', document, inputs, outputs, DRAWS)
    for key, value in outputs.items():
        size = f'std {value.std():.3f} largest {value.abs().max():7.3f}'
        print(f'{name:28} {key:20} {str(list(value.shape)):20} {size}', flush=True)


if __name__ == '__main__':
    for name in sys.argv[1:] or MODULES:
        make(name)
