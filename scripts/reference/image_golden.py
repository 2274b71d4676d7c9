"""Reading the tiny checkpoints and writing the cases of test/golden/image."""

import json
from importlib.metadata import version

import diffusers
import torch
import transformers
from safetensors.torch import save_file

from image_checkpoints import ROOT
from recipe import Draws, keep

transformers.utils.logging.disable_progress_bar()
diffusers.utils.logging.disable_progress_bar()


def loaded(folder, overlay=None):
    """The component in f32, its config.json overlaid."""
    config = json.loads((folder / 'config.json').read_text()) | (overlay or {})
    if '_class_name' in config:
        model = getattr(diffusers, config['_class_name'])
        isSparing = bool(model._keep_in_fp32_modules)  # which is what such classes need
        return model.from_pretrained(folder, dtype=torch.float32, low_cpu_mem_usage=isSparing, **(overlay or {})).eval()
    model = getattr(transformers, config['architectures'][0])
    settings = model.config_class.from_dict(config)
    settings._attn_implementation = 'eager'
    return model.from_pretrained(folder, config=settings, dtype=torch.float32).eval()


def distance(value, exact):
    """Returns the largest change of the result that f32 rounding alone causes."""
    return (value.double() - exact.double()).abs().max().item()


def write(path, tensors):
    assert all(t.isfinite().all() for t in tensors.values()), path
    tensors = {key: (t.float() if t.is_floating_point() else t).clone().contiguous() for key, t in tensors.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path)


def write_case(name, script, document, inputs=None, outputs=None, draws=None):
    """Inputs are pictures, or come from `draws`; outputs are stored."""
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    if inputs:
        write(folder / 'inputs.safetensors', inputs)
        keep(folder / 'inputs.safetensors', draws or Draws(0), pool=ROOT / 'pictures.safetensors')
    if outputs:
        write(folder / 'outputs.safetensors', outputs)
    document = {
        'command': f'python scripts/reference/{script}' + (f' {name}' if outputs else ''),
        'made_with': {package: version(package) for package in ('torch', 'transformers', 'diffusers')},
        **document,
    }
    (folder / 'case.json').write_text(json.dumps(document, indent=2, ensure_ascii=False) + '\n')
