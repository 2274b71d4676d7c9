// AutoencoderDC, the deep compression autoencoder of Sana (DC-AE): residual blocks, at the smaller resolutions blocks of EfficientViT with
// linear attention, and shortcuts that carry channels past every change of the size.

import type { Tensor } from '../../../gpu/tensor.ts';
import { channelNorm, type ChannelNorm } from '../../../kernels/channel-norm.ts';
import { concat } from '../../../kernels/concat.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { depthwise } from '../../../kernels/depthwise.ts';
import { groupedLinear } from '../../../kernels/grouped-linear.ts';
import { linearAttend } from '../../../kernels/linear-attend.ts';
import { linear } from '../../../kernels/matmul.ts';
import { channelNormConv } from '../../../kernels/norm-conv.ts';
import { pixelShuffle } from '../../../kernels/pixel-shuffle.ts';
import { pixelUnshuffle } from '../../../kernels/pixel-unshuffle.ts';
import { affine } from '../../affine.ts';
import type { WeightTable } from '../../weights.ts';
import type { AutoencoderDCConfig, Level } from './autoencoder-dc-config.ts';
import type { Tiling } from './autoencoder-kl.ts';
import { gluConv } from '../glu-conv.ts';
import { projections } from '../projections.ts';

/** Blocks may change their input in place. */
type Block = (x: Tensor) => Tensor;

const EPS = 1e-5;
/** Added to the sum of a query's weights. */
const ATTENTION_EPS = 1e-15;
/** Channels behind the gate of a feed-forward part, in multiples of those before it. */
const WIDENING = 4;

/** Latents [batch, height, width, latentChannels] → images in −1 … 1, [batch, 2ⁿ · height, 2ⁿ · width, imageChannels] */
export function autoencoderDCDecoder(config: AutoencoderDCConfig, weights: WeightTable) {
  const { latentChannels, decoder, decoderShortcut, headActivation: activation } = config;
  const [deepest, first] = [decoder.at(-1)!.channels, decoder[0]!.channels];
  const convIn = weights.conv('decoder.conv_in.weight', deepest, latentChannels, 3);
  const blocks = decoder
    .flatMap((level, i) => {
      const name = `decoder.up_blocks.${i}`;
      const below = decoder[i + 1];
      const doubled = below ? [upsample(config, weights, `${name}.0`, below.channels, level.channels)] : [];
      const own = levelBlocks(config, weights, level, (j) => `${name}.${doubled.length + j}`);
      return [[...doubled, ...own]];
    })
    .toReversed()
    .flat();
  const norm = { ...affine(weights, 'decoder.norm_out', first), eps: EPS, activation };
  const convOut = weights.conv('decoder.conv_out.weight', config.imageChannels, first, 3);
  weights.ignore(/^encoder\./);

  return (latents: Tensor, { stripRows }: Tiling = {}): Tensor => {
    const residual = decoderShortcut ? pixelShuffle(latents, { factor: 1, channels: deepest }) : undefined;
    const x = conv2d(latents, convIn, { residual, inPlace: decoderShortcut }); // [batch, height, width, deepest]
    const image = blocks.reduce((y, run) => run(y), x); // [batch, 2ⁿ · height, 2ⁿ · width, first]
    return channelNormConv(image, norm, convOut, { stripRows });
  };
}

/** Images in −1 … 1, [batch, height, width, imageChannels] → latents [batch, height / 2ⁿ, width / 2ⁿ, latentChannels] */
export function autoencoderDCEncoder(config: AutoencoderDCConfig, weights: WeightTable) {
  const { latentChannels: channels, encoder, encoderShortcut } = config;
  const [first, deepest] = [encoder[0]!.channels, encoder.at(-1)!.channels];
  const convIn = weights.conv('encoder.conv_in.weight', first, config.imageChannels, 3);
  const blocks = encoder.flatMap((level, i) => {
    const name = `encoder.down_blocks.${i}`;
    const below = encoder[i + 1];
    const own = levelBlocks(config, weights, level, (j) => `${name}.${j}`);
    if (!below) return own;
    return [...own, downsample(config, weights, `${name}.${own.length}`, level.channels, below.channels)];
  });
  const convOut = weights.conv('encoder.conv_out.weight', channels, deepest, 3);
  weights.ignore(/^decoder\./);

  return (image: Tensor): Tensor => {
    const x = blocks.reduce((y, run) => run(y), conv2d(image, convIn)); // [batch, height / 2ⁿ, width / 2ⁿ, deepest]
    const residual = encoderShortcut ? pixelUnshuffle(x, { factor: 1, channels }) : undefined;
    return conv2d(x, convOut, { residual, inPlace: encoderShortcut });
  };
}

/** The blocks of a resolution; each is a segment of the tape. */
function levelBlocks(
  config: AutoencoderDCConfig,
  weights: WeightTable,
  level: Level,
  nameOf: (i: number) => string,
): Block[] {
  return Array.from({ length: level.layers }, (_, i) => {
    const { kernels } = level;
    const run =
      kernels === null
        ? residualBlock(weights, nameOf(i), level)
        : attentionBlock(config, weights, nameOf(i), level.channels, kernels);
    return (x) => {
      const y = run(x);
      y.tape!.cut();
      return y;
    };
  });
}

function residualBlock(weights: WeightTable, name: string, { channels, activation }: Level): Block {
  const conv1 = weights.conv(`${name}.conv1.weight`, channels, channels, 3);
  const conv2 = weights.conv(`${name}.conv2.weight`, channels, channels, 3, { bias: false });
  const norm = channelNormOf(weights, `${name}.norm`, channels);
  return (x) => channelNorm(conv2d(conv2d(x, conv1, { activation }), conv2), norm, x);
}

/** Attention and a feed-forward part; x [batch, height, width, channels], changed in place */
function attentionBlock(
  config: AutoencoderDCConfig,
  weights: WeightTable,
  name: string,
  channels: number,
  kernels: readonly number[],
): Block {
  const attention = multiscaleAttention(config, weights, `${name}.attn`, channels, kernels);
  const attentionNorm = channelNormOf(weights, `${name}.attn.norm_out`, channels);
  const feedForward = gluConv(weights, `${name}.conv_out`, channels, WIDENING * channels);
  const norm = channelNormOf(weights, `${name}.conv_out.norm`, channels);
  return (x) => {
    const y = channelNorm(attention(x), attentionNorm, x);
    return channelNorm(feedForward(y), norm, y);
  };
}

/**
 * Linear attention of pixels, and of what depthwise convolutions make of their queries, keys and values. Those of a head lie side by side,
 * whatever projection they come from.
 */
function multiscaleAttention(
  { dims }: AutoencoderDCConfig,
  weights: WeightTable,
  name: string,
  channels: number,
  kernels: readonly number[],
) {
  const heads = Math.floor(channels / dims);
  const inner = heads * dims;
  const qkv = projections(weights, name, 'qkv', [inner, channels], {});
  const scales = kernels.map((kernel, i) => {
    const around = weights.kernels(`${name}.to_qkv_multiscale.${i}.proj_in.weight`, 3 * inner, kernel);
    const mix = weights.table(`${name}.to_qkv_multiscale.${i}.proj_out.weight`, 3 * inner, dims);
    return (x: Tensor): Tensor => groupedLinear(depthwise(x, around), mix);
  });
  const out = weights.matrix(`${name}.to_out.weight`, channels, (1 + kernels.length) * inner);

  return (x: Tensor): Tensor => {
    const own = linear(x, qkv); //                                [batch, height, width, 3 · inner]
    const attended = [own, ...scales.map((scale) => scale(own))].map((y) => {
      const [q, k, v] = [0, 1, 2].map((part) => ({ x: y, first: part * dims }));
      return linearAttend(q!, k!, v!, { heads, dims, headStride: 3 * dims, eps: ATTENTION_EPS });
    });
    return linear(attended.reduce(concat), out);
  };
}

/** Doubles the size; x [batch, height, width, from] → [batch, 2 · height, 2 · width, channels] */
function upsample(
  { interpolates }: AutoencoderDCConfig,
  weights: WeightTable,
  name: string,
  from: number,
  channels: number,
): Block {
  const conv = weights.conv(`${name}.conv.weight`, interpolates ? channels : 4 * channels, from, 3);
  return (x) => {
    if (!interpolates) {
      const y = pixelShuffle(conv2d(x, conv), { factor: 2, channels });
      return pixelShuffle(x, { factor: 2, channels, into: y });
    }
    const residual = pixelShuffle(x, { factor: 2, channels });
    return conv2d(x, conv, { upsample: true, residual, inPlace: true });
  };
}

/** Halves the size; x [batch, 2 · height, 2 · width, from] → [batch, height, width, channels] */
function downsample(
  { unshuffles }: AutoencoderDCConfig,
  weights: WeightTable,
  name: string,
  from: number,
  channels: number,
): Block {
  const stride = unshuffles ? 1 : 2;
  const conv = weights.conv(`${name}.conv.weight`, unshuffles ? channels / 4 : channels, from, 3, { stride });
  return (x) => {
    const y = conv2d(x, conv, { stride });
    const into = unshuffles ? pixelUnshuffle(y, { factor: 2, channels }) : y;
    return pixelUnshuffle(x, { factor: 2, channels, into });
  };
}

function channelNormOf(weights: WeightTable, name: string, channels: number): ChannelNorm {
  return { ...affine(weights, name, channels), eps: EPS };
}
