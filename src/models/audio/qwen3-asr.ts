// Sounds in Qwen3-ASR: three convolutions make rows of each second, transformer layers let the rows of some seconds see each other, and
// two products make them fit for the language model.

import type { Tensor } from '../../gpu/tensor.ts';
import { activation } from '../../kernels/activation.ts';
import { attend } from '../../kernels/attend.ts';
import { conv2d } from '../../kernels/conv2d.ts';
import { joinRows, takeTokens } from '../../kernels/copy-rows.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { mixRows } from '../../kernels/mix-rows.ts';
import { orderColumns } from '../../kernels/order-columns.ts';
import { reshape } from '../../kernels/reshape.ts';
import { scaledAdd } from '../../kernels/scaled-add.ts';
import { affine } from '../affine.ts';
import type { Tower } from '../media.ts';
import { inTurns, tilesAtOnce } from '../tile-turns.ts';
import type { WeightTable } from '../weights.ts';
import type { Qwen3AsrConfig } from './qwen3-asr-config.ts';

const TOWER = 'audio_tower.';
const EPS = 1e-5;
const halved = (n: number): number => Math.ceil(n / 2);
/** Rows, or bands, that the convolutions make of so many. */
export const convolved = (n: number): number => halved(halved(halved(n)));

/** Sizes of a sound: its rows, windows of rows that see each other, and rows of a window. */
export interface Qwen3AsrLayout {
  rows: number;
  windows: number;
  seen: number;
}

/**
 * Inputs: `features` [chunks, mels, frames]; `sources` u32 and `shares` f32 [windows · seen · bands, 1], the convolved pixels of each row, none
 * behind the last; `places` [rows of a chunk, hidden], `at` u32 and `parts` f32 [windows · seen, 1], the place of each row; `order` u32
 * [1, channels · bands]; `counts` u32 [windows]. → [1, rows, out]
 */
export function qwen3AsrTower(config: Qwen3AsrConfig, weights: WeightTable): Tower {
  const { hidden, out, mels, frames, channels } = config;
  const bands = convolved(mels);
  const convs = [1, channels, channels].map((inputs, i) =>
    weights.conv(`${TOWER}conv2d${i + 1}.weight`, channels, inputs, 3, { stride: 2 }),
  );
  const behind = weights.matrix(`${TOWER}conv_out.weight`, hidden, channels * bands);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    layer(config, weights, `${TOWER}layers.${i}`),
  );
  const norm = affine(weights, `${TOWER}ln_post`, hidden);
  const project = 'multi_modal_projector.linear_';
  const first = weights.matrix(`${project}1.weight`, hidden, hidden, { bias: true });
  const second = weights.matrix(`${project}2.weight`, out, hidden, { bias: true });
  const atOnce = tilesAtOnce(halved(mels) * halved(frames) * channels);
  const convolve = (some: Tensor): Tensor => {
    const [chunks] = some.shape as [number];
    let x = reshape(some, [chunks, mels, frames, 1]);
    for (const conv of convs) x = activation(conv2d(x, conv, { stride: 2 }), 'gelu');
    return reshape(x, [1, chunks * bands * convolved(frames), channels]);
  };

  return ({ features, sources, shares, places, at, parts, order, counts }, layout) => {
    const { rows, windows, seen } = layout as Qwen3AsrLayout;
    const pixels = (features!.shape[0] as number) * bands * convolved(frames);
    const all = joinRows(inTurns(features!, atOnce, convolve), [pixels]);
    const picked = reshape(mixRows(all, sources!, shares!), [windows, seen, bands * channels]);
    const placed = reshape(mixRows(places!, at!, parts!), [windows, seen, hidden]);
    let x = scaledAdd(linear(orderColumns(picked, order!), behind), 1, placed);
    for (const run of layers) x = run(x, counts!);
    x = takeTokens(reshape(x, [1, windows * seen, hidden]), 0, rows);
    const { activation: name } = config;
    return [linear(linear(layernorm(x, norm, EPS), first, { activation: name }), second)];
  };
}

function layer(config: Qwen3AsrConfig, weights: WeightTable, name: string) {
  const { hidden, ffn, heads, activation: inner } = config;
  const dims = hidden / heads;
  const norm1 = affine(weights, `${name}.self_attn_layer_norm`, hidden);
  const parts = ['q', 'k', 'v'].map((part) => ({
    name: `${name}.self_attn.${part}_proj.weight`,
    rows: hidden,
  }));
  const qkv = weights.stacked(parts, hidden, { bias: true });
  const out = weights.matrix(`${name}.self_attn.out_proj.weight`, hidden, hidden, { bias: true });
  const norm2 = affine(weights, `${name}.final_layer_norm`, hidden);
  const up = weights.matrix(`${name}.fc1.weight`, ffn, hidden, { bias: true });
  const down = weights.matrix(`${name}.fc2.weight`, hidden, ffn, { bias: true });

  return (x: Tensor, keyCounts: Tensor): Tensor => {
    const made = linear(layernorm(x, norm1, EPS), qkv);
    const [q, k, v] = [0, hidden, 2 * hidden].map((first) => ({ x: made, first }));
    x = linearAdd(attend(q!, k!, v!, { heads, dims, keyCounts }), out, x);
    x = linearAdd(linear(layernorm(x, norm2, EPS), up, { activation: inner }), down, x);
    x.tape!.cut();
    return x;
  };
}
