// AutoencoderKLQwenImage, the autoencoder of Wan's videos: residual blocks of causal 3-D convolutions with RMSNorm over the channels.
// An image is a clip of one frame, and the frames before it are padding: it needs the last frame of each kernel alone, and no
// convolution that joins frames. Each frame of a clip after the first is `2 ** doublings` frames of the video.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attend } from '../../../kernels/attend.ts';
import { channelNorm } from '../../../kernels/channel-norm.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { joinRows, takeRows } from '../../../kernels/copy-rows.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { channelNormConv } from '../../../kernels/norm-conv.ts';
import { resizeHeads } from '../../../kernels/resize-heads.ts';
import type { WeightTable } from '../../weights.ts';
import type { Tiling } from './autoencoder-kl.ts';
import type { AutoencoderQwenImageConfig } from './autoencoder-qwen-image-config.ts';
import { causalConv, convolveFrames, type CarriedFrames, type Frames } from './causal-frames.ts';

interface Way {
  stripRows?: number | undefined;
  carried: CarriedFrames | null;
}

type Block = (frames: Frames, way: Way) => Frames;

/** Where a page reads its weights, and whether it takes clips: their convolutions read the frames before a frame, too. */
interface Source {
  weights: WeightTable;
  isClip: boolean;
}

/** How a chunk of a clip is computed; `carried`: what it shares with the chunks before it; left out: the chunk is the whole clip. */
export type ChunkOptions = Tiling & { carried?: CarriedFrames | null | undefined };

/**
 * Latents [batch, height, width, latentChannels] → images in −1 … 1, [batch, 2ⁿ · height, 2ⁿ · width, imageChannels]. With `isClip` the first
 * extent counts the frames of a clip instead, of which the result has more.
 */
export function qwenImageDecoder(
  config: AutoencoderQwenImageConfig,
  weights: WeightTable,
  { isClip = false } = {},
) {
  const { latentChannels, channels, layers } = config;
  const source = { weights, isClip };
  const post = pointwise(weights, 'post_quant_conv', latentChannels, latentChannels);
  const deepest = channels.at(-1)!;
  const convIn = causalConv(weights, 'decoder.conv_in', [deepest, latentChannels], [3, 3], isClip);
  const mid = midBlock(source, 'decoder.mid_block', deepest);
  const wide = channels.toReversed();
  const blocks = wide.flatMap((to, i) => {
    const name = `decoder.up_blocks.${i}`;
    const from = i === 0 ? deepest : wide[i - 1]! / 2; // doubling the size halves the channels
    const residuals = Array.from({ length: layers + 1 }, (_, j) =>
      residual(source, `${name}.resnets.${j}`, j === 0 ? from : to, to),
    );
    return i === wide.length - 1 ? residuals : [...residuals, upsample(source, `${name}.upsamplers.0`, to)];
  });
  const head = normedConv(source, 'decoder.norm_out', 'decoder.conv_out', channels[0]!, config.imageChannels);
  weights.ignore(/^(encoder|quant_conv)\./);
  if (!isClip) weights.ignore(/\.time_conv\./);

  return (latents: Tensor, { stripRows, carried = null }: ChunkOptions = {}): Tensor => {
    const way = { stripRows, carried };
    let x = framesOf(source, linear(latents, post)); //          [batch, height, width, latentChannels] each
    x = convolveFrames(convIn, x, way);
    x = mid(x, way);
    for (const block of blocks) x = block(x, way);
    return joined(head(x, way));
  };
}

/**
 * Images in −1 … 1, [batch, height, width, imageChannels] → means and logarithms of variances side by side,
 * [batch, height / 2ⁿ, width / 2ⁿ, 2 · latentChannels]. With `isClip` the first extent counts the frames of a clip: one alone, or several
 * with the first one, then as many as a latent stands for.
 */
export function qwenImageEncoder(
  config: AutoencoderQwenImageConfig,
  weights: WeightTable,
  { isClip = false } = {},
) {
  const { latentChannels, channels, layers } = config;
  const source = { weights, isClip };
  const deepest = channels.at(-1)!;
  const convIn = causalConv(weights, 'encoder.conv_in', [channels[0]!, config.imageChannels], [3, 3], isClip);
  let count = 0;
  const next = () => `encoder.down_blocks.${count++}`; // blocks of all resolutions are counted together
  const blocks = channels.flatMap((to, i) => {
    const from = channels[i - 1] ?? to;
    const residuals = Array.from({ length: layers }, (_, j) =>
      residual(source, next(), j === 0 ? from : to, to),
    );
    return i === channels.length - 1 ? residuals : [...residuals, downsample(source, next(), to)];
  });
  const mid = midBlock(source, 'encoder.mid_block', deepest);
  const head = normedConv(source, 'encoder.norm_out', 'encoder.conv_out', deepest, 2 * latentChannels);
  const quant = pointwise(weights, 'quant_conv', 2 * latentChannels, 2 * latentChannels);
  weights.ignore(/^(decoder|post_quant_conv)\./);
  if (!isClip) weights.ignore(/\.time_conv\./);

  return (image: Tensor, { stripRows, carried = null }: ChunkOptions = {}): Tensor => {
    const way = { stripRows, carried };
    let x = convolveFrames(convIn, framesOf(source, image), way); // [batch, height, width, channels₀] each
    for (const block of blocks) x = block(x, way);
    return linear(joined(head(mid(x, way), way)), quant);
  };
}

/** A convolution of one tap. */
function pointwise(weights: WeightTable, name: string, to: number, from: number): Matrix {
  return weights.convOverTime(`${name}.weight`, to, from, [1, 1])[0]!;
}

/** The frames of a clip; images are computed together. */
function framesOf({ isClip }: Source, x: Tensor): Frames {
  const [count, ...shape] = x.shape as number[];
  if (!isClip || count === 1) return [x];
  const [height, width] = shape as [number, number];
  return Array.from({ length: count! }, (_, i) => takeRows(x, i * height * width, [1, height, width]));
}

function joined(frames: Frames): Tensor {
  if (frames.length === 1) return frames[0]!;
  return joinRows(frames, [frames.length, ...(frames[0]!.shape.slice(1, -1) as number[])]);
}

/** RMSNorm over the channels, SiLU, a convolution of 3 × 3 × 3. */
function normedConv({ weights, isClip }: Source, norm: string, conv: string, from: number, to: number) {
  const weight = weights.vector(`${norm}.gamma`, from);
  const causal = causalConv(weights, conv, [to, from], [3, 3], isClip);
  return (frames: Frames, { stripRows, carried }: Way, sums?: Frames): Frames =>
    convolveFrames(causal, frames, {
      carried,
      ...(sums && { sums }),
      product: (frame, tap, sum) =>
        channelNormConv(frame, { weight, activation: 'silu' }, tap, {
          residual: sum,
          inPlace: !!sum,
          stripRows,
        }),
    });
}

/** x [batch, height, width, from] → [batch, height, width, to] of each frame; a segment of the tape, in place where both are equal. */
function residual(source: Source, name: string, from: number, to: number): Block {
  const first = normedConv(source, `${name}.norm1`, `${name}.conv1`, from, to);
  const second = normedConv(source, `${name}.norm2`, `${name}.conv2`, to, to);
  const shortcut = from === to ? null : pointwise(source.weights, `${name}.conv_shortcut`, to, from);
  return (frames, way) => {
    const y = first(frames, way);
    const z = second(y, way, shortcut ? frames.map((frame) => linear(frame, shortcut)) : frames);
    z[0]!.tape!.cut();
    return z;
  };
}

/** Doubles the sides of frames, and where the checkpoint says so the number of those after a clip's first. */
function upsample({ weights, isClip }: Source, name: string, channels: number): Block {
  const conv = weights.conv(`${name}.resample.1.weight`, channels / 2, channels, 3);
  const overTime = timeConv({ weights, isClip }, name, 2 * channels, channels);
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

/** Halves the sides of frames, and where the checkpoint says so the number of those after a clip's first. Frames are padded to the right and below. */
function downsample({ weights, isClip }: Source, name: string, channels: number): Block {
  const conv = weights.conv(`${name}.resample.1.weight`, channels, channels, 3, { stride: 2 });
  const overTime = timeConv({ weights, isClip }, name, channels, channels);
  return (frames, { carried }) => {
    const halved = frames.map((frame) => conv2d(frame, conv, { stride: 2, padding: 'after' }));
    if (!overTime) return halved;
    const firsts = carried?.continues ? 0 : 1;
    const wants = (i: number): boolean => i >= firsts && (i - firsts) % 2 === 1;
    return [...halved.slice(0, firsts), ...convolveFrames(overTime, halved, { carried, wants })];
  };
}

/** The convolution that joins or divides frames; null: the page takes images, or the checkpoint has none at this place. */
function timeConv({ weights, isClip }: Source, name: string, to: number, from: number) {
  const has = isClip && weights.has(`${name}.time_conv.weight`);
  return has ? causalConv(weights, `${name}.time_conv`, [to, from], [3, 1], true) : null;
}

function midBlock(source: Source, name: string, channels: number): Block {
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
