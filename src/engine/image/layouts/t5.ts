// T5's encoder in one file, with the names of transformers.

import type { FileHeaders, PartConfig, PartLayout } from '../../../files/pipeline/file-layout.ts';
import { Shapes } from './shapes.ts';

const FIRST = 'encoder.block.0';
const BIASES = `${FIRST}.layer.0.SelfAttention.relative_attention_bias.weight`;

export function t5Parts(prefixes: readonly string[]): PartLayout {
  return {
    prefixes,
    signs: [BIASES, `${FIRST}.layer.1.DenseReluDense.wi_0.weight`],
    names: () => (name) => name,
    configure: t5Config,
  };
}

/** Distance from which on all keys share a class, in every published encoder. */
const FARTHEST = 128;

function t5Config(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'T5 encoder');
  const embedding = headers.has('shared.weight') ? 'shared.weight' : 'encoder.embed_tokens.weight';
  const heads = shapes.extent(BIASES, 1);
  return {
    className: 'T5EncoderModel',
    config: {
      architectures: ['T5EncoderModel'],
      model_type: 't5',
      vocab_size: shapes.extent(embedding, 0),
      d_model: shapes.extent(embedding, 1),
      d_kv: Math.max(1, Math.floor(shapes.extent(`${FIRST}.layer.0.SelfAttention.q.weight`, 0) / heads)),
      d_ff: shapes.extent(`${FIRST}.layer.1.DenseReluDense.wi_0.weight`, 0),
      num_heads: heads,
      num_layers: shapes.count((i) => `encoder.block.${i}.layer.0.SelfAttention.q.weight`),
      relative_attention_num_buckets: shapes.extent(BIASES, 0),
      relative_attention_max_distance: FARTHEST,
      feed_forward_proj: 'gated-gelu',
      layer_norm_epsilon: 1e-6,
    },
  };
}
