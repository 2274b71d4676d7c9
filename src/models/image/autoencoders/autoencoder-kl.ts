// AutoencoderKL: images to latents of an eighth of their size and back, by residual blocks with one attention at the
// smallest resolution.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attend } from '../../../kernels/attend.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { groupnorm } from '../../../kernels/groupnorm.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { normConv } from '../../../kernels/norm-conv.ts';
import { affine } from '../../affine.ts';
import type { AutoencoderKLConfig } from './autoencoder-kl-config.ts';
import { resnet } from '../resnet.ts';
import type { WeightTable } from '../../weights.ts';

const EPS = 1e-6;

/** Option to compute an image in strips, which gives equal results and takes less memory. */
export interface Tiling {
  /** Rows of pixels whose normalized values exist at a time; left out: as many as a binding allows. */
  stripRows?: number | undefined;
}

type Block = (x: Tensor, stripRows: number | undefined) => Tensor;

/** Latents [batch, height, width, latentChannels] → images in −1 … 1, [batch, 2ⁿ · height, 2ⁿ · width, outChannels] */
export function autoencoderKLDecoder(config: AutoencoderKLConfig, weights: WeightTable) {
  const { latentChannels, groups } = config;
  const channels = config.decoderChannels ?? config.channels;
  const post = config.postQuant
    ? weights.conv('post_quant_conv.weight', latentChannels, latentChannels, 1)
    : null;
  const deepest = channels.at(-1)!;
  const convIn = weights.conv('decoder.conv_in.weight', deepest, latentChannels, 3);
  const mid = midBlock(config, weights, 'decoder.mid_block', deepest);
  const wide = channels.toReversed();
  const blocks = wide.map((to, i) => {
    const resample = i < wide.length - 1 ? DOUBLE : null;
    const level = { layers: config.layers + 1, from: wide[i - 1] ?? deepest, to, resample };
    return levelBlock(config, weights, `decoder.up_blocks.${i}`, level);
  });
  const normOut = affine(weights, 'decoder.conv_norm_out', channels[0]!);
  const convOut = weights.conv('decoder.conv_out.weight', config.outChannels, channels[0]!, 3);
  weights.ignore(/^(encoder|quant_conv)\./);

  return (latents: Tensor, { stripRows }: Tiling = {}): Tensor => {
    let x = conv2d(post ? linear(latents, post) : latents, convIn); // [batch, height, width, deepest]
    x = mid(x, stripRows);
    for (const block of blocks) x = block(x, stripRows);
    return normConv(x, normOut, convOut, { groups, eps: EPS, silu: true, stripRows });
  };
}

/**
 * Images in −1 … 1, [batch, height, width, inChannels] → means and logarithms of variances side by side,
 * [batch, height / 2ⁿ, width / 2ⁿ, 2 · latentChannels]
 */
export function autoencoderKLEncoder(config: AutoencoderKLConfig, weights: WeightTable) {
  const { latentChannels, channels, groups } = config;
  const deepest = channels.at(-1)!;
  const convIn = weights.conv('encoder.conv_in.weight', channels[0]!, config.inChannels, 3);
  const blocks = channels.map((to, i) => {
    const resample = i < channels.length - 1 ? HALVE : null;
    const level = { layers: config.layers, from: channels[i - 1] ?? to, to, resample };
    return levelBlock(config, weights, `encoder.down_blocks.${i}`, level);
  });
  const mid = midBlock(config, weights, 'encoder.mid_block', deepest);
  const normOut = affine(weights, 'encoder.conv_norm_out', deepest);
  const convOut = weights.conv('encoder.conv_out.weight', 2 * latentChannels, deepest, 3);
  const quant = config.quant
    ? weights.conv('quant_conv.weight', 2 * latentChannels, 2 * latentChannels, 1)
    : null;
  weights.ignore(/^(decoder|post_quant_conv)\./);

  return (image: Tensor, { stripRows }: Tiling = {}): Tensor => {
    let x = conv2d(image, convIn); //                            [batch, height, width, channels₀]
    for (const block of blocks) x = block(x, stripRows);
    x = mid(x, stripRows);
    const moments = normConv(x, normOut, convOut, { groups, eps: EPS, silu: true, stripRows });
    return quant ? linear(moments, quant) : moments;
  };
}

interface Level {
  layers: number;
  from: number;
  to: number;
  /** Resampling after the blocks of a level. */
  resample: typeof HALVE | typeof DOUBLE | null;
}

/** The image is padded to the right and below. */
const HALVE = { name: 'downsamplers', stride: 2, options: { stride: 2, padding: 'after' } } as const;
const DOUBLE = { name: 'upsamplers', stride: 1, options: { upsample: true } } as const;

/** Residual blocks at one resolution. */
function levelBlock(config: AutoencoderKLConfig, weights: WeightTable, name: string, level: Level): Block {
  const { layers, from, to, resample } = level;
  const blocks = Array.from({ length: layers }, (_, i) =>
    residual(config, weights, `${name}.resnets.${i}`, i === 0 ? from : to, to),
  );
  const conv =
    resample &&
    weights.conv(`${name}.${resample.name}.0.conv.weight`, to, to, 3, { stride: resample.stride });
  return (x, stripRows) => {
    const y = blocks.reduce((z, run) => run(z, stripRows), x);
    return conv ? conv2d(y, conv, resample.options) : y;
  };
}

function midBlock(config: AutoencoderKLConfig, weights: WeightTable, name: string, channels: number): Block {
  const first = residual(config, weights, `${name}.resnets.0`, channels, channels);
  const attention = config.attends ? selfAttention(config, weights, `${name}.attentions.0`, channels) : null;
  const second = residual(config, weights, `${name}.resnets.1`, channels, channels);
  return (x, stripRows) => {
    const y = first(x, stripRows);
    return second(attention ? attention(y) : y, stripRows);
  };
}

/** A residual block, computed in place if input and output have equally many channels; a segment of the tape. */
function residual(
  { groups }: AutoencoderKLConfig,
  weights: WeightTable,
  name: string,
  from: number,
  to: number,
): Block {
  const run = resnet({ groups, eps: EPS }, weights, name, from, to);
  return (x, stripRows) => {
    const y = run(x, { overwrites: true, stripRows });
    y.tape!.cut();
    return y;
  };
}

/** Attention of one head over all pixels. */
function selfAttention(
  { groups }: AutoencoderKLConfig,
  weights: WeightTable,
  name: string,
  channels: number,
) {
  const [query, key, value, output] = (weights.has(`${name}.query.weight`) ? OLD_NAMES : NAMES).map(
    (part) => `${name}.${part}`,
  ) as [string, string, string, string];
  const norm = affine(weights, `${name}.group_norm`, channels);
  const qkv = weights.stacked(
    [query, key, value].map((part) => ({ name: `${part}.weight`, rows: channels })),
    channels,
    { bias: true },
  );
  const out = weights.matrix(`${output}.weight`, channels, channels, { bias: true });

  return (x: Tensor): Tensor => {
    const y = linear(groupnorm(x, norm, { groups, eps: EPS }), qkv); // [batch, height, width, 3 · channels]
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * channels }));
    return linearAdd(attend(q!, k!, v!, { heads: 1, dims: channels }), out, x);
  };
}

const NAMES = ['to_q', 'to_k', 'to_v', 'to_out.0'];
/** Names of the attention tensors in checkpoints before 2023. */
const OLD_NAMES = ['query', 'key', 'value', 'proj_attn'];
