"""Low-rank adapters of the tiny checkpoints, as PEFT saves them:  python scripts/reference/lora.py

test/golden/lora/<adapter>/ holds adapter_config.json and adapter_model.safetensors; test/golden/lora.json lists cases, and
test/golden/lora.safetensors holds, for each, `<case>` = f32 logits [rows, vocabulary] at `positions` of one forward pass over
input_ids. What the adapter adds is merged into the weights as PEFT's merge does: W + scale * B A with scale = alpha / r, or
alpha / sqrt(r) with use_rslora, r and alpha by module where the patterns say so. A quantised base is dequantised first and the
adapter added in f32. `greedy` are 32 tokens from the prompt on, and how far each stood above the next at the closest step.
"""

import json
import re
from importlib.metadata import version

import torch
from safetensors.torch import save_file

from case_model import build, margins
from cases import CHECKPOINTS
from checkpoint import ROOT
from golden import behind, load
from prompts import clear_prompt
from recipe import Draws, keep

FOLDER = ROOT / 'lora'
PROMPT, GREEDY = 24, 32

ATTENTION = ('q_proj', 'k_proj', 'v_proj', 'o_proj')
MLP = ('gate_proj', 'up_proj', 'down_proj')
ADAPTERS = {
    'llama-all': dict(
        checkpoint='llama', dtype=torch.float32, seed=11, r=8, lora_alpha=16, target_modules=[*ATTENTION, *MLP],
        rank_pattern={'q_proj': 5, 'model.layers.1.mlp.down_proj': 3, 'gate_proj': 33}, alpha_pattern={'v_proj': 4},
    ),
    'llama-some': dict(
        checkpoint='llama', dtype=torch.float16, seed=12, r=4, lora_alpha=6, use_rslora=True,
        target_modules=['v_proj', 'up_proj'],
    ),
    'qwen3-all': dict(
        checkpoint='qwen3', dtype=torch.bfloat16, seed=13, r=16, lora_alpha=16, target_modules=[*ATTENTION, *MLP],
    ),
    'phi3-all': dict(
        checkpoint='phi3', dtype=torch.float16, seed=14, r=6, lora_alpha=12,
        target_modules=['qkv_proj', 'o_proj', 'gate_up_proj', 'down_proj'],
    ),
}  # fmt: skip
CASES = [(name, weights) for name in ADAPTERS for weights in ('stored', 'int8', 'int4')]


def by_pattern(patterns, name, otherwise):
    return next((value for key, value in patterns.items() if re.match(rf'(.*\.)?({key})$', name)), otherwise)


def draw(adapter, model):
    """(A, B, scale) of each module; large enough that the tokens change."""
    draws, drawn = Draws(adapter['seed']), {}
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.Linear) or name.split('.')[-1] not in adapter['target_modules']:
            continue
        rank = by_pattern(adapter.get('rank_pattern', {}), name, adapter['r'])
        alpha = by_pattern(adapter.get('alpha_pattern', {}), name, adapter['lora_alpha'])
        rows, k = module.weight.shape
        stem = f'base_model.model.{name}'
        a = draws(f'{stem}.lora_A.weight', (rank, k), k**-0.5).to(adapter['dtype'])
        b = draws(f'{stem}.lora_B.weight', (rows, rank), 0.3 / rank**0.5).to(adapter['dtype'])
        drawn[name] = a, b, alpha / (rank**0.5 if adapter.get('use_rslora') else rank)
    return drawn, draws


def save(name, adapter, drawn, draws):
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        'peft_type': 'LORA', 'task_type': 'CAUSAL_LM', 'base_model_name_or_path': adapter['checkpoint'], 'bias': 'none',
        'fan_in_fan_out': False, 'inference_mode': True, 'init_lora_weights': True, 'lora_dropout': 0.0,
        'modules_to_save': None, 'use_dora': False, 'use_rslora': adapter.get('use_rslora', False), 'r': adapter['r'],
        'lora_alpha': adapter['lora_alpha'], 'rank_pattern': adapter.get('rank_pattern', {}),
        'alpha_pattern': adapter.get('alpha_pattern', {}), 'target_modules': adapter['target_modules'],
    }  # fmt: skip
    (folder / 'adapter_config.json').write_text(json.dumps(config, indent=2) + '\n')
    tensors = {}
    for module, (a, b, _) in drawn.items():
        tensors[f'base_model.model.{module}.lora_A.weight'] = a
        tensors[f'base_model.model.{module}.lora_B.weight'] = b.contiguous()
    save_file(tensors, folder / 'adapter_model.safetensors', metadata={'format': 'pt'})
    keep(folder / 'adapter_model.safetensors', draws)


@torch.no_grad()
def run(name, weights):
    adapter = ADAPTERS[name]
    checkpoint = CHECKPOINTS[adapter['checkpoint']]
    folder = ROOT / checkpoint.name
    case = next(c for c in checkpoint.cases if c.name == 'default')
    state = load(folder, weights)
    model = build(checkpoint, case, folder, state)
    drawn, draws = draw(adapter, model)
    if weights == 'stored':
        save(name, adapter, drawn, draws)
    for module, (a, b, scale) in drawn.items():
        model.get_submodule(module).weight += scale * (b.float() @ a.float())
    vocabulary = range(3, checkpoint.config['vocab_size'])
    ids = torch.tensor(clear_prompt(behind(model), f'{name} {weights}', vocabulary, PROMPT, GREEDY))
    prompt = ids[:PROMPT]
    plain = build(checkpoint, case, folder, state)(prompt[None], use_cache=False).logits[0]
    logits = model(ids[None], use_cache=False).logits[0]
    margin = margins(logits[PROMPT - 1 : -1], ids[PROMPT:]).min().item()
    positions = sorted({0, 7, PROMPT - 1, PROMPT + 12, ids.numel() - 1})
    changed = (logits[:PROMPT] - plain).abs().max() / plain.abs().max()
    print(f'{name:12} {weights:7} margin {margin:.4f}, the prompt\'s rows changed by {changed:.2f}')
    golden = {
        'name': f'{name}.{weights}', 'adapter': name, 'checkpoint': checkpoint.name, 'weights': weights,
        'input_ids': ids.tolist(), 'positions': positions,
        'greedy': {'prompt_ids': prompt.tolist(), 'tokens': ids[PROMPT:].tolist(), 'narrowest_margin': round(margin, 4)},
    }  # fmt: skip
    return golden, logits[positions].contiguous()


if __name__ == '__main__':
    cases, tensors = [], {}
    for name, weights in CASES:
        golden, tensors[f'{name}.{weights}'] = run(name, weights)
        cases.append(golden)
    save_file(tensors, ROOT / 'lora.safetensors')
    made_with = {name: version(name) for name in ('torch', 'transformers')}
    document = {'command': 'python scripts/reference/lora.py', 'made_with': made_with, 'cases': cases}
    (ROOT / 'lora.json').write_text(json.dumps(document, indent=2) + '\n')
