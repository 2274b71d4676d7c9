// Blocks of UNets and of ControlNets: residual blocks and transformers with cross-attention to the text, on the way down to a small
// resolution, there, and on the way back up.

import type { Tensor } from '../../../gpu/tensor.ts';
import { concat } from '../../../kernels/concat.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { resnet } from '../resnet.ts';
import { transformer, type Crossed, type KeyValues } from './unet-transformer.ts';
import type { UNetConfig, UNetLevel } from './unet-config.ts';
import type { Rows, WeightTable } from '../../weights.ts';

/** State while the blocks are built: what earlier blocks provide to later ones. */
export interface Built {
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

/** The state before any block. */
export const unbuilt = (config: UNetConfig, weights: WeightTable): Built => {
  const { channels } = config.down[0]!;
  return { config, weights, channels, skips: [channels], crossed: [], timed: [], timedChannels: 0 };
};

/** Values of a step: the residual blocks' addends for the time step, concatenated; keys and values of the text. */
export interface Step extends Crossed {
  time: Tensor;
}

/** Blocks on the way down: saves each output for the way up, and halves the resolution at the end. */
export function downBlock(built: Built, name: string, level: UNetLevel) {
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
export function midBlock(built: Built, name: string, level: UNetLevel) {
  const layers = Array.from({ length: level.layers }, (_, i) => layer(built, name, level, i, built.channels));
  return (x: Tensor, step: Step): Tensor => layers.reduce((y, run) => run(y, step), x);
}

/** Blocks on the way up: each residual block takes the output saved last; then the resolution doubles to that of the next one. */
export function upBlock(built: Built, name: string, level: UNetLevel) {
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
  const { config, weights } = built;
  const { channels, attention } = level;
  const residual = resnet(config, weights, `${name}.resnets.${i}`, from, channels);
  const depth = attention?.depths[i];
  const attend =
    attention && depth !== undefined
      ? transformer(
          config,
          weights,
          `${name}.attentions.${i}`,
          { ...attention, channels, depth },
          built.crossed,
        )
      : null;
  const first = built.timedChannels;
  built.timed.push({ name: `${name}.resnets.${i}.time_emb_proj.weight`, rows: channels });
  built.timedChannels += channels;
  built.channels = channels;

  return (x: Tensor, { time, ...crossed }: Step): Tensor => {
    const y = residual(x, { time: { x: time, first } });
    const z = attend ? attend(y, crossed) : y;
    z.tape!.cut();
    return z;
  };
}
