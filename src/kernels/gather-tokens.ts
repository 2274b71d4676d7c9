// Sequences whose tokens are divided among devices: the tokens of all of them, by way of host memory.

import { tapeOf } from '../gpu/tape.ts';
import type { TokenSplit } from '../gpu/tape-options.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { Columns } from './columns.ts';

/** Tokens of all devices in their order; x [items, own tokens, columns] → [items, tokens, columns] */
export function gatherTokens(x: Tensor, split: TokenSplit): Tensor {
  const [items] = x.shape as [number];
  const y = tapeOf(x).tensor([items, sumOf(split.counts), x.columns]);
  tapeOf(x).meet(x, [y], async (own) => [joinItems(await split.allGather(own), items)]);
  return y;
}

/**
 * Keys and values of all devices, `columns` of each, that are columns of one tensor; k and v [items, own tokens, …] → [items, tokens, …]. Attention
 * does not depend on the order of keys but for rounding.
 */
export function gatherKeys(k: Columns, v: Columns, columns: number, split: TokenSplit): [Columns, Columns] {
  if (k.x !== v.x) throw new Error('gatherKeys: keys and values are columns of two tensors');
  const [items, n] = k.x.shape as [number, number];
  if (n !== split.counts[split.rank])
    throw new Error(`gatherKeys: ${n} tokens, and this device has ${split.counts[split.rank]}`);
  const { stride } = k.x;
  const all = tapeOf(k.x).tensor([items, sumOf(split.counts), 2 * columns]);
  tapeOf(k.x).meet(k.x, [all], async (own) => {
    const given = new Float32Array(own);
    const taken = new Float32Array(items * n * all.stride);
    for (let row = 0; row < items * n; row++)
      for (const [i, { first }] of [k, v].entries()) {
        const at = row * stride + first;
        taken.set(given.subarray(at, at + columns), row * all.stride + i * columns);
      }
    return [joinItems(await split.allGather(taken.buffer), items)];
  });
  return [
    { x: all, first: 0 },
    { x: all, first: columns },
  ];
}

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

/** The first item of each part, one part after the other, then the second of each, and so on. */
function joinItems(parts: readonly ArrayBuffer[], items: number): ArrayBuffer {
  const joined = new Uint8Array(sumOf(parts.map(({ byteLength }) => byteLength)));
  let at = 0;
  for (let item = 0; item < items; item++)
    for (const part of parts) {
      const bytes = part.byteLength / items;
      joined.set(new Uint8Array(part, item * bytes, bytes), at);
      at += bytes;
    }
  return joined.buffer;
}
