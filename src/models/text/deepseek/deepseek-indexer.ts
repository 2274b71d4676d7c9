// Which layers of DeepSeek-V3.2 and GLM-5 choose the tokens that they attend to, and how.

import type { ConfigReader } from '../../config-values.ts';
import type { IndexerConfig } from '../blocks/token-indexer.ts';

export interface DeepseekIndexer extends IndexerConfig {
  /** By layer: whether it has an indexer, or attends to the tokens that the last one before it chose. */
  own: readonly boolean[];
}

const PUBLISHED = 'take the values that the model was published with';

/** `pairs`: of rotations, where the file does not say. */
export function readIndexer(
  config: ConfigReader,
  { layers, rotated, pairs }: { layers: number; rotated: number; pairs: IndexerConfig['pairs'] },
): DeepseekIndexer {
  const dims = config.count('index_head_dim');
  if (dims % 4 !== 0 || dims < rotated)
    throw config.error(
      'unsupported',
      'index_head_dim',
      `${dims} is not built; choose a model with a multiple of 4 that holds the ${rotated} rotated dimensions`,
    );
  if (config.values['q_lora_rank'] === null)
    throw config.error('unsupported', 'q_lora_rank', `null is not built with an indexer; ${PUBLISHED}`);
  return {
    ...{ heads: config.count('index_n_heads'), dims, most: config.count('index_topk'), rotated },
    pairs: config.flag('indexer_rope_interleave', pairs === 'adjacent') ? 'adjacent' : 'half',
    own: ownIndexers(config, layers),
  };
}

/** A list of kinds, a pattern of their letters, or a frequency says which layers have an indexer; without them all have. */
function ownIndexers(config: ConfigReader, layers: number): boolean[] {
  const each = Array.from({ length: layers }, (_, i) => i);
  const { indexer_types: types, index_topk_pattern: pattern } = config.values;
  let own: boolean[];
  if (types != null) own = config.texts('indexer_types', ['full', 'shared']).map((type) => type === 'full');
  else if (typeof pattern === 'string') own = Array.from(pattern, (letter) => letter === 'F');
  else if (pattern != null)
    own = config.texts('index_topk_pattern', ['full', 'shared']).map((type) => type === 'full');
  else {
    const every = config.count('index_topk_freq', 1);
    const first = config.count('index_skip_topk_offset', 2);
    own = each.map((i) => Math.max(i - first + 1, 0) % every === 0);
  }
  if (own.length !== layers || !own[0])
    throw config.error(
      'bad_checkpoint',
      types != null ? 'indexer_types' : 'index_topk_pattern',
      `has ${own.length} of ${layers} layers, the first of which needs an indexer: ${PUBLISHED}`,
    );
  return own;
}
