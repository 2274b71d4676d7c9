// Classifier-free guidance: combines two predictions, one without the prompt and one with it.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';

/** x [2 · items, …], all negatives then all positives → negative + scalars[scalar] · (positive − negative) [items, …] */
export function guidance(x: Tensor, scalars: Operand, scalar: number): Tensor {
  const tape = tapeOf(x);
  const [both, ...rest] = x.shape as [number, ...number[]];
  const y = tape.tensor([both / 2, ...rest]);
  const quads = (y.rows({}) * x.stride) / 4;
  tape.dispatch('guidance.wgsl', {
    args: { quads, scalar },
    bind: { x, scalars, y },
    groups: () => walkers(tape, quads),
  });
  return y;
}

/**
 * Mixes each item of y, guided from x, with itself rescaled to the standard deviation of the positive prediction; `share` is the rescaled part.
 * In place; y [items, …], x [items, …] or [2 · items, …], positives last. `items`: those of y, where its first extent counts others
 */
export function keepSpread(y: Tensor, x: Tensor, share: number, items = y.shape[0] as number): void {
  rescale(y, x, { share, items, spread: true });
}

/** Shortens each item of y in place to at most `share` times the length of the positive prediction it was guided from; both [items, …] */
export function limitLength(y: Tensor, positive: Tensor, share: number): void {
  rescale(y, positive, { share, items: y.shape[0] as number, spread: false });
}

function rescale(
  y: Tensor,
  x: Tensor,
  { share, items, spread }: { share: number; items: number; spread: boolean },
): void {
  const rows = y.rows({}) / items;
  const before = x.rows({}) - y.rows({});
  tapeOf(y).dispatch('guidance-rescale.wgsl', {
    params: { SPREAD: spread },
    args: {
      quads: (rows * y.stride) / 4,
      first: (before * x.stride) / 4,
      values: rows * y.columns,
      share,
    },
    bind: { x, y },
    groups: () => [items],
  });
}
