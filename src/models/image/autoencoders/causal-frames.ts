// Convolutions over time: a frame is made of itself and of the frames before it. Each frame is a tensor of its own, so that a tap of time
// is a convolution of images, which is added to what the other taps gave. The first frame of a clip is an image, and needs one tap only where
// nothing stands before it.

import type { Tensor } from '../../../gpu/tensor.ts';
import { copyInto } from '../../../kernels/copy-rows.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import type { WeightTable } from '../../weights.ts';

/** Frames of a clip in their order, [batch, height, width, channels] each. */
export type Frames = readonly Tensor[];

/** What layers keep of a clip from one chunk of its frames to the next. */
export interface CarriedFrames {
  /** Whether a chunk came before. */
  readonly continues: boolean;
  /** The last frames that a layer has read, oldest first, on the tape of `like` and in its shape; zeros before the first. */
  last(layer: number, count: number, like: Tensor): Frames;
  /** All frames that a layer has read, this one being the last, [1, frames · height · width, channels], on its tape. */
  all(layer: number, frame: Tensor): Tensor;
}

/** A convolution over time. */
export interface CausalConv {
  /** A number that no other layer of the page has. */
  layer: number;
  /** Taps of the frame itself, of the frame before it, and so on. */
  taps: readonly Matrix[];
  /** Whether copies of the first frame stand before it, and of the nearest pixels around each; left out: nothing and zeros. */
  repeats?: boolean;
}

/** Frames before a frame that its convolutions reach. */
const REACH = 2;

/** Declares a convolution of `frames` × `kernel` × `kernel`; an image reads the tap of the frame itself alone. */
export function causalConv(
  weights: WeightTable,
  name: string,
  [to, from]: readonly [to: number, from: number],
  extents: readonly [frames: number, kernel: 1 | 3],
  isClip: boolean,
): CausalConv {
  const layer = weights.requests.length;
  return { layer, taps: weights.convOverTime(`${name}.weight`, to, from, extents, isClip ? extents[0] : 1) };
}

interface Convolved {
  /** Records the convolution of a frame with one tap; `sum`: a tensor that the result is added to, in place. */
  product?: (frame: Tensor, tap: Matrix, sum: Tensor | undefined) => Tensor;
  /** Tensors that the results are added to, in place; left out: none. */
  sums?: Frames;
  /** Whether the frame of an index has a result; left out: each has one. */
  wants?: (index: number) => boolean;
  carried: CarriedFrames | null;
}

const plainProduct =
  (repeats: boolean): Required<Convolved>['product'] =>
  (frame, tap, sum) =>
    conv2d(frame, tap, {
      ...(repeats && { padding: 'edges' }),
      ...(sum && { residual: sum, inPlace: true }),
    });

/** Convolves the frames of a chunk with those before them, also with those of the chunk before; each is recorded when it is asked for. */
export function* convolveEach(
  { layer, taps, repeats = false }: CausalConv,
  frames: Frames,
  { product = plainProduct(repeats), sums, wants = () => true, carried }: Convolved,
): Generator<Tensor, void, void> {
  const isOverTime = taps.length > 1;
  const before = !isOverTime
    ? []
    : carried?.continues
      ? carried.last(layer, REACH, frames[0]!)
      : repeats
        ? Array.from({ length: REACH }, () => frames[0]!)
        : [];
  const seen = [...before, ...frames];
  for (const i of frames.keys()) {
    if (!wants(i)) continue;
    yield taps.reduce<Tensor | undefined>((sum, tap, back) => {
      const frame = seen[before.length + i - back];
      return frame ? product(frame, tap, sum) : sum;
    }, sums?.[i])!;
  }
  if (isOverTime && carried) keep(carried.last(layer, REACH, frames[0]!), seen);
}

/** Convolves all frames of a chunk. */
export const convolveFrames = (conv: CausalConv, frames: Frames, options: Convolved): Frames => [
  ...convolveEach(conv, frames, options),
];

/** Copies the last frames that were seen; what is kept may be among them. */
function keep(kept: Frames, seen: Frames): void {
  const last = seen.slice(-kept.length);
  last.forEach((frame, i) => copyInto(frame, kept[kept.length - last.length + i]!));
}
