// What blocks of a denoiser gave in earlier steps: it is kept with its divided differences, added to later inputs, and compared.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchQuads, stripsOf } from './row-strips.ts';

/** Workgroups that add parts of a strip. */
const PARTS = 64;

/** A scalar of a step, by its index. */
export interface StepScalar {
  scalars: Operand;
  index: number;
}

/** (difference, kept) become (rate · (difference - kept), difference); tensors of one shape, in place */
export function differ(difference: Tensor, kept: Tensor, { scalars, index }: StepScalar): void {
  const quads = difference.stride / 4;
  dispatchQuads('feature-difference.wgsl', {
    strips: { difference, kept },
    args: (_, rows) => ({ all_quads: rows * quads, index }),
    bind: { scalars },
    quads,
  });
}

/** x = x + factor · y, in place; tensors of one shape */
export function addScaled(x: Tensor, y: Tensor, { scalars, index }: StepScalar): void {
  const quads = x.stride / 4;
  dispatchQuads('add-scaled.wgsl', {
    strips: { x, y },
    args: (_, rows) => ({ all_quads: rows * quads, index }),
    bind: { scalars },
    quads,
  });
}

/** Σ|x - y| and Σ|y| of tensors of one shape → [1, 4], of which the last two columns are 0 */
export function absoluteSums(x: Tensor, y: Tensor): Tensor {
  const tape = tapeOf(x);
  const quads = x.stride / 4;
  const strips = stripsOf(tape, [x, y], Infinity);
  const parts = tape.tensor([strips.length * PARTS, 4]);
  strips.forEach((strip, i) =>
    tape.dispatch('absolute-sums.wgsl', {
      args: { all_quads: strip.count(tape.capacity) * quads, first: i * PARTS },
      bind: { x: strip.of(x), y: strip.of(y), parts },
      groups: () => [PARTS],
    }),
  );
  const sums = tape.tensor([1, 4]);
  tape.dispatch('sum-parts.wgsl', {
    args: { count: strips.length * PARTS },
    bind: { parts, y: sums },
    groups: () => [1],
  });
  return sums;
}
