// Language models that encode prompts, in one file: with the names of transformers, which their files keep.

import type { FileHeaders, PartConfig, PartLayout } from '../../../files/pipeline/file-layout.ts';
import { Shapes } from './shapes.ts';

/** A decoder of the Qwen3 kind, whose heads of queries and keys have norms. */
export function decoderParts(prefixes: readonly string[], className: string): PartLayout {
  return {
    prefixes,
    signs: ['model.embed_tokens.weight', 'model.layers.0.self_attn.q_norm.weight', 'model.norm.weight'],
    names: () => (name) => name,
    configure: (headers) => decoderConfig(headers, className),
  };
}

function decoderConfig(headers: FileHeaders, className: string): PartConfig {
  const shapes = new Shapes(headers, 'text encoder');
  const extent = (name: string, axis: number): number => shapes.extent(name, axis);
  const first = 'model.layers.0';
  const dims = extent(`${first}.self_attn.q_norm.weight`, 0);
  return {
    className,
    config: {
      architectures: [className],
      model_type: 'qwen3',
      vocab_size: extent('model.embed_tokens.weight', 0),
      hidden_size: extent('model.embed_tokens.weight', 1),
      intermediate_size: extent(`${first}.mlp.gate_proj.weight`, 0),
      num_hidden_layers: shapes.count((i) => `model.layers.${i}.mlp.gate_proj.weight`),
      num_attention_heads: Math.floor(extent(`${first}.self_attn.q_proj.weight`, 0) / dims),
      num_key_value_heads: Math.floor(extent(`${first}.self_attn.k_proj.weight`, 0) / dims),
      head_dim: dims,
      rms_norm_eps: 1e-6,
      rope_theta: 1_000_000,
      max_position_embeddings: 40_960,
      tie_word_embeddings: !headers.has('lm_head.weight'),
    },
  };
}
