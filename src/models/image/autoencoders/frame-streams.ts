// Frames of a clip as a stream: each layer records a frame when the next layer asks for it. A tape then holds few frames of each layer at a time,
// however long the clip is.

import type { Tensor } from '../../../gpu/tensor.ts';
import { takeRows } from '../../../kernels/copy-rows.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import type { WeightTable } from '../../weights.ts';

/** Frames in their order, [1, height, width, channels] each. */
export type FrameStream = Iterable<Tensor>;

/** The frames of a clip [frames, height, width, channels]. */
export function* framesOf(x: Tensor): Generator<Tensor, void, void> {
  const [count, height, width] = x.shape as [number, number, number];
  if (count === 1) yield x;
  else for (let i = 0; i < count; i++) yield takeRows(x, i * height * width, [1, height, width]);
}

/** A convolution over time; before its first frame and behind its last one these are repeated. */
export interface StreamConv {
  /** Taps of the last frame that it reads, of the one before it, and so on. */
  taps: readonly Matrix[];
  /** Whether it reads no frame behind its own. */
  isCausal: boolean;
  /** Frames from one that has a result to the next. */
  step: 1 | 2;
}

/** Declares a convolution of 3 × 3 × 3. */
export function streamConv(
  weights: WeightTable,
  name: string,
  [to, from]: readonly [to: number, from: number],
  { isCausal, step = 1 }: { isCausal: boolean; step?: 1 | 2 },
): StreamConv {
  const stride = { stride: step };
  return { taps: weights.convOverTime(`${name}.weight`, to, from, [3, 3], 3, stride), isCausal, step };
}

/** Records the convolution of a frame with one tap; `sum`: a tensor that is added, and is overwritten if it is the layer's `own`. */
export type Product = (frame: Tensor, tap: Matrix, sum: Tensor | undefined, own: boolean) => Tensor;

/** Convolves frames; `next`: returns what is added to the next result, left out: nothing. */
export function* convolveStream(
  { taps, isCausal, step }: StreamConv,
  frames: FrameStream,
  product: Product,
  next?: () => Tensor,
): Generator<Tensor, void, void> {
  const seen: Tensor[] = [];
  let results = 0;
  const made = (): Tensor | null => {
    const wants = results++ % step === 0;
    const last = seen.length - 1;
    let sum = wants ? next?.() : undefined;
    if (wants) taps.forEach((tap, back) => (sum = product(seen[last - back]!, tap, sum, back > 0)));
    seen.shift();
    return sum ?? null;
  };
  for (const frame of frames) {
    const repeats = seen.length > 0 || results > 0 ? 0 : isCausal ? taps.length - 1 : (taps.length - 1) / 2;
    for (let i = 0; i <= repeats; i++) seen.push(frame);
    const y = seen.length === taps.length ? made() : null;
    if (y) yield y;
  }
  for (let behind = isCausal ? 0 : (taps.length - 1) / 2; behind > 0; behind--) {
    seen.push(seen.at(-1)!);
    const y = made();
    if (y) yield y;
  }
}

/** The same frames, each of which is also put into a queue. */
export function* queued(frames: FrameStream, queue: Tensor[]): Generator<Tensor, void, void> {
  for (const frame of frames) {
    queue.push(frame);
    yield frame;
  }
}

/** The same frames, the first of them twice. */
export function* withFirstTwice(frames: FrameStream): Generator<Tensor, void, void> {
  let isFirst = true;
  for (const frame of frames) {
    if (isFirst) yield frame;
    isFirst = false;
    yield frame;
  }
}

/** What a function makes of each frame. */
export function* eachFrame(
  frames: FrameStream,
  make: (frame: Tensor) => Tensor,
): Generator<Tensor, void, void> {
  for (const frame of frames) yield make(frame);
}
