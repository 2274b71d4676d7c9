// Blocks of autoencoder-wan.ts: residual blocks, changes of the size and of the number of frames, shortcuts past them, and attention within a
// frame.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attend } from '../../../kernels/attend.ts';
import { channelNorm } from '../../../kernels/channel-norm.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { copy } from '../../../kernels/copy-rows.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { channelNormConv } from '../../../kernels/norm-conv.ts';
import { pixelShuffle } from '../../../kernels/pixel-shuffle.ts';
import { pixelUnshuffle } from '../../../kernels/pixel-unshuffle.ts';
import { resizeHeads } from '../../../kernels/resize-heads.ts';
import type { WeightTable } from '../../weights.ts';
import {
  causalConv,
  convolveEach,
  convolveFrames,
  type CarriedFrames,
  type CausalConv,
  type Frames,
} from './causal-frames.ts';

interface Way {
  stripRows?: number | undefined;
  carried: CarriedFrames | null;
}

export type ClipLayer = (frames: Frames, way: Way) => Frames;

/** Where a page reads its weights, and whether it takes clips: their convolutions read the frames before a frame, too. */
export interface Source {
  weights: WeightTable;
  isClip: boolean;
  /** Whether copies of the nearest pixels stand around a frame, and copies of the first frame before it; left out: zeros. */
  repeats?: true;
}

/** Declares a convolution of 3 × 3 × 3. */
export function clipConv(
  { weights, isClip, repeats }: Source,
  name: string,
  to: number,
  from: number,
): CausalConv {
  // Modules that repeat pixels hold the convolution within them.
  if (repeats) return { ...causalConv(weights, `${name}.conv`, [to, from], [3, 3], true), repeats };
  return causalConv(weights, name, [to, from], [3, 3], isClip);
}

/** A convolution of one tap. */
export function pointwise(weights: WeightTable, name: string, to: number, from: number): Matrix {
  return weights.convOverTime(`${name}.weight`, to, from, [1, 1])[0]!;
}

/** RMSNorm over the channels, SiLU, a convolution of 3 × 3 × 3; each frame is recorded when it is asked for. */
export function normedConv(source: Source, norm: string, conv: string, from: number, to: number) {
  const weight = source.weights.vector(`${norm}.gamma`, from);
  const causal = clipConv(source, conv, to, from);
  const padding = source.repeats ? ('edges' as const) : undefined;
  return (frames: Frames, { stripRows, carried }: Way, sums?: Frames): Iterable<Tensor> =>
    convolveEach(causal, frames, {
      carried,
      ...(sums && { sums }),
      product: (frame, tap, sum) =>
        channelNormConv(frame, { weight, activation: 'silu' }, tap, {
          residual: sum,
          inPlace: !!sum,
          padding,
          stripRows,
        }),
    });
}

/** x [batch, height, width, from] → [batch, height, width, to] of each frame; a segment of the tape, in place where both are equal. */
export function residual(source: Source, name: string, from: number, to: number): ClipLayer {
  const first = normedConv(source, `${name}.norm1`, `${name}.conv1`, from, to);
  const second = normedConv(source, `${name}.norm2`, `${name}.conv2`, to, to);
  const shortcut = from === to ? null : pointwise(source.weights, `${name}.conv_shortcut`, to, from);
  return (frames, way) => {
    const y = [...first(frames, way)];
    const z = [...second(y, way, shortcut ? frames.map((frame) => linear(frame, shortcut)) : frames)];
    z[0]!.tape!.cut();
    return z;
  };
}

/** Doubles the sides of frames, and with `joins` the number of those after a clip's first. */
export function upsample(
  source: Source,
  name: string,
  channels: number,
  to: number,
  joins: boolean,
): ClipLayer {
  const conv = source.weights.conv(`${name}.resample.1.weight`, to, channels, 3);
  const overTime = timeConv(source, name, [2 * channels, channels], joins);
  return (frames, { carried }) => {
    const firsts = carried?.continues ? 0 : 1;
    const later = frames.slice(overTime ? firsts : frames.length);
    const pairs = overTime && later.length > 0 ? convolveFrames(overTime, later, { carried }) : [];
    const all = [
      ...frames.slice(0, frames.length - later.length),
      ...pairs.flatMap((x) =>
        [0, channels].map((first) => resizeHeads({ x, first }, { heads: 1, from: channels, to: channels })),
      ),
    ];
    return all.map((frame) => conv2d(frame, conv, { upsample: true }));
  };
}

/** Halves the sides of frames, and with `joins` the number of those after a clip's first. Frames are padded to the right and below. */
export function downsample(source: Source, name: string, channels: number, joins: boolean): ClipLayer {
  const conv = source.weights.conv(`${name}.resample.1.weight`, channels, channels, 3, { stride: 2 });
  const overTime = timeConv(source, name, [channels, channels], joins);
  return (frames, { carried }) => {
    const halved = frames.map((frame) => conv2d(frame, conv, { stride: 2, padding: 'after' }));
    if (!overTime) return halved;
    const firsts = carried?.continues ? 0 : 1;
    const wants = (i: number): boolean => i >= firsts && (i - firsts) % 2 === 1;
    return [...halved.slice(0, firsts), ...convolveFrames(overTime, halved, { carried, wants })];
  };
}

/** The convolution that joins or divides frames; null: the page takes images, or there is none at this place. */
function timeConv(
  { weights, isClip }: Source,
  name: string,
  [to, from]: readonly [number, number],
  joins: boolean,
) {
  return isClip && joins ? causalConv(weights, `${name}.time_conv`, [to, from], [3, 1], true) : null;
}

/** Adds what a shortcut makes of frames to other frames, in place. */
type Shortcut = (frames: Frames, sums: Frames, carried: CarriedFrames | null) => void;

/** Blocks with a shortcut from the first to the last; `overwrites`: whether the blocks overwrite what they are given. */
export function pastBlocks(blocks: readonly ClipLayer[], add: Shortcut, overwrites: boolean): ClipLayer {
  return (frames, way) => {
    const before = overwrites ? frames.map(copy) : frames;
    const y = blocks.reduce((x, run) => run(x, way), frames);
    add(before, y, way.carried);
    return y;
  };
}

/** Frames of a pair; a clip's first frame is the second of its pair, which has no first. */
const groupOf = (joins: boolean): number => (joins ? 2 : 1);

/** Channels become frames and pixels, copies of them where there are too few. */
export function sharedOut(channels: number, joins: boolean): Shortcut {
  const of = groupOf(joins);
  return (frames, sums, carried) => {
    const given = carried?.continues ? 0 : of - 1;
    sums.forEach((into, i) => {
      const [from, index] = [Math.floor((i + given) / of), (i + given) % of];
      pixelShuffle(frames[from]!, { factor: 2, channels, time: { index, of }, into });
    });
  };
}

/** Frames and pixels become channels, means of them where there are too many; `joins` left out: the size stays. */
export function sharedIn(channels: number, joins?: boolean): Shortcut {
  const of = groupOf(joins === true);
  const factor = joins === undefined ? 1 : 2;
  return (frames, sums, carried) => {
    const given = carried?.continues ? 0 : of - 1;
    frames.forEach((frame, i) => {
      const [to, index] = [Math.floor((i + given) / of), (i + given) % of];
      pixelUnshuffle(frame, { factor, channels, time: { index, of }, into: sums[to]! });
    });
  };
}

export function midBlock(source: Source, name: string, channels: number): ClipLayer {
  const first = residual(source, `${name}.resnets.0`, channels, channels);
  const attention = selfAttention(source.weights, `${name}.attentions.0`, channels);
  const second = residual(source, `${name}.resnets.1`, channels, channels);
  return (frames, way) => second(first(frames, way).map(attention), way);
}

/** Attention of one head over all pixels of a frame. */
function selfAttention(weights: WeightTable, name: string, channels: number) {
  const weight = weights.vector(`${name}.norm.gamma`, channels);
  const qkv = weights.matrix(`${name}.to_qkv.weight`, 3 * channels, channels, { bias: true });
  const out = weights.matrix(`${name}.proj.weight`, channels, channels, { bias: true });
  return (x: Tensor): Tensor => {
    const y = linear(channelNorm(x, { weight }), qkv); //        [batch, height, width, 3 · channels]
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * channels }));
    return linearAdd(attend(q!, k!, v!, { heads: 1, dims: channels }), out, x);
  };
}
