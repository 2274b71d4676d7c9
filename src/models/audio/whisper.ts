// Whisper's encoder: two convolutions halve the frames of a sound, and transformer layers pass them.

import type { Tensor } from '../../gpu/tensor.ts';
import { addRows } from '../../kernels/add-rows.ts';
import { attend } from '../../kernels/attend.ts';
import type { Columns } from '../../kernels/columns.ts';
import { takeTokens } from '../../kernels/copy-rows.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { rowWindows } from '../../kernels/row-windows.ts';
import { affine } from '../affine.ts';
import type { WeightTable } from '../weights.ts';
import type { WhisperConfig } from './whisper-config.ts';

/** features [windows, frames, mels] → states of the first `rows` pairs of frames, [windows, rows, hidden], before the last norm */
export type WhisperEncoder = (features: Tensor, rows: number) => Tensor;

export const WHISPER_EPS = 1e-5;
/** Frames that a convolution sees. */
const TAPS = 3;

/** `name`: that of the encoder's weights, with a dot. */
export function whisperEncoder(config: WhisperConfig, weights: WeightTable, name: string): WhisperEncoder {
  const { mels, hidden, positions } = config;
  const conv = (stem: string, inputs: number) =>
    weights.matrix(`${name}${stem}.weight`, hidden, inputs * TAPS, { bias: true, stored: [inputs, TAPS] });
  const first = conv('conv1', mels);
  const second = conv('conv2', hidden);
  const places = weights.table(`${name}embed_positions.weight`, positions, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    whisperLayer(config, weights, `${name}layers.${i}`),
  );

  return (features, rows) => {
    const frames = linear(rowWindows(features, { taps: TAPS, step: 1 }), first, { activation: 'gelu' });
    const pairs = linear(rowWindows(frames, { taps: TAPS, step: 2 }), second, { activation: 'gelu' });
    let x = pairs.shape[1] === rows ? pairs : takeTokens(pairs, 0, rows); // [windows, rows, hidden]
    x = addRows(x, places.on(x.tape!));
    for (const run of layers) x = run(x);
    return x;
  };
}

export type WhisperLayerConfig = Pick<WhisperConfig, 'hidden' | 'ffn' | 'heads' | 'activation'>;

/** x [windows, rows, hidden] → the same; `keyCounts` u32 [windows]: rows of each window that are seen, left out: all */
type WhisperLayer = (x: Tensor, keyCounts?: Tensor) => Tensor;

export function whisperLayer(
  config: WhisperLayerConfig,
  weights: WeightTable,
  name: string,
  { keyBias = false } = {},
): WhisperLayer {
  const { hidden, ffn, activation } = config;
  const norm1 = affine(weights, `${name}.self_attn_layer_norm`, hidden);
  const attention = selfAttention(config, weights, `${name}.self_attn`, keyBias);
  const norm2 = affine(weights, `${name}.final_layer_norm`, hidden);
  const up = weights.matrix(`${name}.fc1.weight`, ffn, hidden, { bias: true, split: 'columns' });
  const down = weights.matrix(`${name}.fc2.weight`, hidden, ffn, { bias: true, split: 'rows' });

  return (x, keyCounts) => {
    x = attention(layernorm(x, norm1, WHISPER_EPS), x, keyCounts);
    x = linearAdd(linear(layernorm(x, norm2, WHISPER_EPS), up, { activation }), down, x);
    x.tape!.cut();
    return x;
  };
}

function selfAttention(
  { hidden, heads }: WhisperLayerConfig,
  weights: WeightTable,
  name: string,
  keyBias: boolean,
) {
  const dims = hidden / heads;
  const project = (keyBias ? projections : projectionsApart)(hidden, weights, name);
  const out = weights.matrix(`${name}.out_proj.weight`, hidden, hidden, { bias: true, split: 'rows' });

  return (x: Tensor, residual: Tensor, keyCounts?: Tensor): Tensor => {
    const [q, k, v] = project(x);
    return linearAdd(attend(q, k, v, { heads, dims, ...(keyCounts && { keyCounts }) }), out, residual);
  };
}

/** x [windows, rows, hidden] → queries, keys and values of all heads */
type Projections = (x: Tensor) => [q: Columns, k: Columns, v: Columns];

function projections(hidden: number, weights: WeightTable, name: string): Projections {
  const parts = ['q', 'k', 'v'].map((part) => ({ name: `${name}.${part}_proj.weight`, rows: hidden }));
  const all = weights.stacked(parts, hidden, { bias: true, split: 'columns' });
  return (x) => {
    const qkv = linear(x, all); // [windows, rows, 3 · hidden]
    return [
      { x: qkv, first: 0 },
      { x: qkv, first: hidden },
      { x: qkv, first: 2 * hidden },
    ];
  };
}

/** Keys have no bias. */
function projectionsApart(hidden: number, weights: WeightTable, name: string): Projections {
  const key = weights.matrix(`${name}.k_proj.weight`, hidden, hidden, { split: 'columns' });
  const parts = ['q', 'v'].map((part) => ({ name: `${name}.${part}_proj.weight`, rows: hidden }));
  const others = weights.stacked(parts, hidden, { bias: true, split: 'columns' });
  return (x) => {
    const qv = linear(x, others); // [windows, rows, 2 · hidden]
    return [
      { x: qv, first: 0 },
      { x: linear(x, key), first: 0 },
      { x: qv, first: hidden },
    ];
  };
}
