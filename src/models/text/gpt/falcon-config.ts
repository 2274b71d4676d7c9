// What Falcon's config.json says beside the sizes: three arrangements of heads and norms.

import type { ConfigReader } from '../../config-values.ts';
import type { GptParts, GptSizes } from './gpt-family.ts';

/** Errors: bad_checkpoint; unsupported for settings that plain-layer.ts does not compute. */
export function readFalcon(config: ConfigReader, { heads, dims }: GptSizes): GptParts {
  const isNew = config.flag('new_decoder_architecture', false);
  const isParallel = config.flag('parallel_attn', true);
  if (isNew) config.only({ parallel_attn: [true] });
  const bias = config.flag('bias', false);
  const norms = !isNew ? 1 : config.values['num_ln_in_parallel_attn'] === 1 ? 1 : 2;
  return {
    names: { prefix: 'transformer.', embedding: 'word_embeddings', layers: 'h', finalNorm: 'ln_f' },
    modules: {
      attention: 'self_attention',
      up: 'mlp.dense_h_to_4h',
      down: 'mlp.dense_4h_to_h',
      ...(isParallel && norms === 2 && { attentionNorm: 'ln_attn', mlpNorm: 'ln_mlp' }),
      ...(isParallel && norms === 1 && { mlpNorm: null }),
    },
    attentionNames: { qkv: 'query_key_value', out: 'dense' },
    ...readOrder(config, isNew, heads),
    // Slopes are divided like the products of queries and keys.
    ...(config.flag('alibi', false)
      ? { alibi: { most: 8, scale: 1 / Math.sqrt(dims) } }
      : { rotation: { share: 1, pairs: 'half' } }),
    parallel: isParallel,
    qkvBias: bias,
    outBias: bias,
    mlpBias: bias,
  };
}

/** Keys stand beside their queries, but for those that all queries share. */
function readOrder(config: ConfigReader, isNew: boolean, heads: number): Pick<GptParts, 'kvHeads' | 'order'> {
  if (isNew) return { kvHeads: config.count('num_key_value_heads', heads), order: 'groups' };
  return config.flag('multi_query', true) ? { kvHeads: 1, order: 'kinds' } : { order: 'groups' };
}
