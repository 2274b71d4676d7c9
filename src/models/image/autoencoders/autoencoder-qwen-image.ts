// AutoencoderKLQwenImage, the autoencoder of Wan's videos: residual blocks of causal 3-D convolutions with RMSNorm over the channels.
// An image is one frame, and the frames before it are padding: the last frame of each kernel acts alone, and the convolutions that
// join frames do not act at all.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attend } from '../../../kernels/attend.ts';
import { channelNorm } from '../../../kernels/channel-norm.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { channelNormConv } from '../../../kernels/norm-conv.ts';
import type { WeightTable } from '../../weights.ts';
import type { Tiling } from './autoencoder-kl.ts';
import type { AutoencoderQwenImageConfig } from './autoencoder-qwen-image-config.ts';

type Block = (x: Tensor, stripRows: number | undefined) => Tensor;

/** Latents [batch, height, width, latentChannels] → images in −1 … 1, [batch, 2ⁿ · height, 2ⁿ · width, imageChannels] */
export function qwenImageDecoder(config: AutoencoderQwenImageConfig, weights: WeightTable) {
  const { latentChannels, channels, layers } = config;
  const post = causal(weights, 'post_quant_conv', latentChannels, latentChannels, 1);
  const deepest = channels.at(-1)!;
  const convIn = causal(weights, 'decoder.conv_in', deepest, latentChannels, 3);
  const mid = midBlock(weights, 'decoder.mid_block', deepest);
  const wide = channels.toReversed();
  const blocks = wide.flatMap((to, i) => {
    const name = `decoder.up_blocks.${i}`;
    const from = i === 0 ? deepest : wide[i - 1]! / 2; // doubling the size halves the channels
    const residuals = Array.from({ length: layers + 1 }, (_, j) =>
      residual(weights, `${name}.resnets.${j}`, j === 0 ? from : to, to),
    );
    return i === wide.length - 1 ? residuals : [...residuals, upsample(weights, `${name}.upsamplers.0`, to)];
  });
  const head = normedConv(
    weights,
    'decoder.norm_out',
    'decoder.conv_out',
    channels[0]!,
    config.imageChannels,
  );
  weights.ignore(/^(encoder|quant_conv)\./);
  weights.ignore(/\.time_conv\./);

  return (latents: Tensor, { stripRows }: Tiling = {}): Tensor => {
    let x = conv2d(linear(latents, post), convIn); //            [batch, height, width, deepest]
    x = mid(x, stripRows);
    for (const block of blocks) x = block(x, stripRows);
    return head(x, stripRows);
  };
}

/**
 * Images in −1 … 1, [batch, height, width, imageChannels] → means and logarithms of variances side by side,
 * [batch, height / 2ⁿ, width / 2ⁿ, 2 · latentChannels]
 */
export function qwenImageEncoder(config: AutoencoderQwenImageConfig, weights: WeightTable) {
  const { latentChannels, channels, layers } = config;
  const deepest = channels.at(-1)!;
  const convIn = causal(weights, 'encoder.conv_in', channels[0]!, config.imageChannels, 3);
  let count = 0;
  const next = () => `encoder.down_blocks.${count++}`; // blocks of all resolutions are counted together
  const blocks = channels.flatMap((to, i) => {
    const from = channels[i - 1] ?? to;
    const residuals = Array.from({ length: layers }, (_, j) =>
      residual(weights, next(), j === 0 ? from : to, to),
    );
    return i === channels.length - 1 ? residuals : [...residuals, downsample(weights, next(), to)];
  });
  const mid = midBlock(weights, 'encoder.mid_block', deepest);
  const head = normedConv(weights, 'encoder.norm_out', 'encoder.conv_out', deepest, 2 * latentChannels);
  const quant = causal(weights, 'quant_conv', 2 * latentChannels, 2 * latentChannels, 1);
  weights.ignore(/^(decoder|post_quant_conv)\./);
  weights.ignore(/\.time_conv\./);

  return (image: Tensor, { stripRows }: Tiling = {}): Tensor => {
    let x = conv2d(image, convIn); //                            [batch, height, width, channels₀]
    for (const block of blocks) x = block(x, stripRows);
    return linear(head(mid(x, stripRows), stripRows), quant);
  };
}

function causal(weights: WeightTable, name: string, to: number, from: number, kernel: 1 | 3): Matrix {
  return weights.conv(`${name}.weight`, to, from, kernel, { frames: kernel });
}

/** RMSNorm over the channels, SiLU, a convolution of 3 × 3. */
function normedConv(weights: WeightTable, norm: string, conv: string, from: number, to: number) {
  const weight = weights.vector(`${norm}.gamma`, from);
  const matrix = causal(weights, conv, to, from, 3);
  return (x: Tensor, stripRows: number | undefined, options: { residual?: Tensor } = {}): Tensor =>
    channelNormConv(x, { weight, activation: 'silu' }, matrix, {
      ...options,
      inPlace: !!options.residual,
      stripRows,
    });
}

/** x [batch, height, width, from] → [batch, height, width, to]; a segment of the tape, in place where both are equal. */
function residual(weights: WeightTable, name: string, from: number, to: number): Block {
  const first = normedConv(weights, `${name}.norm1`, `${name}.conv1`, from, to);
  const second = normedConv(weights, `${name}.norm2`, `${name}.conv2`, to, to);
  const shortcut = from === to ? null : causal(weights, `${name}.conv_shortcut`, to, from, 1);
  return (x, stripRows) => {
    const y = first(x, stripRows);
    const z = second(y, stripRows, { residual: shortcut ? linear(x, shortcut) : x });
    z.tape!.cut();
    return z;
  };
}

function upsample(weights: WeightTable, name: string, channels: number): Block {
  const conv = weights.conv(`${name}.resample.1.weight`, channels / 2, channels, 3);
  return (x) => conv2d(x, conv, { upsample: true });
}

/** The image is padded to the right and below. */
function downsample(weights: WeightTable, name: string, channels: number): Block {
  const conv = weights.conv(`${name}.resample.1.weight`, channels, channels, 3, { stride: 2 });
  return (x) => conv2d(x, conv, { stride: 2, padding: 'after' });
}

function midBlock(weights: WeightTable, name: string, channels: number): Block {
  const first = residual(weights, `${name}.resnets.0`, channels, channels);
  const attention = selfAttention(weights, `${name}.attentions.0`, channels);
  const second = residual(weights, `${name}.resnets.1`, channels, channels);
  return (x, stripRows) => second(attention(first(x, stripRows)), stripRows);
}

/** Attention of one head over all pixels. */
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
