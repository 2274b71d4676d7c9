"""Makes the tiny checkpoints of test/golden:  python scripts/reference/checkpoint.py [NAME of a checkpoint in cases.py…]

Weights are drawn at random (norms away from one, biases away from zero) and then fitted until, in every case, greedy
decoding of a random prompt yields a random sequence over few tokens, each by a wide margin over the second best. The
few tokens recur, so the next one hangs on what stands before and where: a wrong rotary type or window changes it. The
fit sees the weights as they will be stored and quantised. Another machine's fit may end in other weights, so golden.py
always runs after this.
"""

import json
import random
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.func import functional_call

from case_model import GREEDY, build, margins
from cases import CHECKPOINTS
from mxfp4 import is_expert, packed, rounded
from quantise import by_rows, dequantised, is_quantised, keep_clear

ROOT = Path(__file__).parents[2] / 'test' / 'golden'
DTYPES = {'float32': torch.float32, 'float16': torch.float16, 'bfloat16': torch.bfloat16}
MARGIN, ALPHABET, STEPS = 0.15, 24, 3000


def draw(model, config):
    """Random weights: standard deviations by role, so that attention is not flat and logits are of order 1 to 10."""
    hidden = config['hidden_size']
    for name, weight in model.named_parameters():
        if name.endswith('A_log'):
            weight.data = torch.randn_like(weight) - 1.5  # some heads forget within a few tokens, others keep dozens
        elif weight.dim() == 1:
            weight.data = torch.randn_like(weight) * 0.3 + (1.0 if 'norm' in name else 0.0)
        elif 'embed' in name or 'lm_head' in name:
            weight.data = torch.randn_like(weight) * (2 / hidden**0.5)
        else:
            is_router = name.endswith(('mlp.gate.weight', 'mlp.router.weight'))
            is_query = 'q_proj' in name or 'k_proj' in name or 'query_key' in name
            gain = 1.6 if is_query else 3.0 if is_router else 1.0
            weight.data = torch.randn_like(weight) * (gain / weight.shape[-1] ** 0.5)


def sequences(checkpoint):
    """Per case: a random prompt over the whole vocabulary, then the tokens greedy decoding is to yield."""
    draws = random.Random(checkpoint.seed)
    vocabulary = range(3, checkpoint.config['vocab_size'])
    wanted = {}
    for case in checkpoint.cases:
        alphabet = draws.sample(vocabulary, ALPHABET)
        prompt = draws.choices(vocabulary, k=case.prompt)
        if checkpoint.zero_row is not None:
            prompt[5] = checkpoint.zero_row
        wanted[case.name] = prompt + draws.choices(alphabet, k=GREEDY)
    return wanted


def as_seen(weights, dtype, format, zero_row, experts='stored'):
    """Weights as stored, and quantised where the case is; gradients pass as if nothing had been rounded."""
    seen = {}
    for name, weight in weights.items():
        value = weight.detach().to(dtype).float()
        if zero_row is not None and 'embed' in name:
            value[zero_row] = 0
        if experts == 'mxfp4' and is_expert(name):
            value = rounded(weight.detach())
        elif format != 'stored' and is_quantised(name, value):
            value = by_rows(name, weights, value, dequantised, format)
        seen[name] = weight + (value - weight.detach())
    return seen


def fit(checkpoint, folder):
    dtype = DTYPES[checkpoint.config['dtype']]
    cases = [case for case in checkpoint.cases if case.rule != 'prefill']
    models = {case.name: build(checkpoint, case, folder) for case in cases}
    wanted = {name: torch.tensor(ids) for name, ids in sequences(checkpoint).items()}
    weights = dict(next(iter(models.values())).named_parameters())
    draw(models[cases[0].name], checkpoint.config)
    optimizer = torch.optim.Adam(weights.values(), lr=2e-3, betas=(0.9, 0.98))
    for step in range(STEPS):
        optimizer.zero_grad()
        worst, norm = [], 0.0
        for case in cases:
            ids = wanted[case.name]
            seen = as_seen(weights, dtype, case.weights, checkpoint.zero_row, checkpoint.experts)
            logits = functional_call(models[case.name], seen, (ids[None],)).logits[0]
            gaps = margins(logits[case.prompt - 1 : -1], ids[case.prompt :])
            excess = (logits.abs().amax(-1) - 12).relu().square().mean()
            ((MARGIN - gaps).relu().square().sum() + 1e-3 * excess).backward()
            worst.append(gaps.min().item())
        if step % 50 == 0 or min(worst) > MARGIN * 0.8:
            print(f'{checkpoint.name} step {step}: narrowest margin {min(worst):.3f}', flush=True)
        if min(worst) > MARGIN * 0.8:
            break
        for group in optimizer.param_groups:
            group['lr'] = 3e-3 * min(1, (step + 1) / 50) * max(0.1, 1 - step / STEPS)
        optimizer.step()
    else:
        raise RuntimeError(f'{checkpoint.name}: no wide margins after {STEPS} steps; try another seed')
    return stored(weights, dtype, checkpoint.zero_row, checkpoint.experts)


def stored(weights, dtype, zero_row, experts):
    state = {}
    for name, weight in weights.items():
        value = weight.detach().clone()
        if zero_row is not None and 'embed' in name:
            value[zero_row] = 0
        if experts == 'mxfp4' and is_expert(name):
            state[name] = value
        elif is_quantised(name, value):
            state[name] = by_rows(name, weights, value, keep_clear, dtype)
        else:
            state[name] = value.to(dtype).float()
    return state


def published_spelling(values):
    """A configuration saved by transformers 5, in the keys of the checkpoints published so far."""
    parameters = values.pop('rope_parameters')
    is_gpt_oss = values['model_type'] == 'gpt_oss'
    for key in ('transformers_version', *([] if is_gpt_oss else ['layer_types'])):
        values.pop(key, None)
    theta = parameters.pop('rope_theta')
    scaling = parameters if is_gpt_oss else None
    values |= {'rope_theta': theta, 'rope_scaling': scaling, 'torch_dtype': values.pop('dtype')}
    if 'num_local_experts' in values and not is_gpt_oss:
        values['num_experts'] = values.pop('num_local_experts')
    if values.get('head_dim') == values['hidden_size'] // values['num_attention_heads']:
        del values['head_dim']
    return values


def write_config(checkpoint, folder):
    config = checkpoint.model.config_class(**checkpoint.config)
    config.architectures = [checkpoint.model.__name__]
    config.save_pretrained(folder)
    if checkpoint.spelling == 'published':
        path = folder / 'config.json'
        values = published_spelling(json.loads(path.read_text()))
        if checkpoint.experts == 'mxfp4':
            values['quantization_config'] = {'quant_method': 'mxfp4', 'modules_to_not_convert': KEPT}
        path.write_text(json.dumps(dict(sorted(values.items())), indent=2) + '\n')


KEPT = ['model.layers.*.self_attn', 'model.layers.*.mlp.router', 'model.embed_tokens', 'lm_head']


def save_mxfp4(state, dtype, folder):
    tensors = {}
    for name, value in state.items():
        if is_expert(name):
            tensors[f'{name}_blocks'], tensors[f'{name}_scales'] = packed(value)
        else:
            tensors[name] = value.to(dtype)
    tensors = {name: tensor.contiguous() for name, tensor in sorted(tensors.items())}
    save_file(tensors, folder / 'model.safetensors', {'format': 'pt'})


def make(checkpoint):
    torch.manual_seed(checkpoint.seed)
    folder = ROOT / checkpoint.name
    folder.mkdir(parents=True, exist_ok=True)
    write_config(checkpoint, folder)
    state = fit(checkpoint, folder)
    model = build(checkpoint, checkpoint.cases[0], folder, state).to(DTYPES[checkpoint.config['dtype']])
    for old in folder.glob('model*'):
        old.unlink()
    if checkpoint.experts == 'mxfp4':
        save_mxfp4(state, DTYPES[checkpoint.config['dtype']], folder)
    else:
        model.save_pretrained(folder, max_shard_size=checkpoint.shard)
    (folder / 'generation_config.json').unlink(missing_ok=True)
    write_config(checkpoint, folder)


if __name__ == '__main__':
    for name in sys.argv[1:] or CHECKPOINTS:
        make(CHECKPOINTS[name])
