// Reads settings that most configurations of diffusers' transformers have: heads, whose dimensions make up the width, and the axes by which
// heads are rotated.

import type { CountKey } from '../config-bounds.ts';
import { checkHeads, type ConfigReader } from '../config-values.ts';

export interface Heads {
  hidden: number;
  heads: number;
  /** Dimensions of a head. */
  dims: number;
}

/** `usual`: numbers of heads, and of the dimensions of each, where the file has none. */
export function readHeads(config: ConfigReader, file: string, usual: Omit<Heads, 'hidden'>): Heads {
  const dims = config.count('attention_head_dim', usual.dims);
  const heads = config.count('num_attention_heads', usual.heads);
  const hidden = heads * dims;
  checkHeads(file, hidden, heads);
  return { hidden, heads, dims };
}

/** Throws bad_checkpoint unless a key says the width of all heads. */
export function requireHidden(config: ConfigReader, key: CountKey, usual: number, sizes: Heads): void {
  const { hidden, heads, dims } = sizes;
  const stated = config.count(key, usual);
  if (stated === hidden) return;
  const problem = `is ${stated}, and ${heads} heads of ${dims} dimensions have ${hidden}`;
  throw config.error('bad_checkpoint', key, problem);
}

const COUNTS = ['', 'one', 'two', 'three', 'four'];

/** Dimensions of a head that each axis rotates, as many as the usual ones. */
export function readAxes(
  config: ConfigReader,
  dims: number,
  usual: readonly number[],
  key: CountKey = 'axes_dims_rope',
): number[] {
  const axes = config.list(key, usual);
  const isEven = axes.every((size) => size % 2 === 0);
  if (axes.length === usual.length && isEven && axes.reduce((sum, size) => sum + size, 0) === dims)
    return axes;
  throw config.error(
    'bad_checkpoint',
    key,
    `is ${JSON.stringify(axes)}, ${COUNTS[usual.length]} even numbers are needed that make up heads of ${dims} dimensions`,
  );
}
