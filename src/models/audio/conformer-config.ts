// Settings of conformer.ts that its families read alike.

import { MOST_NEAR_DIMS } from '../../kernels/near-attend.ts';
import type { ConfigReader } from '../config-values.ts';

/** The number of heads at `key`. Throws unsupported for heads that no kernel computes. */
export function readHeads(
  config: ConfigReader,
  key: 'num_attention_heads' | 'conf_num_attention_heads',
  hidden: number,
): number {
  const heads = config.count(key, 8);
  const dims = hidden / heads;
  if (Number.isInteger(dims) && dims <= MOST_NEAR_DIMS) return heads;
  const problem = `is ${heads} for ${hidden} columns; choose a model whose heads have whole and at most ${MOST_NEAR_DIMS} dimensions`;
  throw config.error('unsupported', key, problem);
}
