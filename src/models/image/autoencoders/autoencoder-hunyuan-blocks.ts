// Blocks of autoencoder-hunyuan.ts: changes of the size and of the number of frames, beside which channels are carried by means and copies, and
// attention of a frame's pixels to those of all frames up to it.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attend } from '../../../kernels/attend.ts';
import { channelNorm } from '../../../kernels/channel-norm.ts';
import { joinRows } from '../../../kernels/copy-rows.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { pixelShuffle, type Shuffle } from '../../../kernels/pixel-shuffle.ts';
import { pixelUnshuffle } from '../../../kernels/pixel-unshuffle.ts';
import { reshape } from '../../../kernels/reshape.ts';
import type { WeightTable } from '../../weights.ts';
import { projections } from '../projections.ts';
import { clipConv, residual, type ClipLayer, type Source } from './autoencoder-wan-blocks.ts';
import { convolveFrames } from './causal-frames.ts';

/** Doubles the sides of frames, and with `joins` the number of those after a clip's first. */
export function upsample(source: Source, name: string, from: number, to: number, joins: boolean): ClipLayer {
  const conv = clipConv(source, `${name}.conv`, (joins ? 8 : 4) * to, from);
  return (frames, { carried }) => {
    const wide = convolveFrames(conv, frames, { carried });
    const large = (i: number, time: Shuffle['time']): Tensor => {
      const shuffle = { factor: 2, channels: to, order: 'apart', ...(time && { time }) } as const;
      const y = pixelShuffle(wide[i]!, shuffle);
      return pixelShuffle(frames[i]!, { ...shuffle, into: y });
    };
    const isAlone = (i: number): boolean => !joins || (i === 0 && !carried?.continues);
    return frames.flatMap((_, i) =>
      isAlone(i) ? [large(i, undefined)] : [0, 1].map((index) => large(i, { index, of: 2 })),
    );
  };
}

/** Halves the sides of frames, and with `joins` the number of those after a clip's first, which come in pairs. */
export function downsample(
  source: Source,
  name: string,
  from: number,
  to: number,
  joins: boolean,
): ClipLayer {
  const conv = clipConv(source, `${name}.conv`, to / (joins ? 8 : 4), from);
  return (frames, { carried }) => {
    const narrow = convolveFrames(conv, frames, { carried });
    const small = (i: number, time?: Shuffle['time'], sum?: Tensor): Tensor =>
      [narrow[i]!, frames[i]!].reduce<Tensor | undefined>(
        (into, x) =>
          pixelUnshuffle(x, {
            ...{ factor: 2, channels: to, order: 'apart' },
            ...(time && { time }),
            ...(into && { into }),
          }),
        sum,
      )!;
    if (!joins) return frames.map((_, i) => small(i));
    const firsts = carried?.continues ? 0 : 1;
    const pairs = Array.from({ length: (frames.length - firsts) / 2 }, (_, pair) => {
      const i = firsts + 2 * pair;
      return small(i + 1, { index: 1, of: 2 }, small(i, { index: 0, of: 2 }));
    });
    return [...(firsts > 0 ? [small(0)] : []), ...pairs];
  };
}

export function midBlock(source: Source, name: string, channels: number): ClipLayer {
  const first = residual(source, `${name}.resnets.0`, channels, channels);
  const attention = selfAttention(source.weights, `${name}.attentions.0`, channels);
  const second = residual(source, `${name}.resnets.1`, channels, channels);
  return (frames, way) => second(attention(first(frames, way), way), way);
}

/** Attention of one head: the pixels of a frame attend to those of all frames up to it. */
function selfAttention(weights: WeightTable, name: string, channels: number): ClipLayer {
  const weight = weights.vector(`${name}.norm.gamma`, channels);
  const stored = { bias: true, stored: [channels, 1, 1, 1] };
  const layer = weights.requests.length;
  const query = weights.matrix(`${name}.to_q.weight`, channels, channels, stored);
  const toKeys = projections(weights, name, 'kv', [channels, channels], stored);
  const out = weights.matrix(`${name}.proj_out.weight`, channels, channels, stored);
  return (frames, { carried }) => {
    const before: Tensor[] = [];
    return frames.map((x) => {
      const [, height, width] = x.shape as [number, number, number];
      const normed = channelNorm(x, { weight });
      const own = linear(normed, toKeys); //                       [1, height, width, 2 · channels]
      const q = reshape(linear(normed, query), [1, height * width, channels]);
      before.push(own);
      const all = carried ? carried.all(layer, own) : joinRows(before, [1, before.length * height * width]);
      const [k, v] = [0, channels].map((first) => ({ x: all, first }));
      const y = attend({ x: q, first: 0 }, k!, v!, { heads: 1, dims: channels });
      return linearAdd(reshape(y, [1, height, width, channels]), out, x);
    });
  };
}
