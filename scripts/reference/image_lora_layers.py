"""Adapters of image models on single layers, merged by PEFT and LyCORIS:  python scripts/reference/image_lora_layers.py

test/golden/image/lora-layers/base.safetensors holds the weights of a linear layer, a 3 x 3 and a 1 x 1 convolution, with biases;
<case>.safetensors an adapter of them as the program saves it, and expected.safetensors `<case>@<strength>/<tensor>`, the merged
weights in f32. `both` is the sum of two adapters in PEFT, each with its own strength.
"""

import warnings

import torch
from lycoris.modules.loha import LohaModule
from lycoris.modules.locon import LoConModule
from lycoris.modules.lokr import LokrModule
from peft import LoraConfig, get_peft_model_state_dict, inject_adapter_in_model
from safetensors.torch import save_file

from checkpoint import ROOT

FOLDER = ROOT / 'image' / 'lora-layers'
DTYPES = {'lora-f16': torch.float16, 'loha': torch.bfloat16}

LYCORIS = {
    'lora': (LoConModule, dict(lora_dim=4, alpha=2)),
    'lora-f16': (LoConModule, dict(lora_dim=5, alpha=5)),
    'locon-tucker': (LoConModule, dict(lora_dim=3, alpha=2, use_tucker=True)),
    'dora': (LoConModule, dict(lora_dim=4, alpha=3, weight_decompose=True, wd_on_out=True)),
    'dora-inputs': (LoConModule, dict(lora_dim=4, alpha=3, weight_decompose=True, wd_on_out=False)),
    'loha': (LohaModule, dict(lora_dim=3, alpha=2)),
    'loha-tucker': (LohaModule, dict(lora_dim=3, alpha=1, use_tucker=True)),
    'loha-dora': (LohaModule, dict(lora_dim=2, alpha=1, weight_decompose=True)),
    'lokr': (LokrModule, dict(lora_dim=2, alpha=1, factor=4)),
    'lokr-both': (LokrModule, dict(lora_dim=1, alpha=1, factor=6, decompose_both=True)),
    'lokr-tucker': (LokrModule, dict(lora_dim=2, alpha=1, factor=4, use_tucker=True)),
    'lokr-whole': (LokrModule, dict(lora_dim=10000, alpha=1, factor=4)),
}
PEFT = {
    'peft': dict(r=4, lora_alpha=6, rank_pattern={'conv': 3}, alpha_pattern={'fc': 1}),
    'peft-dora': dict(r=3, lora_alpha=3, use_dora=True),
    'peft-rslora': dict(r=4, lora_alpha=2, use_rslora=True),
    'peft-bias': dict(r=2, lora_alpha=4, lora_bias=True),
}
STRENGTHS = {'lora': (1.0, 0.5, -0.75), 'peft-dora': (1.0, 0.5), 'loha': (1.0, 0.5), 'lokr': (1.0, 0.5)}


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(20, 36)
        self.conv = torch.nn.Conv2d(12, 24, 3, padding=1)
        self.proj = torch.nn.Conv2d(12, 16, 1)


def layers():
    torch.manual_seed(5)
    return Layers().requires_grad_(False)


def fill(tensors, seed, dtype):
    """Values for all factors; lengths, which are above zero, change a little."""
    torch.manual_seed(seed)
    for name, value in tensors:
        if 'alpha' in name or value.dim() == 0:
            continue
        if 'dora_scale' in name or 'magnitude' in name:
            value.data = (value * (1 + 0.2 * torch.rand_like(value.float()))).to(dtype).float()
        else:
            value.data = (torch.randn_like(value.float()) * 0.4).to(dtype).float()


def as_computed(module, original, strength):
    """The weight with which LyCORIS computes: get_merged_weight of its LoHa and LoKr applies alpha twice."""
    shape = original.weight.shape
    diff = module.get_diff_weight()[0] if isinstance(module, LoConModule) else module.get_weight(shape)
    diff = diff.reshape(shape)
    if module.wd:
        assert strength == 1.0
        return module.apply_weight_decompose(original.weight + diff, strength)
    merged = original.weight + diff * strength
    x = torch.randn(2, shape[1], *[5] * (len(shape) - 2))
    wanted = module.op(x, merged, original.bias, **module.kw_dict)
    module.multiplier = strength
    module.apply_to()
    torch.testing.assert_close(module(x), wanted, rtol=1e-4, atol=1e-4)
    module.restore()
    return merged


def lycoris_case(name, seed):
    kind, options = LYCORIS[name]
    model, dtype = layers(), DTYPES.get(name, torch.float32)
    saved, merged = {}, {}
    for layer, original in list(model.named_children()):
        module = kind(f'lora_unet_{layer}', original, 1.0, **options)
        fill(module.named_parameters(), seed, dtype)
        for key, value in (module.custom_state_dict() or module.state_dict()).items():
            kept = value.to(dtype) if value.dim() else value
            saved[f'lora_unet_{layer}.{key}'] = kept.detach().contiguous().clone()
        for strength in STRENGTHS.get(name, (1.0,)):
            weight = as_computed(module, original, strength)
            merged[f'{name}@{strength}/{layer}.weight'] = weight.detach().reshape(original.weight.shape).clone()
    return saved, merged


def differences(seed):
    """Whole differences of weights and biases, as some programs extract them."""
    torch.manual_seed(seed)
    saved, merged = {}, {}
    for key, value in layers().state_dict().items():
        layer, kind = key.split('.')
        change = torch.randn_like(value) * 0.1
        saved[f'lora_unet_{layer}.{"diff" if kind == "weight" else "diff_b"}'] = change
        merged[f'diff@1.0/{key}'] = value + change
    return saved, merged


def peft_case(name, seed, model=None):
    model = model or layers()
    options = PEFT[name]
    config = LoraConfig(target_modules=['fc', 'conv', 'proj'], init_lora_weights=False, **options)
    inject_adapter_in_model(config, model, adapter_name=name)
    fill([(key, value) for key, value in model.named_parameters() if f'.{name}' in key], seed, torch.float32)
    saved = {f'unet.{key}': value.clone() for key, value in get_peft_model_state_dict(model, adapter_name=name).items()}
    return model, saved


def scales(name):
    """The .alpha tensors that state what the configuration does."""
    options = PEFT[name]
    found = {}
    for layer in ('fc', 'conv', 'proj'):
        rank = options.get('rank_pattern', {}).get(layer, options['r'])
        alpha = options.get('alpha_pattern', {}).get(layer, options['lora_alpha'])
        alpha *= rank**0.5 if options.get('use_rslora') else 1
        found[f'unet.{layer}.alpha'] = torch.tensor(float(alpha))
    return found


def merged_by_peft(names, strengths, seeds, label):
    model, saved = layers(), {}
    for name, seed in zip(names, seeds):
        model, saved[name] = peft_case(name, seed, model)
    found = {}
    for layer in ('fc', 'conv', 'proj'):
        module = model.get_submodule(layer)
        for name, strength in zip(names, strengths):
            module.set_scale(name, strength)
        module.set_adapter(list(names))
        module.merge(adapter_names=list(names))
        found[f'{label}/{layer}.weight'] = module.base_layer.weight.detach().clone()
        found[f'{label}/{layer}.bias'] = module.base_layer.bias.detach().clone()
    return saved, found


def main():
    warnings.simplefilter('ignore')
    FOLDER.mkdir(parents=True, exist_ok=True)
    save_file({key: value.detach().clone() for key, value in layers().state_dict().items()}, FOLDER / 'base.safetensors')
    expected = {}
    for i, name in enumerate(LYCORIS):
        saved, merged = lycoris_case(name, 20 + i)
        save_file(saved, FOLDER / f'{name}.safetensors')
        expected |= merged
    saved, merged = differences(50)
    save_file(saved, FOLDER / 'diff.safetensors')
    expected |= merged
    for i, name in enumerate(PEFT):
        for strength in STRENGTHS.get(name, (1.0,)):
            saved, found = merged_by_peft([name], [strength], [60 + i], f'{name}@{strength}')
            expected |= found
        save_file(saved[name] | scales(name), FOLDER / f'{name}.safetensors')
    _, found = merged_by_peft(['peft', 'peft-rslora'], [0.8, -0.5], [60, 62], 'both@1.0')
    save_file(expected | found, FOLDER / 'expected.safetensors')


if __name__ == '__main__':
    main()
