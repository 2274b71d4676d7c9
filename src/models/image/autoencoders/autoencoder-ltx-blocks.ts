// Blocks of autoencoder-ltx.ts on streams of frames: residual blocks, which the time step may modulate, and changes of the size and of the number of
// frames.

import type { Tensor } from '../../../gpu/tensor.ts';
import { addTable } from '../../../kernels/add-table.ts';
import type { ChannelNorm } from '../../../kernels/channel-norm.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear } from '../../../kernels/matmul.ts';
import { channelNormConv } from '../../../kernels/norm-conv.ts';
import { pixelShuffle } from '../../../kernels/pixel-shuffle.ts';
import { pixelUnshuffle } from '../../../kernels/pixel-unshuffle.ts';
import { resizeHeads } from '../../../kernels/resize-heads.ts';
import { scaleShift } from '../../../kernels/scale-shift.ts';
import { affine } from '../../affine.ts';
import { numberEmbedding } from '../number-embedding.ts';
import type { WeightTable } from '../../weights.ts';
import type { DownLevel, UpLevel } from './autoencoder-ltx-config.ts';
import {
  convolveStream,
  queued,
  streamConv,
  withFirstTwice,
  type FrameStream,
  type Product,
  type StreamConv,
} from './frame-streams.ts';

export interface Way {
  stripRows?: number | undefined;
  /** The time step of the noise that is left, f32 [1, 1], of 1000; null: the page knows none. */
  time: Tensor | null;
  /** Noise that layers add, [1, height, width, 1] each, in their order; null, or left out: none is added. */
  injected?: readonly Tensor[] | null;
}

export type FrameLayer = (frames: FrameStream, way: Way) => FrameStream;

/** What all blocks of an encoder or a decoder share. */
export interface Shared {
  weights: WeightTable;
  isCausal: boolean;
  /** Whether the time step modulates norms. */
  isTimed: boolean;
  /** Added to the variance in norms before shortcuts. */
  eps: number;
  /** Returns the place of a layer's noise among that of all layers; left out: no layer adds noise. */
  nextNoise?(): number;
}

/** Added to the mean of the squares. */
const EPS = 1e-8;
/** Norms of a residual block that the time step modulates. */
const NORMS = 2;

export const plainProduct: Product = (frame, tap, sum, own) =>
  conv2d(frame, tap, sum ? { residual: sum, inPlace: own } : {});

/** Records RMSNorm over the channels, SiLU and a tap of a convolution. */
export const normedProduct =
  (norm: Pick<ChannelNorm, 'weight' | 'bias'>, stripRows: number | undefined): Product =>
  (frame, tap, sum, own) =>
    channelNormConv(frame, { ...norm, eps: EPS, activation: 'silu' }, tap, {
      ...(sum && { residual: sum, inPlace: own }),
      stripRows,
    });

/** The modulation of `norms` norms: an embedding of the time step, [1, 2 · norms · channels], and a table, of which each has a shift and a scale. */
export function modulation(weights: WeightTable, name: string, channels: number, norms: number) {
  const table = weights.table(`${name}scale_shift_table`, 2 * norms, channels);
  return (embedded: Tensor): { weight: Tensor; bias: Tensor }[] => {
    const m = addTable(embedded, table);
    const part = (i: number): Tensor =>
      resizeHeads({ x: m, first: i * channels }, { heads: 1, from: channels, to: channels });
    return Array.from({ length: norms }, (_, i) => ({
      weight: scaleShift(part(2 * i + 1), 1, 1),
      bias: part(2 * i),
    }));
  };
}

export const timeEmbedding = (weights: WeightTable, name: string, columns: number) =>
  numberEmbedding(weights, `${name}time_embedder.timestep_embedder`, columns);

type Residual = (frames: FrameStream, way: Omit<Way, 'time'>, embedded: Tensor | null) => FrameStream;

/** Noise of a convolution's results, the same in all frames, by a scale of each channel; null: its layer adds none. */
function addedNoise({ weights, nextNoise }: Shared, name: string, channels: number) {
  if (!nextNoise) return null;
  const at = nextNoise();
  const scale = weights.matrix(name, channels, 1, { stored: [1, 1] });
  return (injected: readonly Tensor[]): Tensor => linear(injected[at]!, scale);
}

function residual(shared: Shared, name: string, from: number, to: number): Residual {
  const { weights, isCausal, isTimed, eps } = shared;
  const first = streamConv(weights, `${name}.conv1.conv`, [to, from], { isCausal });
  const second = streamConv(weights, `${name}.conv2.conv`, [to, to], { isCausal });
  const modulate = isTimed ? modulation(weights, `${name}.`, from, NORMS) : null;
  const norm = from === to ? null : affine(weights, `${name}.norm3`, from);
  const widen = norm && weights.convOverTime(`${name}.conv_shortcut.conv.weight`, to, from, [1, 1])[0]!;
  const [noise, lastNoise] = [1, 2].map((i) => addedNoise(shared, `${name}.per_channel_scale${i}`, to));
  return function* (frames, { stripRows, injected }, embedded) {
    const [one = {}, two = {}] = modulate && embedded ? modulate(embedded) : [];
    const inputs: Tensor[] = [];
    const added = noise && injected ? () => noise(injected) : undefined;
    const y = convolveStream(first, queued(frames, inputs), normedProduct(one, stripRows), added);
    const shortcut = (): Tensor => {
      const x = inputs.shift()!;
      const own = norm && widen ? linear(layernorm(x, norm, eps), widen) : x;
      if (!lastNoise || !injected) return own;
      return pixelShuffle(own, { factor: 1, channels: to, into: lastNoise(injected) });
    };
    yield* convolveStream(second, y, normedProduct(two, stripRows), shortcut);
  };
}

/** Residual blocks of one width; a segment of the tape for each frame. */
export function residuals(shared: Shared, name: string, channels: number, layers: number): FrameLayer {
  const blocks = Array.from({ length: layers }, (_, i) =>
    residual(shared, `${name}.resnets.${i}`, channels, channels),
  );
  const embed = shared.isTimed ? timeEmbedding(shared.weights, `${name}.`, 2 * NORMS * channels) : null;
  return function* (frames, { time, ...way }) {
    const embedded = embed && time ? embed(time) : null;
    for (const y of blocks.reduce((x, run) => run(x, way, embedded), frames)) {
      y.tape!.cut();
      yield y;
    }
  };
}

/** Residual blocks of the encoder at one resolution, and the way to the next. */
export function downLevel(shared: Shared, name: string, { from, to, layers, down }: DownLevel): FrameLayer[] {
  const own = residuals(shared, name, from, layers);
  if (down !== null && down !== 'convolved') return [own, moved(shared, name, from, to, down)];
  const conv =
    down &&
    streamConv(shared.weights, `${name}.downsamplers.0.conv`, [from, from], {
      isCausal: shared.isCausal,
      step: 2,
    });
  const widen = from === to ? null : residual(shared, `${name}.conv_out`, from, to);
  const product: Product = (frame, tap, sum, own) =>
    conv2d(frame, tap, { stride: 2, ...(sum && { residual: sum, inPlace: own }) });
  return [
    own,
    ...(conv ? [(frames: FrameStream) => convolveStream(conv, frames, product)] : []),
    ...(widen ? [(frames: FrameStream, way: Way) => widen(frames, way, null)] : []),
  ];
}

/** A convolution whose frames and pixels become channels, beside those of its input, of which means are taken. */
function moved(
  { weights, isCausal }: Shared,
  name: string,
  from: number,
  to: number,
  { frames: of, side }: { frames: 1 | 2; side: 1 | 2 },
): FrameLayer {
  const conv = streamConv(weights, `${name}.downsamplers.0.conv.conv`, [to / (of * side ** 2), from], {
    isCausal,
  });
  return function* (frames) {
    const inputs: Tensor[] = [];
    const given = of === 2 ? withFirstTwice(frames) : frames;
    let index = 0;
    let into: Tensor | undefined;
    for (const y of convolveStream(conv, queued(given, inputs), plainProduct)) {
      for (const x of [y, inputs.shift()!])
        into = pixelUnshuffle(x, { factor: side, channels: to, time: { index, of }, ...(into && { into }) });
      index = (index + 1) % of;
      if (index > 0) continue;
      yield into!;
      into = undefined;
    }
  };
}

/** The way of the decoder to a resolution, and residual blocks there. */
export function upLevel({ nextNoise, ...others }: Shared, name: string, level: UpLevel): FrameLayer[] {
  const { from, to, layers, doubles, addsNoise } = level;
  const shared = { ...others, ...(addsNoise && nextNoise && { nextNoise }) };
  const widen = from === to ? null : residual({ ...shared, isTimed: false }, `${name}.conv_in`, from, to);
  const double = doubles ? doubled(shared, `${name}.upsamplers.0`, level) : null;
  return [
    ...(widen ? [(frames: FrameStream, way: Way) => widen(frames, way, null)] : []),
    ...(double ? [double] : []),
    residuals(shared, name, to, layers),
  ];
}

/** A convolution whose channels become frames and pixels, to twice as many of both; the first frame becomes one. */
function doubled(
  { weights, isCausal }: Shared,
  name: string,
  { to, narrowing, hasShortcut }: UpLevel,
): FrameLayer {
  const wide = to * narrowing;
  const conv: StreamConv = streamConv(weights, `${name}.conv.conv`, [8 * to, wide], { isCausal });
  return function* (frames) {
    const inputs: Tensor[] = [];
    let index = 1;
    for (const y of convolveStream(conv, queued(frames, inputs), plainProduct)) {
      const x = inputs.shift()!;
      for (; index < 2; index++) {
        const shuffle = { factor: 2, channels: to, time: { index, of: 2 } } as const;
        const into = pixelShuffle(y, shuffle);
        yield hasShortcut ? pixelShuffle(x, { ...shuffle, into, tiled: true }) : into;
      }
      index = 0;
    }
  };
}
