// Rows of texts with the rows around them, so that a product of rows is a convolution along each text.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';
import { tileStrips } from './dispatch-work.ts';

const WORKGROUP = 64;

/**
 * x [rows, columns] → [rows, columns · taps]: for each column its values in the `taps` rows around a row, zero beyond the ends of the row's text, as
 * weights [out, columns, taps] of a convolution have them. `taps` is odd.
 */
export function unfoldRows(
  x: Tensor,
  { tiles, spans }: Pick<TextBatch, 'tiles' | 'spans'>,
  taps: number,
): Tensor {
  if (!spans)
    throw new Error('unfoldRows: the rows of a batch without spans do not know the ends of their text');
  if (taps % 2 === 0) throw new Error(`unfoldRows: ${taps} taps have none in the middle`);
  const tape = tapeOf(x);
  const y = tape.tensor([...x.shape.slice(0, -1), x.columns * taps]);
  const quads = y.stride / 4;
  for (const strip of tileStrips(tape, ({ tileRows = 0 }) => tileRows * y.columns))
    tape.dispatch('unfold-rows.wgsl', {
      args: { columns: x.columns, taps, x_stride: x.stride, y_quads: quads, first_tile: strip.first },
      bind: { x, tiles, y },
      groups: (sizes) => [strip.count(sizes), Math.ceil(quads / WORKGROUP)],
    });
  return y;
}
