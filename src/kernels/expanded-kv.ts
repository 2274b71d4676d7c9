// Writes keys and values of all heads, which were made of latents, to pages of a step.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { PAGE_TOKENS, type KvPages, type StepPages } from './batch.ts';
import type { LatentShape } from './latent-kv.ts';
import { tokensOf, type PageRange } from './latent-rows.ts';

const WORKGROUP = 64;

/** Columns that belong to one head after another: `first` of those of each, as many as the head has dimensions. */
export interface HeadRows {
  x: Tensor;
  /** Columns from one head to the next. */
  each: number;
  first: number;
}

/** Words of a token's keys and values of all heads. */
export function expandedWords({ heads, plain, rotated, values }: LatentShape, format: string): number[] {
  return [plain + rotated, values].map((dims) => (heads * dims) / (format === 'f16' ? 2 : 1));
}

/**
 * keys [tokens, …] of columns that are not rotated, values [tokens, …], rotated [tokens, rotated] → pages of keys of plain + rotated dimensions and of
 * values, for each head
 */
export function expandedKv(
  { keys, values, rotated }: { keys: HeadRows; values: HeadRows; rotated: Tensor },
  shape: LatentShape,
  { table, format }: Pick<KvPages, 'table' | 'format'>,
  range: PageRange,
): StepPages {
  const tape = tapeOf(rotated);
  const { heads, plain, rotated: turned, values: dims } = shape;
  const counts = [plain, turned, dims, keys.each, values.each, keys.first, values.first];
  if (counts.some((count) => count % 4 > 0) || keys.first !== 0)
    throw new Error(`expandedKv: ${counts.join(', ')} columns, multiples of 4 are wanted`);
  const [keyWords, valueWords] = expandedWords(shape, format);
  const pages: StepPages = {
    ...{ kind: 'kv', table, format },
    keys: tape.tensor([tokensOf(range), keyWords!], 'u32'),
    values: tape.tensor([tokensOf(range), valueWords!], 'u32'),
  };
  tape.dispatch('expanded-kv.wgsl', {
    params: { KV: format },
    args: {
      heads,
      plain_quads: plain / 4,
      rotated_quads: turned / 4,
      value_quads: dims / 4,
      x_quads: keys.x.stride / 4,
      x_head_quads: keys.each / 4,
      v_quads: values.x.stride / 4,
      v_head_quads: values.each / 4,
      v_first: values.first / 4,
      turned_quads: rotated.stride / 4,
    },
    bind: { x: keys.x, v: values.x, turned: rotated, keys: pages.keys, values: pages.values },
    groups: (sizes) => [
      Math.ceil((PAGE_TOKENS * (plain + turned + dims)) / 4 / WORKGROUP),
      range.count(sizes),
      heads,
    ],
  });
  return pages;
}
