// Takes latents out of the pages of a segment of a step's contexts, as rows.

import type { Tape } from '../gpu/tape.ts';
import type { Extent, Sizes, Tensor } from '../gpu/tensor.ts';
import { PAGE_TOKENS, type KvPages } from './batch.ts';
import { isCoded } from './kv-format.ts';
import type { LatentShape } from './latent-kv.ts';

const WORKGROUP = 64;

/** Pages of a step, counted over the tables of its sequences. */
export interface PageRange {
  first: number;
  /** Pages of the range in a step. */
  count(sizes: Sizes): number;
}

/** The tokens of a range as an extent of tensors. */
export function tokensOf({ count }: PageRange): Extent {
  return (sizes) => PAGE_TOKENS * count(sizes);
}

/** → normed [tokens, rank], rotated [tokens, rotated] */
export function latentRows(
  tape: Tape,
  { table, keys, values, format }: KvPages,
  { rank, rotated: dims }: Pick<LatentShape, 'rank' | 'rotated'>,
  range: PageRange,
): { normed: Tensor; rotated: Tensor } {
  if (values !== null || isCoded(format) || rank % 4 > 0 || dims % 4 > 0)
    throw new Error(`latentRows: ${rank} and ${dims} dimensions in ${format}: multiples of 4 are wanted`);
  const normed = tape.tensor([tokensOf(range), rank]);
  const rotated = tape.tensor([tokensOf(range), dims]);
  const across = Math.ceil((8 * (normed.stride + rotated.stride)) / 4 / WORKGROUP);
  tape.dispatch('latent-rows.wgsl', {
    params: { KV: format },
    args: {
      dims: rank + dims,
      normed_quads: rank / 4,
      y_quads: normed.stride / 4,
      rotated_quads: rotated.stride / 4,
      first_page: range.first,
    },
    bind: { pages: table.pages, keys, y: normed, rotated },
    groups: (sizes) => [across, range.count(sizes)],
  });
  return { normed, rotated };
}
