// AutoencoderKL: pictures to latents of an eighth of their size and back, by residual blocks with one attention at the
// smallest resolution.

import type { Tensor } from '../gpu/tensor.ts';
import { attend } from '../kernels/attend.ts';
import { conv2d } from '../kernels/conv2d.ts';
import { groupnorm } from '../kernels/groupnorm.ts';
import { linear, linearAdd } from '../kernels/matmul.ts';
import { affine } from './affine.ts';
import type { AutoencoderKLConfig } from './autoencoder-kl-config.ts';
import { resnet } from './resnet.ts';
import type { WeightTable } from './weights.ts';

const EPS = 1e-6;

/** Latents [batch, height, width, latentChannels] → pictures in −1 … 1, [batch, 2ⁿ · height, 2ⁿ · width, outChannels] */
export function autoencoderKLDecoder(config: AutoencoderKLConfig, weights: WeightTable) {
  const { latentChannels, channels, groups } = config;
  const post = config.postQuant
    ? weights.conv('post_quant_conv.weight', latentChannels, latentChannels, 1)
    : null;
  const deepest = channels.at(-1)!;
  const convIn = weights.conv('decoder.conv_in.weight', deepest, latentChannels, 3);
  const mid = midBlock(config, weights, 'decoder.mid_block', deepest);
  const wide = channels.toReversed();
  const blocks = wide.map((to, i) =>
    upBlock(config, weights, `decoder.up_blocks.${i}`, wide[i - 1] ?? deepest, to, i < wide.length - 1),
  );
  const normOut = affine(weights, 'decoder.conv_norm_out', channels[0]!);
  const convOut = weights.conv('decoder.conv_out.weight', config.outChannels, channels[0]!, 3);
  weights.ignore(/^(encoder|quant_conv)\./);

  return (latents: Tensor): Tensor => {
    let x = conv2d(post ? linear(latents, post) : latents, convIn); // [batch, height, width, deepest]
    x = mid(x);
    for (const block of blocks) x = block(x);
    return conv2d(groupnorm(x, normOut, { groups, eps: EPS, silu: true }), convOut);
  };
}

/**
 * Pictures in −1 … 1, [batch, height, width, inChannels] → means and logarithms of variances side by side,
 * [batch, height / 2ⁿ, width / 2ⁿ, 2 · latentChannels]
 */
export function autoencoderKLEncoder(config: AutoencoderKLConfig, weights: WeightTable) {
  const { latentChannels, channels, groups } = config;
  const deepest = channels.at(-1)!;
  const convIn = weights.conv('encoder.conv_in.weight', channels[0]!, config.inChannels, 3);
  const blocks = channels.map((to, i) =>
    downBlock(
      config,
      weights,
      `encoder.down_blocks.${i}`,
      channels[i - 1] ?? to,
      to,
      i < channels.length - 1,
    ),
  );
  const mid = midBlock(config, weights, 'encoder.mid_block', deepest);
  const normOut = affine(weights, 'encoder.conv_norm_out', deepest);
  const convOut = weights.conv('encoder.conv_out.weight', 2 * latentChannels, deepest, 3);
  const quant = config.quant
    ? weights.conv('quant_conv.weight', 2 * latentChannels, 2 * latentChannels, 1)
    : null;
  weights.ignore(/^(decoder|post_quant_conv)\./);

  return (image: Tensor): Tensor => {
    let x = conv2d(image, convIn); //                            [batch, height, width, channels₀]
    for (const block of blocks) x = block(x);
    x = mid(x);
    const moments = conv2d(groupnorm(x, normOut, { groups, eps: EPS, silu: true }), convOut);
    return quant ? linear(moments, quant) : moments;
  };
}

/** Halves the resolution at the end; the picture is padded to the right and below. */
function downBlock(
  config: AutoencoderKLConfig,
  weights: WeightTable,
  name: string,
  from: number,
  to: number,
  halves: boolean,
) {
  const layers = residuals(config, weights, name, config.layers, from, to);
  const half = halves ? weights.conv(`${name}.downsamplers.0.conv.weight`, to, to, 3) : null;
  return (x: Tensor): Tensor => {
    const y = layers(x);
    return half ? conv2d(y, half, { stride: 2, padding: 'after' }) : y;
  };
}

function upBlock(
  config: AutoencoderKLConfig,
  weights: WeightTable,
  name: string,
  from: number,
  to: number,
  doubles: boolean,
) {
  const layers = residuals(config, weights, name, config.layers + 1, from, to);
  const double = doubles ? weights.conv(`${name}.upsamplers.0.conv.weight`, to, to, 3) : null;
  return (x: Tensor): Tensor => {
    const y = layers(x);
    return double ? conv2d(y, double, { upsample: true }) : y;
  };
}

function midBlock(config: AutoencoderKLConfig, weights: WeightTable, name: string, channels: number) {
  const [first, second] = [0, 1].map((i) =>
    residual(config, weights, `${name}.resnets.${i}`, channels, channels),
  );
  const attention = config.attends ? selfAttention(config, weights, `${name}.attentions.0`, channels) : null;
  return (x: Tensor): Tensor => {
    const y = first!(x);
    return second!(attention ? attention(y) : y);
  };
}

/** Residual blocks one after the other, a segment of the tape each. */
function residuals(
  config: AutoencoderKLConfig,
  weights: WeightTable,
  name: string,
  count: number,
  from: number,
  to: number,
) {
  const blocks = Array.from({ length: count }, (_, i) =>
    residual(config, weights, `${name}.resnets.${i}`, i === 0 ? from : to, to),
  );
  return (x: Tensor): Tensor => blocks.reduce((y, run) => run(y), x);
}

function residual(
  { groups }: AutoencoderKLConfig,
  weights: WeightTable,
  name: string,
  from: number,
  to: number,
) {
  const run = resnet({ groups, eps: EPS, timeDims: null }, weights, name, from, to);
  return (x: Tensor): Tensor => {
    const y = run(x, null);
    y.tape!.cut();
    return y;
  };
}

/** One head over all pixels. */
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
    true,
  );
  const out = weights.matrix(`${output}.weight`, channels, channels, `${output}.bias`);

  return (x: Tensor): Tensor => {
    const y = linear(groupnorm(x, norm, { groups, eps: EPS }), qkv); // [batch, height, width, 3 · channels]
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * channels }));
    return linearAdd(attend(q!, k!, v!, { heads: 1, dims: channels }), out, x);
  };
}

const NAMES = ['to_q', 'to_k', 'to_v', 'to_out.0'];
/** Before 2023. */
const OLD_NAMES = ['query', 'key', 'value', 'proj_attn'];
