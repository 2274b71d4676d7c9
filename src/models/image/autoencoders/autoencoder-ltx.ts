// AutoencoderKLLTXVideo, the autoencoder of LTX-Video: residual blocks of 3-D convolutions on patches of pixels, with RMSNorm over the channels.
// The encoder is causal; the decoder sees a frame to both sides, and later versions tell it how much noise is left. Layers pass frames on one by one.

import type { Tensor } from '../../../gpu/tensor.ts';
import {
  batchNorm,
  batchNormLogarithms,
  undoBatchNorm,
  type Statistics,
} from '../../../kernels/batch-norm.ts';
import { concat } from '../../../kernels/concat.ts';
import { joinRows, takeRows } from '../../../kernels/copy-rows.ts';
import { pixelShuffle } from '../../../kernels/pixel-shuffle.ts';
import { pixelUnshuffle } from '../../../kernels/pixel-unshuffle.ts';
import { resizeHeads } from '../../../kernels/resize-heads.ts';
import { scaleShift } from '../../../kernels/scale-shift.ts';
import type { WeightTable } from '../../weights.ts';
import type { AutoencoderLTXConfig } from './autoencoder-ltx-config.ts';
import {
  downLevel,
  modulation,
  normedProduct,
  plainProduct,
  residuals,
  timeEmbedding,
  upLevel,
  type Shared,
  type Way,
} from './autoencoder-ltx-blocks.ts';
import { convolveStream, eachFrame, framesOf, streamConv, type FrameStream } from './frame-streams.ts';
import type { Tiling } from './autoencoder-kl.ts';

interface Size {
  height: number;
  width: number;
}

/** The noise that is left in latents for the decoder to remove. */
export interface LeftNoise {
  /** The time step, 0 … 1, f32 [1, 1]. */
  time: Tensor;
  /** Noise in the latents' shape, and its share. */
  noise: Tensor;
  share: number;
}

/** `left`: null, or left out: none, at time 0. `injected`: noise of the sizes that ltxNoiseSizes lists; null, or left out: layers add none. */
export type LTXDecoding = Tiling & {
  left?: LeftNoise | null | undefined;
  injected?: readonly Tensor[] | null | undefined;
};

/** What the decoder multiplies time steps by. source: timestep_scale_multiplier of all published checkpoints */
const TIME_SCALE = 1000;

/**
 * Latents of the denoiser [frames, height, width, latentChannels] → 1 + framesPerLatent · (frames − 1) frames of a clip in −1 … 1, [1, factor ·
 * height, factor · width, imageChannels] each, which are recorded when they are asked for
 */
export function ltxDecoder(config: AutoencoderLTXConfig, weights: WeightTable) {
  const { latentChannels, imageChannels, patch, eps } = config;
  const { isCausal, isTimed, addsNoise, middle, ups } = config.decoder;
  let noises = 0;
  const shared: Shared = { weights, isCausal, isTimed, eps };
  const noisy: Shared = { ...shared, nextNoise: () => noises++ };
  const convIn = streamConv(weights, 'decoder.conv_in.conv', [middle.channels, latentChannels], { isCausal });
  const blocks = [
    residuals(addsNoise ? noisy : shared, 'decoder.mid_block', middle.channels, middle.layers),
    ...ups.flatMap((level, i) => upLevel(noisy, `decoder.up_blocks.${i}`, level)),
  ];
  const narrow = ups.at(-1)!.to;
  const embed = isTimed ? timeEmbedding(weights, 'decoder.', 2 * narrow) : null;
  const modulate = isTimed ? modulation(weights, 'decoder.', narrow, 1) : null;
  const convOut = streamConv(weights, 'decoder.conv_out.conv', [imageChannels * patch ** 2, narrow], {
    isCausal,
  });
  const statistics = readStatistics(weights, latentChannels);
  weights.ignore(/^(encoder\.|decoder\.timestep_scale_multiplier$)/);

  return (x: Tensor, { stripRows, left = null, injected = null }: LTXDecoding = {}): FrameStream => {
    const latents = withNoise(undoBatchNorm(x, statistics), left);
    const time = isTimed ? scaleShift(left?.time ?? zeroOf(latents), TIME_SCALE, 0) : null;
    const way: Way = { stripRows, time, injected };
    let frames: FrameStream = convolveStream(convIn, framesOf(latents), plainProduct);
    for (const block of blocks) frames = block(frames, way);
    const [norm = {}] = embed && modulate && time ? modulate(embed(time)) : [];
    frames = convolveStream(convOut, frames, normedProduct(norm, stripRows));
    return eachFrame(frames, (y) =>
      pixelShuffle(y, { factor: patch, channels: imageChannels, order: 'columns' }),
    );
  };
}

/** Sizes of the noise that layers of the decoder add for latents of a size, in the layers' order. */
export function ltxNoiseSizes({ decoder }: AutoencoderLTXConfig, latents: Size): Size[] {
  let factor = 1;
  const sizesOf = (layers: number): Size[] =>
    Array.from({ length: 2 * layers }, () => ({
      height: factor * latents.height,
      width: factor * latents.width,
    }));
  const sizes = decoder.addsNoise ? sizesOf(decoder.middle.layers) : [];
  for (const { doubles, layers, addsNoise } of decoder.ups) {
    if (doubles) factor *= 2;
    if (addsNoise) sizes.push(...sizesOf(layers));
  }
  return sizes;
}

/**
 * A clip in −1 … 1, [frames, height, width, imageChannels] → means and logarithms of variances of the denoiser's latents side by side,
 * [1 + (frames − 1) / framesPerLatent, height / factor, width / factor, 2 · latentChannels]
 */
export function ltxEncoder(config: AutoencoderLTXConfig, weights: WeightTable) {
  const { latentChannels, imageChannels, patch, eps } = config;
  const { isCausal, middle, downs } = config.encoder;
  const shared: Shared = { weights, isCausal, isTimed: false, eps };
  const inputs = imageChannels * patch ** 2;
  const convIn = streamConv(weights, 'encoder.conv_in.conv', [downs[0]!.from, inputs], { isCausal });
  const blocks = [
    ...downs.flatMap((level, i) => downLevel(shared, `encoder.down_blocks.${i}`, level)),
    residuals(shared, 'encoder.mid_block', middle.channels, middle.layers),
  ];
  const convOut = streamConv(weights, 'encoder.conv_out.conv', [latentChannels + 1, middle.channels], {
    isCausal,
  });
  const statistics = readStatistics(weights, latentChannels);
  weights.ignore(/^decoder\./);

  return (clip: Tensor, { stripRows }: Tiling = {}): Tensor => {
    const way: Way = { stripRows, time: null };
    const patches = eachFrame(framesOf(clip), (x) =>
      pixelUnshuffle(x, { factor: patch, channels: inputs, order: 'columns' }),
    );
    let frames: FrameStream = convolveStream(convIn, patches, plainProduct);
    for (const block of blocks) frames = block(frames, way);
    frames = convolveStream(convOut, frames, normedProduct({}, stripRows));
    const y = joined(frames); //                                  [frames, height, width, latentChannels + 1]
    // All channels share the logarithm of a variance, the last channel.
    const last = resizeHeads({ x: y, first: latentChannels }, { heads: 1, from: 1, to: 1 });
    const logarithms = pixelShuffle(last, { factor: 1, channels: latentChannels });
    return concat(batchNorm(y, statistics), batchNormLogarithms(logarithms, statistics));
  };
}

function readStatistics(weights: WeightTable, channels: number): Statistics {
  const [mean, variance] = ['latents_mean', 'latents_std'].map((name) => weights.vector(name, channels));
  return { mean: mean!, variance: variance!, eps: 0, areDeviations: true };
}

/** (1 − share) · latents + share · noise */
function withNoise(latents: Tensor, left: LeftNoise | null): Tensor {
  if (left === null || left.share === 0) return latents;
  const into = scaleShift(latents, 1 - left.share, 0);
  return pixelShuffle(scaleShift(left.noise, left.share, 0), { factor: 1, channels: into.columns, into });
}

/** The number 0, f32 [1, 1]. */
function zeroOf(x: Tensor): Tensor {
  return scaleShift(resizeHeads({ x: takeRows(x, 0, [1]), first: 0 }, { heads: 1, from: 1, to: 1 }), 0, 0);
}

function joined(stream: FrameStream): Tensor {
  const frames = [...stream];
  if (frames.length === 1) return frames[0]!;
  return joinRows(frames, [frames.length, ...(frames[0]!.shape.slice(1, -1) as number[])]);
}
