// Heads of another width. Attention reads four dimensions at a time: heads that are not a multiple of 4 are widened with zeros before it, and
// narrowed after it.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { HeadShape } from './batch.ts';
import { cutPixels, view } from './pixels.ts';

const WORKGROUP = 64;

/** Dimensions of a head as attention reads it. */
export function paddedHead(dims: number): number {
  return Math.ceil(dims / 4) * 4;
}

/** Dimensions of a head in pages, where two for ALiBi may stand behind its own. */
export function storedHead({ dims, alibi }: Pick<HeadShape, 'dims' | 'alibi'>): number {
  return paddedHead(dims + (alibi ? 2 : 0));
}

export interface HeadWidths {
  heads: number;
  /** Dimensions of a head of x, and of the result. */
  from: number;
  to: number;
}

/** heads · from columns of x, which begin at any column `first`; x [rows, …] → [rows, heads · to] */
export function resizeHeads(
  { x, first }: { x: Tensor; first: number },
  { heads, from, to }: HeadWidths,
): Tensor {
  if (first + heads * from > x.columns)
    throw new Error(`resizeHeads: ${heads} heads of ${from} from ${first} on, of ${x.columns} columns`);
  const tape = tapeOf(x);
  const y = tape.tensor([...x.shape.slice(0, -1), heads * to]);
  const args = { heads, x_dims: from, y_dims: to, x_first: first, x_stride: x.stride, y_stride: y.stride };
  const across = Math.ceil(y.stride / WORKGROUP);
  if (x.shape.some((extent) => typeof extent === 'string')) {
    tape.dispatch('resize-heads.wgsl', {
      args: { ...args, x_row: 0, y_row: 0 },
      bind: { x, y },
      groups: (sizes) => [across, y.rows(sizes)],
    });
    return y;
  }
  const most = tape.device.capabilities.maxWorkgroups;
  for (const part of cutPixels(tape, { first: 0, last: y.rows({}) }, [x, y], most)) {
    const [from, to] = [view(tape, x, part), view(tape, y, part)];
    tape.dispatch('resize-heads.wgsl', {
      args: { ...args, x_row: part.first - from.first, y_row: part.first - to.first },
      bind: { x: from.operand, y: to.operand },
      groups: () => [across, part.last - part.first],
    });
  }
  return y;
}
