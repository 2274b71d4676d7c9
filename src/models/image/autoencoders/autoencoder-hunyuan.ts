// AutoencoderKLHunyuanVideo15: residual blocks of causal 3-D convolutions, around whose frames pixels are repeated. Where the size changes, channels
// become frames and pixels, or these become channels. Each frame of latents after the first is several frames of the clip.

import type { Tensor } from '../../../gpu/tensor.ts';
import { pixelShuffle } from '../../../kernels/pixel-shuffle.ts';
import { pixelUnshuffle } from '../../../kernels/pixel-unshuffle.ts';
import type { WeightTable } from '../../weights.ts';
import { downsample, midBlock, upsample } from './autoencoder-hunyuan-blocks.ts';
import type { AutoencoderHunyuanConfig } from './autoencoder-hunyuan-config.ts';
import type { ChunkOptions } from './autoencoder-wan.ts';
import { clipConv, normedConv, residual, type Source } from './autoencoder-wan-blocks.ts';
import { convolveFrames } from './causal-frames.ts';
import { clipFrames, joinedFrames } from './clip-frames.ts';

const sourceOf = (weights: WeightTable): Source => ({ weights, isClip: true, repeats: true });

/** Latents [frames, height, width, latentChannels] → frames in −1 … 1, each of which is recorded when it is asked for. */
export function hunyuanDecoder(config: AutoencoderHunyuanConfig, weights: WeightTable) {
  const { latentChannels, channels, halves, layers, imageChannels } = config;
  const source = sourceOf(weights);
  const deepest = channels.at(-1)!;
  const convIn = clipConv(source, 'decoder.conv_in', deepest, latentChannels);
  const mid = midBlock(source, 'decoder.mid_block', deepest);
  const wide = channels.toReversed();
  const blocks = wide.flatMap((width, i) => {
    const name = `decoder.up_blocks.${i}`;
    const residuals = Array.from({ length: layers + 1 }, (_, j) =>
      residual(source, `${name}.resnets.${j}`, width, width),
    );
    const doubled = halves.at(-1 - i);
    if (!doubled) return residuals;
    const up = upsample(source, `${name}.upsamplers.0`, width, wide[i + 1]!, doubled === 'frames');
    return [...residuals, up];
  });
  const head = normedConv(source, 'decoder.norm_out', 'decoder.conv_out', channels[0]!, imageChannels);
  weights.ignore(/^encoder\./);

  return function* (
    latents: Tensor,
    { stripRows, carried = null }: ChunkOptions = {},
  ): Generator<Tensor, void, void> {
    const way = { stripRows, carried };
    const given = clipFrames(latents); //                           [1, height, width, latentChannels] each
    let x = convolveFrames(convIn, given, way);
    x.forEach((into, i) => pixelShuffle(given[i]!, { factor: 1, channels: deepest, into }));
    x = mid(x, way);
    for (const block of blocks) x = block(x, way);
    yield* head(x, way); //                    [1, factor · height, factor · width, imageChannels] each
  };
}

/**
 * Frames in −1 … 1, [frames, height, width, imageChannels], one alone or the first one and then as many as a latent stands for → means and
 * logarithms of variances side by side, [latents, height / factor, width / factor, 2 · latentChannels]
 */
export function hunyuanEncoder(config: AutoencoderHunyuanConfig, weights: WeightTable) {
  const { latentChannels, channels, halves, layers, imageChannels } = config;
  const source = sourceOf(weights);
  const deepest = channels.at(-1)!;
  const convIn = clipConv(source, 'encoder.conv_in', channels[0]!, imageChannels);
  const blocks = channels.flatMap((width, i) => {
    const name = `encoder.down_blocks.${i}`;
    const residuals = Array.from({ length: layers }, (_, j) =>
      residual(source, `${name}.resnets.${j}`, width, width),
    );
    const halved = halves[i];
    if (!halved) return residuals;
    const next = channels[i + 1]!;
    return [...residuals, downsample(source, `${name}.downsamplers.0`, width, next, halved === 'frames')];
  });
  const mid = midBlock(source, 'encoder.mid_block', deepest);
  const head = normedConv(source, 'encoder.norm_out', 'encoder.conv_out', deepest, 2 * latentChannels);
  weights.ignore(/^decoder\./);

  return (clip: Tensor, { stripRows, carried = null }: ChunkOptions = {}): Tensor => {
    const way = { stripRows, carried };
    let x = convolveFrames(convIn, clipFrames(clip), way); //       [1, height, width, channels₀] each
    for (const block of blocks) x = block(x, way);
    const deep = mid(x, way);
    const means = deep.map((frame) => pixelUnshuffle(frame, { factor: 1, channels: 2 * latentChannels }));
    return joinedFrames([...head(deep, way, means)]);
  };
}
