// Sounds in Qwen3-ASR: three convolutions make rows of each second, transformer layers let the rows of some seconds see each other, and
// two products make them fit for the language model.

import type { Tensor } from '../../gpu/tensor.ts';
import { activation } from '../../kernels/activation.ts';
import { conv2d } from '../../kernels/conv2d.ts';
import { joinRows, takeTokens } from '../../kernels/copy-rows.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear } from '../../kernels/matmul.ts';
import { mixRows } from '../../kernels/mix-rows.ts';
import { orderColumns } from '../../kernels/order-columns.ts';
import { reshape } from '../../kernels/reshape.ts';
import { scaledAdd } from '../../kernels/scaled-add.ts';
import { affine } from '../affine.ts';
import type { Tower } from '../media.ts';
import { inTurns, tilesAtOnce } from '../tile-turns.ts';
import type { WeightTable } from '../weights.ts';
import type { Qwen3AsrConfig } from './qwen3-asr-config.ts';
import { WHISPER_EPS, whisperLayer } from './whisper.ts';

const TOWER = 'audio_tower.';
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
    whisperLayer(config, weights, `${TOWER}layers.${i}`, { keyBias: true }),
  );
  const norm = affine(weights, `${TOWER}ln_post`, hidden);
  // The first layout has the two products among the encoder's.
  const isFirst = weights.has(`${TOWER}proj1.weight`);
  const project = isFirst ? `${TOWER}proj` : 'multi_modal_projector.linear_';
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
    for (const run of layers) x = run(x, counts);
    x = takeTokens(reshape(x, [1, windows * seen, hidden]), 0, rows);
    const { activation: name } = config;
    return [linear(linear(layernorm(x, norm, WHISPER_EPS), first, { activation: name }), second)];
  };
}
