// GGUF files of the models that llama.ts computes.

import type { GgufClass, GgufModel } from '../../files/gguf/model.ts';
import { decoderConfig } from './gguf-config.ts';
import { decoderParts } from './gguf-tensors.ts';

type Json = Record<string, unknown>;

interface LlamaFiles {
  /** general.architecture */
  name: string;
  className: string;
  /** Query and key rows are stored in pairs. */
  paired?: boolean;
  /** Further keys of config.json. */
  more?(model: GgufModel, config: Json): Json;
}

const FILES: readonly LlamaFiles[] = [
  { name: 'llama', className: 'LlamaForCausalLM', paired: true, more: llama },
  { name: 'qwen2', className: 'Qwen2ForCausalLM' },
  // The text models of Qwen2-VL and Qwen3-VL: for text alone the parts of their positions are equal.
  { name: 'qwen2vl', className: 'Qwen2ForCausalLM' },
  { name: 'qwen3', className: 'Qwen3ForCausalLM', more: biases },
  { name: 'qwen3vl', className: 'Qwen3ForCausalLM', more: biases },
  {
    name: 'qwen3moe',
    className: 'Qwen3MoeForCausalLM',
    more: (model) => ({ ...biases(model), ...qwenExperts(model) }),
  },
  {
    name: 'olmoe',
    className: 'OlmoeForCausalLM',
    more: (model) => ({ ...biases(model), ...experts(model, false) }),
  },
];

export const LLAMA_GGUF: readonly GgufClass[] = FILES.map(({ name, className, paired = false, more }) => ({
  name,
  classNames: name === 'llama' ? [className, 'MistralForCausalLM'] : [className],
  async read(model) {
    const config = await decoderConfig(model);
    const stated = { ...config, ...more?.(model, config) };
    // Windows take a class of their own; all else that Mistral computes is Llama's.
    const isMistral = className === 'LlamaForCausalLM' && config['sliding_window'] !== null;
    return { className: isMistral ? 'MistralForCausalLM' : className, config: stated };
  },
  parts(tensor, config) {
    const {
      num_attention_heads: heads,
      num_key_value_heads: kvHeads,
      head_dim: dims,
    } = config as Record<string, number>;
    return decoderParts(tensor, {
      paired: paired ? { heads: heads!, kvHeads: kvHeads! } : null,
      fused: { q: heads! * dims!, kv: kvHeads! * dims! },
      normsAdded: 0,
    });
  },
}));

function llama(model: GgufModel): Json {
  const { keys, architecture } = model;
  if (keys.count(`${architecture}.expert_count`, 0) > 0)
    throw keys.unsupported(`${architecture}.expert_count`, 'Mixtral is not among the classes that run');
  return { ...biases(model), mlp_bias: model.tensors.has('blk.0.ffn_down.bias') };
}

/** Biases of attention, which no key states. */
function biases({ tensors }: GgufModel): Json {
  return { attention_bias: tensors.has('blk.0.attn_q.bias') || tensors.has('blk.0.attn_qkv.bias') };
}

function experts({ keys, architecture }: GgufModel, normed: boolean): Json {
  return {
    num_experts: keys.count(`${architecture}.expert_count`),
    num_experts_per_tok: keys.count(`${architecture}.expert_used_count`),
    norm_topk_prob: keys.flag(`${architecture}.expert_weights_norm`, normed),
  };
}

/** Layers without a router have one block for all tokens. */
function qwenExperts(model: GgufModel): Json {
  const { keys, architecture, tensors } = model;
  const layers = Array.from(
    { length: Math.min(keys.count(`${architecture}.block_count`), 4096) },
    (_, i) => i,
  );
  const width = keys.count(`${architecture}.expert_feed_forward_length`);
  return {
    ...experts(model, true),
    moe_intermediate_size: width,
    mlp_only_layers: layers.filter((i) => !tensors.has(`blk.${i}.ffn_gate_inp.weight`)),
  };
}
