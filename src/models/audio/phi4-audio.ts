// Phi-4-multimodal's encoder of sounds: convolutions make a row of eight frames, conformer layers let the rows of a window see each other, and two
// products make the rows of the language model, others where a prompt has images.

import type { Tensor } from '../../gpu/tensor.ts';
import { activation } from '../../kernels/activation.ts';
import { centreColumns } from '../../kernels/centre-columns.ts';
import { conv2d } from '../../kernels/conv2d.ts';
import { fillTokens, joinRows, takeTokens } from '../../kernels/copy-rows.ts';
import { depthwise } from '../../kernels/depthwise.ts';
import { linear } from '../../kernels/matmul.ts';
import { mixRows } from '../../kernels/mix-rows.ts';
import { orderColumns } from '../../kernels/order-columns.ts';
import { reshape } from '../../kernels/reshape.ts';
import type { Tower } from '../media.ts';
import type { WeightTable } from '../weights.ts';
import type { Phi4AudioConfig } from './phi4-audio-config.ts';
import { phi4ConformerLayer } from './phi4-conformer.ts';

const NAME = 'embed_tokens_extend.audio_embed.';
const ENCODER = `${NAME}encoder.`;
/** Frames of a row. */
export const JOINED = 8;
/** Rows that see each other at most; longer sounds have several windows, of which the last is filled up with zeros. */
export const WINDOW = 500;
/** Values of the widest intermediate of rows that pass the convolutions together. */
const MOST_VALUES = 2 ** 23;

const halved = (n: number): number => Math.ceil(n / 2);
/** Bands behind the convolutions. */
export const convolvedBands = (mels: number): number => halved(halved(halved(mels)));

/** Sizes of a sound. */
export interface Phi4SoundLayout {
  frames: number;
  /** Windows, and rows of each. */
  windows: number;
  seen: number;
  /** Whether the prompt has images. */
  beside: boolean;
}

/**
 * Inputs: `features` [1, frames, mels]; `distances` u32 [2 · seen − 1, 1], buckets, and ones as `shares`; `order` u32 [1, channels · bands]; `zeros`
 * [1, hidden] where there are several windows; `layout`: Phi4SoundLayout → [1, rows, out]
 */
export function phi4Audio(config: Phi4AudioConfig, weights: WeightTable): Tower {
  const { hidden, heads, out, farthest, names } = config;
  const convolve = convolutions(config, weights);
  const buckets = weights.table(
    `${ENCODER}relative_attention_bias_layer.bias_values.weight`,
    2 * farthest,
    heads,
  );
  const layers = Array.from({ length: config.layers }, (_, i) =>
    phi4ConformerLayer(config, weights, `${ENCODER}encoders.${i}`),
  );
  const projector = ([up, down]: readonly [string, string]) => {
    const first = weights.matrix(`${NAME}${up}.weight`, out, hidden, { bias: true });
    const second = weights.matrix(`${NAME}${down}.weight`, out, out, { bias: true });
    return (x: Tensor): Tensor => linear(linear(x, first, { activation: 'gelu' }), second);
  };
  const [alone, beside] = [projector(names.alone), projector(names.beside)];

  return ({ features, distances, shares, order, zeros }, layout) => {
    const { frames, windows, seen, beside: isBeside } = layout as Phi4SoundLayout;
    const rows = Math.ceil(frames / JOINED);
    const ofDistances = mixRows(buckets.on(features!.tape!), distances!, shares!);
    const bias = reshape(ofDistances, [1, 2 * seen - 1, heads]);
    let x = convolve(features!, order!, frames); //                         [1, rows, hidden]
    if (windows > 1) x = reshape(fillTokens(x, zeros!, windows * seen), [windows, seen, hidden]);
    for (const run of layers) x = run(x, bias);
    if (windows > 1) x = takeTokens(reshape(x, [1, windows * seen, hidden]), 0, rows);
    return [(isBeside ? beside : alone)(x)];
  };
}

/** features [1, frames, mels] → [1, ceil(frames / JOINED), hidden], some rows after the others, so that intermediates stay small */
function convolutions({ mels, channels, hidden }: Phi4AudioConfig, weights: WeightTable) {
  const normed = {
    mean: weights.vector(`${ENCODER}encoder_embedding.global_mean`, mels),
    factor: weights.vector(`${ENCODER}encoder_embedding.global_invstd`, mels),
  };
  const conv = `${ENCODER}embed.conv.`;
  const first = weights.conv(`${conv}0.weight`, channels, 1, 3, { stride: 2 });
  const others = [2, 5].map((i) => ({
    kernels: weights.kernels(`${conv}${i}.weight`, channels, 3),
    bias: weights.vector(`${conv}${i}.bias`, channels),
    // Of the depthwise convolution every other pixel is taken.
    mix: weights.conv(`${conv}${i + 1}.weight`, channels, channels, 1, { stride: 2 }),
  }));
  const columns = channels * convolvedBands(mels);
  const project = weights.matrix(`${ENCODER}embed.out.weight`, hidden, columns, { bias: true });
  const atOnce = Math.max(1, Math.floor(MOST_VALUES / ((JOINED / 2) * halved(mels) * channels)));

  /** A run of frames, from a row's first one on. */
  const convolve = (frames: Tensor, order: Tensor): Tensor => {
    const centred = centreColumns(frames, normed.mean, normed.factor);
    let x = reshape(centred, [1, frames.shape[1] as number, mels, 1]);
    x = activation(conv2d(x, first, { stride: 2 }), 'relu'); // [1, frames / 2, mels / 2, channels]
    for (const { kernels, bias, mix } of others)
      x = activation(conv2d(depthwise(x, kernels, { bias }), mix, { stride: 2 }), 'relu');
    const flat = reshape(x, [1, x.shape[1] as number, columns]);
    return linear(orderColumns(flat, order), project);
  };

  return (features: Tensor, order: Tensor, frames: number): Tensor => {
    const rows = Math.ceil(frames / JOINED);
    const parts: Tensor[] = [];
    for (let row = 0; row < rows; row += atOnce) {
      // A row sees the seven frames before its own, so that the row before it is computed, too, and left out.
      const before = row > 0 ? 1 : 0;
      const count = Math.min(atOnce, rows - row);
      const [from, end] = [JOINED * (row - before), Math.min(frames, JOINED * (row + count))];
      const made = convolve(takeTokens(features, from, end - from), order);
      parts.push(takeTokens(made, before, count));
      if (rows > atOnce) made.tape!.cut();
    }
    return joinRows(parts, [1, rows]);
  };
}
