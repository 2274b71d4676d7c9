// AutoencoderKLWan, the autoencoder of Wan's videos, and AutoencoderKLQwenImage, the same for images: residual blocks of causal 3-D
// convolutions with RMSNorm over the channels. An image is a clip of one frame, and the frames before it are padding: it needs the last frame
// of each kernel alone, and no convolution that joins frames. Each frame of a clip after the first is several frames of the video.

import type { Tensor } from '../../../gpu/tensor.ts';
import { linear } from '../../../kernels/matmul.ts';
import { pixelShuffle } from '../../../kernels/pixel-shuffle.ts';
import { pixelUnshuffle } from '../../../kernels/pixel-unshuffle.ts';
import type { WeightTable } from '../../weights.ts';
import type { Tiling } from './autoencoder-kl.ts';
import type { AutoencoderWanConfig } from './autoencoder-wan-config.ts';
import {
  downsample,
  midBlock,
  normedConv,
  pastBlocks,
  pointwise,
  residual,
  sharedIn,
  sharedOut,
  upsample,
} from './autoencoder-wan-blocks.ts';
import { causalConv, convolveFrames, type CarriedFrames } from './causal-frames.ts';
import { clipFrames, joinedFrames } from './clip-frames.ts';

/** How a chunk of a clip is computed; `carried`: what it shares with the chunks before it; left out: the chunk is the whole clip. */
export type ChunkOptions = Tiling & { carried?: CarriedFrames | null | undefined };

/**
 * Latents [batch, height, width, latentChannels] → images in −1 … 1, [batch, patch · 2ⁿ · height, patch · 2ⁿ · width, imageChannels]. With
 * `isClip` the first extent counts the frames of a clip instead, and results are more frames, each of which is recorded when it is asked for.
 */
export function wanDecoder(config: AutoencoderWanConfig, weights: WeightTable, { isClip = false } = {}) {
  const { latentChannels, decoderChannels, layers, hasShortcuts, imageChannels, patch } = config;
  const source = { weights, isClip };
  const post = pointwise(weights, 'post_quant_conv', latentChannels, latentChannels);
  const deepest = decoderChannels.at(-1)!;
  const convIn = causalConv(weights, 'decoder.conv_in', [deepest, latentChannels], [3, 3], isClip);
  const mid = midBlock(source, 'decoder.mid_block', deepest);
  const wide = decoderChannels.toReversed();
  const blocks = wide.flatMap((to, i) => {
    const name = `decoder.up_blocks.${i}`;
    const before = wide[i - 1] ?? deepest;
    const from = i === 0 || hasShortcuts ? before : before / 2; // else doubling the size has halved the channels
    const residuals = Array.from({ length: layers + 1 }, (_, j) =>
      residual(source, `${name}.resnets.${j}`, j === 0 ? from : to, to),
    );
    const joins = config.joinsFrames.at(-1 - i);
    if (joins === undefined) return residuals;
    if (!hasShortcuts) return [...residuals, upsample(source, `${name}.upsamplers.0`, to, to / 2, joins)];
    const up = upsample(source, `${name}.upsampler`, to, to, joins);
    return [pastBlocks([...residuals, up], sharedOut(to, joins), from === to)];
  });
  const out = imageChannels * patch ** 2;
  const head = normedConv(source, 'decoder.norm_out', 'decoder.conv_out', decoderChannels[0]!, out);
  weights.ignore(/^(encoder|quant_conv)\./);
  if (!isClip) weights.ignore(/\.time_conv\./);

  return function* (
    latents: Tensor,
    { stripRows, carried = null }: ChunkOptions = {},
  ): Generator<Tensor, void, void> {
    const way = { stripRows, carried };
    const given = linear(latents, post);
    let x = isClip ? clipFrames(given) : [given]; //          [batch, height, width, latentChannels] each
    x = convolveFrames(convIn, x, way);
    x = mid(x, way);
    for (const block of blocks) x = block(x, way);
    for (const y of head(x, way))
      //                             [batch, 2ⁿ · height, 2ⁿ · width, out]
      yield patch === 1 ? y : pixelShuffle(y, { factor: patch, channels: imageChannels, order: 'columns' });
  };
}

/**
 * Images in −1 … 1, [batch, height, width, imageChannels] → means and logarithms of variances side by side,
 * [batch, height / patch / 2ⁿ, width / patch / 2ⁿ, 2 · latentChannels]. With `isClip` the first extent counts the frames of a clip: one alone,
 * or several with the first one, then as many as a latent stands for.
 */
export function wanEncoder(config: AutoencoderWanConfig, weights: WeightTable, { isClip = false } = {}) {
  const { latentChannels, channels, layers, hasShortcuts, imageChannels, patch } = config;
  const source = { weights, isClip };
  const deepest = channels.at(-1)!;
  const inputs = imageChannels * patch ** 2;
  const convIn = causalConv(weights, 'encoder.conv_in', [channels[0]!, inputs], [3, 3], isClip);
  let count = 0;
  const next = () => `encoder.down_blocks.${count++}`; // without shortcuts blocks of all resolutions are counted together
  const blocks = channels.flatMap((to, i) => {
    const from = channels[i - 1] ?? to;
    const level = `encoder.down_blocks.${i}`;
    const residuals = Array.from({ length: layers }, (_, j) =>
      residual(source, hasShortcuts ? `${level}.resnets.${j}` : next(), j === 0 ? from : to, to),
    );
    const joins = config.joinsFrames[i];
    if (!hasShortcuts)
      return joins === undefined ? residuals : [...residuals, downsample(source, next(), to, joins)];
    const all =
      joins === undefined ? residuals : [...residuals, downsample(source, `${level}.downsampler`, to, joins)];
    return [pastBlocks(all, sharedIn(to, joins), from === to)];
  });
  const mid = midBlock(source, 'encoder.mid_block', deepest);
  const head = normedConv(source, 'encoder.norm_out', 'encoder.conv_out', deepest, 2 * latentChannels);
  const quant = pointwise(weights, 'quant_conv', 2 * latentChannels, 2 * latentChannels);
  weights.ignore(/^(decoder|post_quant_conv)\./);
  if (!isClip) weights.ignore(/\.time_conv\./);

  return (image: Tensor, { stripRows, carried = null }: ChunkOptions = {}): Tensor => {
    const way = { stripRows, carried };
    const patches =
      patch === 1 ? image : pixelUnshuffle(image, { factor: patch, channels: inputs, order: 'columns' });
    let x = convolveFrames(convIn, isClip ? clipFrames(patches) : [patches], way); // [batch, height, width, channels₀] each
    for (const block of blocks) x = block(x, way);
    return linear(joinedFrames([...head(mid(x, way), way)]), quant);
  };
}
