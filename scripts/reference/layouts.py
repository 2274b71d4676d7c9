"""Checkpoints of classes that transformers does not have, and that compute what one of its classes does: a configuration and tensors under names of
their own."""

from dataclasses import dataclass, field

import torch


@dataclass
class Layout:
    class_name: str
    config: dict
    names: dict = field(default_factory=dict)  # parts of names in transformers → their own
    grouped: str | None = None  # module in whose rows each key follows its queries, and its value the key


def renamed(name, pairs):
    for before, after in pairs:
        name = name.replace(before, after)
    return name


def parts_of(name, layout):
    return [name.replace(layout.grouped, f'self_attn.{one}_proj') for one in 'qkv']


def stored(layout, state, config):
    """Tensors as the class stores them, of a state of transformers."""
    if layout.grouped:
        keys = config['num_key_value_heads']
        for query in [name for name in state if '.q_proj.' in name]:
            parts = [state.pop(query.replace('q_proj', f'{one}_proj')) for one in 'qkv']
            joined = torch.cat([part.view(keys, -1, *part.shape[1:]) for part in parts], 1)
            state[query.replace('self_attn.q_proj', layout.grouped)] = joined.flatten(0, 1)
    return {renamed(name, layout.names.items()): tensor.contiguous() for name, tensor in state.items()}


def loaded(layout, state, config):
    """A state of transformers, of tensors as the class stores them."""
    state = {renamed(name, [(own, name_) for name_, own in reversed(layout.names.items())]): tensor for name, tensor in state.items()}
    if layout.grouped:
        keys, heads = config['num_key_value_heads'], config['num_attention_heads']
        for joined in [name for name in state if layout.grouped in name]:
            tensor = state.pop(joined)
            head = tensor.shape[0] // (heads + 2 * keys)
            groups = tensor.view(keys, -1, *tensor.shape[1:]).split([heads // keys * head, head, head], 1)
            for name, part in zip(parts_of(joined, layout), groups):
                state[name] = part.flatten(0, 1)
    return state
