// Which layers of DeepSeek-V3.2 and GLM-5 choose the tokens that they attend to, and how.

import type { ConfigReader } from '../../config-values.ts';
import type { IndexerConfig } from '../blocks/token-indexer.ts';

export interface DeepseekIndexer extends IndexerConfig {
  /** By layer: whether it has an indexer, or attends to the tokens that the last one before it chose. */
  own: readonly boolean[];
}

const KINDS = ['full', 'shared'] as const;
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

/** Which layers have an indexer. */
function ownIndexers(config: ConfigReader, layers: number): boolean[] {
  const [key, own] = statedIndexers(config, layers);
  if (own.length !== layers)
    throw config.error('bad_checkpoint', key, `has ${own.length} of ${layers} layers: ${PUBLISHED}`);
  if (own[0]) return own;
  throw config.error('bad_checkpoint', key, `leaves the first layer without an indexer: ${PUBLISHED}`);
}

/** A list of kinds, a pattern of their letters, or a frequency, and its key; without them all layers have an indexer. */
function statedIndexers(config: ConfigReader, layers: number): [key: string, own: boolean[]] {
  const { indexer_types: types, index_topk_pattern: pattern } = config.values;
  if (types == null && typeof pattern === 'string')
    return ['index_topk_pattern', Array.from(pattern, (letter) => letter === 'F')];
  if (types != null || pattern != null) {
    const key = types == null ? 'index_topk_pattern' : 'indexer_types';
    return [key, config.texts(key, KINDS).map((type) => type === 'full')];
  }
  const every = config.count('index_topk_freq', 1);
  const first = config.count('index_skip_topk_offset', 2);
  const own = Array.from({ length: layers }, (_, i) => Math.max(i - first + 1, 0) % every === 0);
  return ['index_skip_topk_offset', own];
}
