// UNet2DConditionModel of Stable Diffusion 1.x, 2.x and XL: residual blocks and transformers with cross-attention to the text, down
// to a small resolution and back up; each residual block on the way up also gets the output of its counterpart on the way down.

import type { Tensor } from '../../gpu/tensor.ts';
import { concat } from '../../kernels/concat.ts';
import { conv2d } from '../../kernels/conv2d.ts';
import { linear } from '../../kernels/matmul.ts';
import { normConv } from '../../kernels/norm-conv.ts';
import { affine } from '../affine.ts';
import { resnet } from './resnet.ts';
import { timeEmbedding, type TimeConditioning, type TimePrompt } from './unet-time.ts';
import { transformer, type KeyValues } from './unet-transformer.ts';
import type { UNetConfig, UNetLevel } from './unet-config.ts';
import type { Rows, WeightTable } from '../weights.ts';

/** Conditioning of an image: text [batch, tokens, context], and the values that are embedded with the time step. */
export interface UNetPrompt extends TimePrompt {
  text: Tensor;
}

/** The prompt in the form that the blocks need, computed once per image: keys and values of each cross-attention. */
export interface UNetConditioning extends TimeConditioning {
  /** [batch, tokens, 2 · channels] */
  keyValues: readonly Tensor[];
}

export interface UNet {
  condition(prompt: UNetPrompt): UNetConditioning;
  /** x [batch, height, width, inChannels], time f32 [batch, 1] → [batch, height, width, outChannels] */
  forward(x: Tensor, time: Tensor, conditioning: UNetConditioning): Tensor;
}

export function unet(config: UNetConfig, weights: WeightTable): UNet {
  const { inChannels, outChannels, groups, eps } = config;
  const base = config.down[0]!.channels;
  const time = timeEmbedding(config, weights, base);
  const convIn = weights.conv('conv_in.weight', base, inChannels, 3);
  const built: Built = {
    config,
    weights,
    channels: base,
    skips: [base],
    crossed: [],
    timed: [],
    timedChannels: 0,
  };
  const down = config.down.map((level, i) => downBlock(built, `down_blocks.${i}`, level));
  const mid = config.mid && midBlock(built, 'mid_block', config.mid);
  const up = config.up.map((level, i) => upBlock(built, `up_blocks.${i}`, level));
  const timeProj = weights.stacked(built.timed, config.timeDims, { bias: true });
  const normOut = affine(weights, 'conv_norm_out', base);
  const convOut = weights.conv('conv_out.weight', outChannels, base, 3);

  return {
    condition: (prompt) => ({
      keyValues: built.crossed.map((keyValue) => linear(prompt.text, keyValue)),
      ...time.condition(prompt),
    }),
    forward(x, steps, conditioning) {
      const embedded = time.forward(steps, conditioning); //     [batch, timeDims]
      const step = { time: linear(embedded, timeProj), keyValues: conditioning.keyValues };
      let y = conv2d(x, convIn); //                              [batch, height, width, base]
      const skips = [y];
      for (const block of down) y = block(y, step, skips);
      if (mid) y = mid(y, step);
      for (const block of up) y = block(y, step, skips);
      return normConv(y, normOut, convOut, { groups, eps, silu: true });
    },
  };
}

/** State while the blocks are built: what earlier blocks provide to later ones. */
interface Built {
  config: UNetConfig;
  weights: WeightTable;
  channels: number;
  /** Channels of the outputs that are saved for the way up. */
  skips: number[];
  crossed: KeyValues;
  /** Projections of the embedded time step for the residual blocks so far, and the sum of their channels. */
  timed: Rows[];
  timedChannels: number;
}

/** Values of a step: the residual blocks' addends for the time step, concatenated; keys and values of the text. */
interface Step {
  time: Tensor;
  keyValues: readonly Tensor[];
}

/** Blocks on the way down: saves each output for the way up, and halves the resolution at the end. */
function downBlock(built: Built, name: string, level: UNetLevel) {
  const layers = Array.from({ length: level.layers }, (_, i) => {
    const run = layer(built, name, level, i, built.channels);
    built.skips.push(level.channels);
    return run;
  });
  const { channels, resamples } = level;
  const downsample = resamples
    ? built.weights.conv(`${name}.downsamplers.0.conv.weight`, channels, channels, 3, { stride: 2 })
    : null;
  if (downsample) built.skips.push(channels);

  return (x: Tensor, step: Step, skips: Tensor[]): Tensor => {
    for (const run of layers) skips.push((x = run(x, step)));
    if (downsample) skips.push((x = conv2d(x, downsample, { stride: 2 })));
    return x;
  };
}

/** Blocks at the lowest resolution: a residual block before each transformer, and one at the end. */
function midBlock(built: Built, name: string, level: UNetLevel) {
  const layers = Array.from({ length: level.layers }, (_, i) => layer(built, name, level, i, built.channels));
  return (x: Tensor, step: Step): Tensor => layers.reduce((y, run) => run(y, step), x);
}

/** Blocks on the way up: each residual block takes the output saved last; then the resolution doubles to that of the next one. */
function upBlock(built: Built, name: string, level: UNetLevel) {
  const layers = Array.from({ length: level.layers }, (_, i) =>
    layer(built, name, level, i, built.channels + built.skips.pop()!),
  );
  const { channels, resamples } = level;
  const upsample = resamples
    ? built.weights.conv(`${name}.upsamplers.0.conv.weight`, channels, channels, 3)
    : null;

  return (x: Tensor, step: Step, skips: Tensor[]): Tensor => {
    for (const run of layers) x = run(concat(x, skips.pop()!), step);
    if (!upsample) return x;
    const [, height, width] = skips.at(-1)!.shape as number[];
    return conv2d(x, upsample, { upsample: { height: height!, width: width! } });
  };
}

/** A residual block, followed by a transformer if the level has one there. */
function layer(built: Built, name: string, level: UNetLevel, i: number, from: number) {
  const { config, weights, crossed } = built;
  const { channels, attention } = level;
  const residual = resnet(config, weights, `${name}.resnets.${i}`, from, channels);
  const depth = attention?.depths[i];
  const attend =
    attention && depth !== undefined
      ? transformer(config, weights, `${name}.attentions.${i}`, { ...attention, channels, depth }, crossed)
      : null;
  const first = built.timedChannels;
  built.timed.push({ name: `${name}.resnets.${i}.time_emb_proj.weight`, rows: channels });
  built.timedChannels += channels;
  built.channels = channels;

  return (x: Tensor, { time, keyValues }: Step): Tensor => {
    const y = residual(x, { time: { x: time, first } });
    const z = attend ? attend(y, keyValues) : y;
    z.tape!.cut();
    return z;
  };
}
