"""Nemotron's pruned Llamas, as their configuration describes them: transformers' Llama, whose layers have heads and widths of their own, or lack a
block. transformers does not have the class."""

import copy

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaMLP


class DeciConfig(LlamaConfig):
    model_type = 'nemotron-nas'


class Nothing(torch.nn.Module):
    """In place of a block whose output is added to the residual stream."""

    def forward(self, *_, **states):
        hidden = states.get('hidden_states')
        return 0 if hidden is None else (torch.zeros_like(hidden), None)


def width(multiple, hidden, step=256):
    return -(-int(2 * multiple * hidden / 3) // step) * step


class DeciLMForCausalLM(LlamaForCausalLM):
    config_class = DeciConfig

    def __init__(self, config):
        super().__init__(config)
        for i, (layer, block) in enumerate(zip(self.model.layers, config.block_configs)):
            attention, ffn = block['attention'], block['ffn']
            own = copy.deepcopy(config)
            if attention['no_op']:
                layer.self_attn, layer.input_layernorm = Nothing(), torch.nn.Identity()
            else:
                own.num_key_value_heads = config.num_attention_heads // attention['n_heads_in_group']
                layer.self_attn = LlamaAttention(own, i)
            if ffn['no_op']:
                layer.mlp, layer.post_attention_layernorm = Nothing(), torch.nn.Identity()
            else:
                own.intermediate_size = width(ffn['ffn_mult'], config.hidden_size)
                layer.mlp = LlamaMLP(own)


def block(group, multiple):
    """What a layer has: queries of a key, and a multiple of the hidden size; None for a block that it lacks."""
    off = {'replace_with_linear': False, 'sparsify': None}
    attention = {'n_heads_in_group': group, 'no_op': group is None, 'num_sink_tokens': None, 'window_length': None, **off}
    return {'attention': attention, 'ffn': {'ffn_mult': multiple, 'no_op': multiple is None, **off}}
