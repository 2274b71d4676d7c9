"""The model of a checkpoint's case: transformers in f32 with eager attention and the rotary settings of the case."""

import re

import torch
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

GREEDY = 32


def case_config(checkpoint, case, folder):
    own = checkpoint.model.config_class
    values = checkpoint.config if checkpoint.layout else own._dict_from_json_file(folder / 'config.json')  # with its infinities
    config = own.from_dict(values | case.config)
    config._attn_implementation = checkpoint.attention
    config._experts_implementation = 'eager'
    return config


def frequencies(config, length):
    """(inverse frequencies [head_dim / 2], factor on cos and sin) for a sequence of `length` tokens."""
    inv_freq, scaling = ROPE_INIT_FUNCTIONS[config.rope_parameters['rope_type']](config, 'cpu', seq_len=length)
    return inv_freq.float(), scaling


def lengths_in_force(case):
    """For each position, the length its key and query were rotated for; None where the length plays no part."""
    total = case.prompt + GREEDY
    if case.rule == 'prefill':
        return [total] * total
    if case.rule == 'static':
        return [case.static_length] * total
    if case.rule == 'cached':
        return [max(case.prompt, position + 1) for position in range(total)]
    return None


class TabledRotary(torch.nn.Module):
    """Stands in for a model's rotary embedding: every position has its own frequencies."""

    def __init__(self, config, lengths):
        super().__init__()
        pairs = [frequencies(config, length) for length in lengths]
        self.table = torch.stack([inv_freq for inv_freq, _ in pairs])  # [positions, head_dim / 2]
        self.scaling = pairs[-1][1]

    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.table[position_ids]
        angles = torch.cat((angles, angles), dim=-1)
        return (angles.cos() * self.scaling).to(x.dtype), (angles.sin() * self.scaling).to(x.dtype)


MIXTRAL = {'w1': 'gate_proj', 'w2': 'down_proj', 'w3': 'up_proj'}
# Granite's names in files, and those of transformers' modules.
GRANITE = {'input_linear.weight': 'experts.gate_up_proj', 'output_linear.weight': 'experts.down_proj', 'router.layer.weight': 'router.weight'}


def fused(state):
    """Names as transformers has them, and experts as it holds them, all of a layer in one tensor; files have each in tensors of its own."""
    whole, experts = {}, {}
    for name, tensor in state.items():
        block, _, part = name.partition('.block_sparse_moe.')
        if part in GRANITE:
            whole[f'{block}.block_sparse_moe.{GRANITE[part]}'] = tensor
            continue
        name = re.sub(r'^embed_out\.', 'lm_head.', name.replace('.block_sparse_moe.', '.mlp.'))
        name = name.replace('.mlp.moe_statics.', '.mlp.gate.moe_statics.')
        name = re.sub(r'^backbone\.', 'model.', name)
        layer, _, rest = name.partition('.experts.')
        if not rest or not rest[0].isdigit():
            whole[name] = tensor
            continue
        number, kind = rest.split('.')[:2]
        experts.setdefault(f'{layer}.experts', {}).setdefault(int(number), {})[MIXTRAL.get(kind, kind)] = tensor
    for name, held in experts.items():
        each = [held[number] for number in range(len(held))]
        if 'gate_proj' in each[0]:
            whole[f'{name}.gate_up_proj'] = torch.stack([torch.cat((e['gate_proj'], e['up_proj'])) for e in each])
        else:
            whole[f'{name}.up_proj'] = torch.stack([e['up_proj'] for e in each])
        whole[f'{name}.down_proj'] = torch.stack([e['down_proj'] for e in each])
    return whole


def build(checkpoint, case, folder, state=None, tabled=True):
    """The model with `state` as its weights. `tabled` replaces the rotary embedding where the length plays a part;
    without it transformers' own embedding acts, which is stateful: take a fresh model for each run."""
    config = case_config(checkpoint, case, folder)
    model = checkpoint.model(config).float().eval()
    for i, scalar in enumerate(buffer for name, buffer in model.named_buffers() if name.endswith('layer_scalar')):
        scalar.fill_(1 - (i + 1) / 8)
    if state is not None:
        if config.model_type == 'phimoe':
            state = {name.replace('.mlp.gate.', '.mlp.router.'): tensor for name, tensor in state.items()}
        model.load_state_dict(state, strict=False)
        model.tie_weights()
    lengths = lengths_in_force(case)
    if lengths and tabled:
        model.model.rotary_emb = TabledRotary(config, lengths)
    for key in ('eos_token_id', 'bos_token_id', 'temperature', 'top_p', 'top_k'):
        setattr(model.generation_config, key, None)
    model.generation_config.pad_token_id = 0
    return model


def margins(logits, tokens):
    """Returns by how much each row's token exceeds the next best one, relative to the largest magnitude of the row."""
    wanted = logits.gather(-1, tokens[:, None])[:, 0]
    others = logits.scatter(-1, tokens[:, None], -torch.inf).amax(-1)
    return (wanted - others) / logits.detach().abs().amax(-1)
