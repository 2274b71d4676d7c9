// RMSNorm of all rows, or of chosen ones (the rows whose logits are computed).

import { tapeOf, type Operand } from '../gpu/tape.ts';
import { Tensor, type Extent, type Region } from '../gpu/tensor.ts';
import { modulationOperands, type Modulation } from './modulation.ts';
import { stripsOf } from './row-strips.ts';

const WHOLE = { first_index: 0, first_source: 0, source_rows: 0 };

/** x / sqrt(mean(x²) + eps) · weight, then · (1 + scale) + shift; x [rows, columns], weight [columns] → [rows, columns] */
export function rmsnorm(
  x: Tensor,
  weight: Tensor,
  eps: number,
  modulation: Modulation | null = null,
): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  const { variant, args, bind } = modulationOperands(x, modulation);
  for (const strip of stripsOf(tape, [x, y])) {
    tape.dispatch('rmsnorm.wgsl', {
      params: { PICK: 'all', MODULATE: variant },
      args: { quads: x.stride / 4, columns: x.columns, eps, first_row: strip.firstRow, ...args, ...WHOLE },
      bind: { x: strip.of(x), y: strip.of(y), weight, ...bind },
      groups: (sizes) => [strip.count(sizes)],
    });
  }
  return y;
}

/**
 * Norms of the rows that `index` lists; `into`: a buffer that outlasts the step; x [rows, columns], index [n] of u32 → [n, columns].
 * `n` may be several extents, whose product is the number of rows.
 */
export function rmsnormRows(
  x: Tensor,
  weight: Tensor,
  eps: number,
  index: Operand,
  n: string | readonly Extent[],
  into?: Region,
): Tensor {
  const tape = tapeOf(x);
  const shape = [...(typeof n === 'string' ? [n] : n), x.columns];
  const y = into ? new Tensor(shape, 'f32', { tape, region: into }) : tape.tensor(shape);
  const { variant, args } = modulationOperands(x, null);
  const all = { quads: x.stride / 4, columns: x.columns, eps, first_row: 0, ...args };
  const [sources, targets] = [stripsOf(tape, [x], Infinity), stripsOf(tape, [y])];
  const isWhole = sources.length === 1 && targets.length === 1;
  for (const target of targets) {
    for (const source of sources) {
      const first = { first_index: target.firstRow, first_source: source.firstRow };
      tape.dispatch('rmsnorm.wgsl', {
        params: { PICK: isWhole ? 'index' : 'window', MODULATE: variant, WINDOWED: !isWhole },
        args: { ...all, ...first, source_rows: source.rows },
        bind: { x: source.of(x), weight, index, y: target.of(y) },
        groups: (sizes) => [target.count(sizes)],
      });
    }
  }
  return y;
}
