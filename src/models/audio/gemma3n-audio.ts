// Gemma 3n's encoder of sounds, of the kind of the Universal Speech Model: two convolutions, with norms over all rows so far, make a row of four
// frames; layers follow, of which one row in four is kept. Every sound has as many rows: a token fills it up, and another ends it.

import type { Tensor } from '../../gpu/tensor.ts';
import { conv2d } from '../../kernels/conv2d.ts';
import { fillTokens, joinTokens, takeTokens } from '../../kernels/copy-rows.ts';
import { cumulativeNorm } from '../../kernels/cumulative-norm.ts';
import { linear } from '../../kernels/matmul.ts';
import { reshape } from '../../kernels/reshape.ts';
import { takeColumns } from '../../kernels/take-columns.ts';
import type { Tower } from '../media.ts';
import type { WeightTable } from '../weights.ts';
import { conformerLayer, type ConformerNames, type LinearOf } from './conformer.ts';
import type { Gemma3nAudioConfig } from './gemma3n-audio-config.ts';
import { gemma3nEmbedder } from './gemma3n-embedder.ts';

const TOWER = 'audio_tower.';
const EMBEDDER = 'embed_audio.';
const NAMES: ConformerNames = {
  first: 'ffw_layer_start',
  beforeAttention: 'attention.pre_attn_norm',
  attention: 'attention.attn',
  relative: 'attention.attn.relative_position_embedding.pos_proj',
  out: 'attention.post',
  behindAttention: 'attention.post_norm',
  second: 'ffw_layer_end',
  last: 'norm',
};

/** Rows of which the encoder keeps one. */
export const KEPT = 4;

/** Sizes of a sound. */
export interface Gemma3nLayout {
  /** Frames of the sound with the silence behind it, of which transformers computes features. */
  frames: number;
  /** Rows of the sound, without what fills it up. */
  rows: number;
}

/** Frames that the convolutions read for so many rows, the one before the first among them. */
export function framesRead(rows: number): number {
  return 16 * rows + 4;
}

/**
 * Inputs: `features` [1, framesRead(rows), mels, 1], zeros before the first frame and behind the last; `places` [before + 1, hidden], waves of the
 * distances; `layout`: Gemma3nLayout → [1, tokens + 1, out]
 */
export function gemma3nAudio(config: Gemma3nAudioConfig, weights: WeightTable): Tower {
  const { hidden } = config;
  const linearOf: LinearOf = (name, [rows, k], split) => {
    const matrix = weights.matrix(`${name}.weight`, rows, k, { split });
    return (x, activation) => linear(x, matrix, activation && { activation });
  };
  const convolve = convolutions(config, weights);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    conformerLayer(config, weights, `${TOWER}conformer.${i}`, NAMES, linearOf),
  );
  const embed = embedder(config, weights);

  return ({ features, places }, layout) => {
    const { frames, rows } = layout as Gemma3nLayout;
    let x = convolve(features!, { frames, rows }); // [1, 4 · rows, hidden]
    for (const run of layers) x = run(x, places!);
    const kept = takeColumns({ x: reshape(x, [1, rows, KEPT * hidden]), first: 0 }, hidden);
    return [embed(kept)];
  };
}

/**
 * Frames → rows, each of four frames from its own on. A convolution here begins one row earlier, so that there is a row before the first that
 * does not count; rows beyond the sound's last one are zeros.
 */
function convolutions({ channels, mels, hidden, convEps }: Gemma3nAudioConfig, weights: WeightTable) {
  const root = `${TOWER}subsample_conv_projection.`;
  const [first, second] = channels.map((count, i) => ({
    weight: weights.conv(`${root}conv_${i}.conv.weight`, count, i === 0 ? 1 : channels[0], 3, {
      bias: false,
      stride: 2,
    }),
    norm: weights.vector(`${root}conv_${i}.norm.weight`, count),
  }));
  const columns = Math.ceil(Math.ceil(mels / 2) / 2) * channels[1];
  const project = weights.matrix(`${root}input_proj_linear.weight`, hidden, columns);

  return (features: Tensor, { frames, rows }: Gemma3nLayout): Tensor => {
    let x = features; // [1, frames, mels, 1]
    let count = frames;
    for (const { weight, norm } of [first!, second!]) {
      count = Math.ceil(count / 2);
      x = cumulativeNorm(conv2d(x, weight, { stride: 2 }), norm, { eps: convEps, first: 1, end: 1 + count });
    }
    const flat = reshape(x, [1, x.shape[1] as number, columns]);
    return linear(takeTokens(flat, 1, KEPT * rows), project);
  };
}

/** Rows of the encoder as rows of the language model, [1, tokens + 1, out]. */
function embedder(config: Gemma3nAudioConfig, weights: WeightTable) {
  const { rows, token } = gemma3nEmbedder(config, weights, EMBEDDER);
  const { filler, end, tokens, out } = config;
  return (x: Tensor): Tensor => {
    const fill = reshape(token(x.tape!, filler), [1, out]);
    return joinTokens(fillTokens(rows(x), fill, tokens), token(x.tape!, end));
  };
}
