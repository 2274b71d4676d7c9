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
 * Mixes y, guided from x [2, …], with itself rescaled to the standard deviation of the positive prediction; `share` is the rescaled
 * part. In place.
 */
export function keepSpread(y: Tensor, x: Tensor, share: number): void {
  rescale(y, x, share, true);
}

/** Shortens y in place to at most `share` times the length of the positive prediction it was guided from; both of one shape. */
export function limitLength(y: Tensor, positive: Tensor, share: number): void {
  rescale(y, positive, share, false);
}

function rescale(y: Tensor, x: Tensor, share: number, spread: boolean): void {
  const quads = (y.rows({}) * y.stride) / 4;
  tapeOf(y).dispatch('guidance-rescale.wgsl', {
    params: { SPREAD: spread },
    args: { quads, first: (x.rows({}) * x.stride) / 4 - quads, values: y.rows({}) * y.columns, share },
    bind: { x, y },
    groups: () => [1],
  });
}
