// Mistral Small 3 in one file, with the names of transformers, whole or cut behind the last layer that FLUX.2 reads.

import type { FileHeaders, PartConfig, PartLayout } from '../../../../files/pipeline/file-layout.ts';
import { Shapes } from '../../layouts/shapes.ts';

/** The tokenizer's file, which ComfyUI keeps as a tensor. */
const VOCABULARY = 'tekken_model';
const FIRST = 'model.layers.0';
/** Columns of a head. */
const HEAD_DIMS = 128;

export function mistralParts(prefixes: readonly string[]): PartLayout {
  return {
    prefixes,
    signs: ['model.embed_tokens.weight', `${FIRST}.self_attn.q_proj.weight`, `${FIRST}.mlp.gate_proj.weight`],
    names: () => (name) => (name === VOCABULARY ? [] : name),
    configure: mistralConfig,
  };
}

function mistralConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'text encoder');
  const extent = (name: string, axis: number): number => shapes.extent(name, axis);
  const layers = shapes.count((i) => `model.layers.${i}.mlp.gate_proj.weight`);
  const heads = (part: string): number =>
    Math.max(1, Math.floor(extent(`${FIRST}.self_attn.${part}_proj.weight`, 0) / HEAD_DIMS));
  return {
    className: 'MistralForCausalLM',
    config: {
      architectures: ['MistralForCausalLM'],
      model_type: 'mistral',
      vocab_size: extent('model.embed_tokens.weight', 0),
      hidden_size: extent('model.embed_tokens.weight', 1),
      intermediate_size: extent(`${FIRST}.mlp.gate_proj.weight`, 0),
      // A file without the last norm was cut: there were more layers.
      num_hidden_layers: headers.has('model.norm.weight') ? layers : layers + 1,
      num_attention_heads: heads('q'),
      num_key_value_heads: heads('k'),
      head_dim: HEAD_DIMS,
      rms_norm_eps: 1e-5,
      rope_theta: 1_000_000_000,
      max_position_embeddings: 131_072,
      sliding_window: null,
      tie_word_embeddings: false,
    },
  };
}
