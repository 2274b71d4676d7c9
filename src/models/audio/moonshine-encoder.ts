// Moonshine's encoder: three convolutions make a row of 384 samples of a sound as it is, and transformer layers with rotary positions pass the rows.

import type { Tensor } from '../../gpu/tensor.ts';
import { attend, SEGMENT_WORK } from '../../kernels/attend.ts';
import { takeRows } from '../../kernels/copy-rows.ts';
import { groupnorm } from '../../kernels/groupnorm.ts';
import { layernorm, type Affine } from '../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { rotate } from '../../kernels/rotate.ts';
import { rowWindows } from '../../kernels/row-windows.ts';
import { affine } from '../affine.ts';
import type { WeightTable } from '../weights.ts';
import type { MoonshineConfig } from './moonshine-config.ts';
import { rowRotations } from './row-rotations.ts';

/** Rows that each convolution sees, and from one of its rows to the next. None of them sees beyond the ends of a sound. */
export const [FIRST, SECOND, THIRD] = [
  { taps: 127, step: 64 },
  { taps: 7, step: 3 },
  { taps: 3, step: 2 },
] as const;

export const MOONSHINE_EPS = 1e-5;

/** The scale of a norm without a shift. */
export const scaleOf = (weights: WeightTable, name: string, size: number): Affine => ({
  ...{ weight: weights.vector(`${name}.weight`, size), bias: null },
});

/** frames [1, frames, taps]: the samples that each row of the first convolution sees → [1, rows, hidden] */
export type MoonshineEncoder = (frames: Tensor) => Tensor;

export function moonshineEncoder(config: MoonshineConfig, weights: WeightTable): MoonshineEncoder {
  const { hidden, encoder } = config;
  const name = 'model.encoder';
  const conv = (stem: string, rows: number, inputs: number, { taps }: { taps: number }, bias: boolean) =>
    weights.matrix(`${name}.${stem}.weight`, rows, inputs * taps, { bias, stored: [inputs, taps] });
  const first = conv('conv1', hidden, 1, FIRST, false);
  const norm = affine(weights, `${name}.groupnorm`, hidden);
  const second = conv('conv2', 2 * hidden, hidden, SECOND, true);
  const third = conv('conv3', hidden, 2 * hidden, THIRD, true);
  const layers = Array.from({ length: encoder.layers }, (_, i) =>
    layer(config, weights, `${name}.layers.${i}`),
  );
  const last = scaleOf(weights, `${name}.layer_norm`, hidden);
  const within = { isPadded: false } as const;

  return (frames) => {
    const heard = linear(frames, first, { activation: 'tanh' }); // [1, frames, hidden]
    const count = heard.shape[1] as number;
    // Mean and variance are of all values of the sound, as of the pixels of an image.
    const image = groupnorm(takeRows(heard, 0, [1, 1, count]), norm, { groups: 1, eps: MOONSHINE_EPS });
    let x = takeRows(image, 0, [1, count]);
    x = linear(rowWindows(x, { ...SECOND, ...within }), second, { activation: 'gelu' });
    x = linear(rowWindows(x, { ...THIRD, ...within }), third, { activation: 'gelu' });
    const turns = rowRotations(x, x.shape[1] as number, encoder);
    for (const run of layers) x = run(x, turns);
    return layernorm(x, last, MOONSHINE_EPS);
  };
}

function layer({ hidden, ffn, activation, encoder }: MoonshineConfig, weights: WeightTable, name: string) {
  const { heads, dims } = encoder;
  const norm1 = scaleOf(weights, `${name}.input_layernorm`, hidden);
  const parts = ['q', 'k', 'v'].map((part) => ({
    ...{ name: `${name}.self_attn.${part}_proj.weight`, rows: hidden },
  }));
  const qkv = weights.stacked(parts, hidden);
  const out = weights.matrix(`${name}.self_attn.o_proj.weight`, hidden, hidden);
  const norm2 = scaleOf(weights, `${name}.post_attention_layernorm`, hidden);
  const up = weights.matrix(`${name}.mlp.fc1.weight`, ffn, hidden, { bias: true });
  const down = weights.matrix(`${name}.mlp.fc2.weight`, hidden, ffn, { bias: true });

  return (x: Tensor, turns: Tensor): Tensor => {
    const y = linear(layernorm(x, norm1, MOONSHINE_EPS), qkv); // [1, rows, 3 · hidden]
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * hidden }));
    for (const one of [q!, k!]) rotate(one, turns, { heads, dims, layout: 'interleaved' });
    x = linearAdd(attend(q!, k!, v!, { heads, dims, mostWork: SEGMENT_WORK }), out, x);
    x = linearAdd(linear(layernorm(x, norm2, MOONSHINE_EPS), up, { activation }), down, x);
    x.tape!.cut();
    return x;
  };
}
