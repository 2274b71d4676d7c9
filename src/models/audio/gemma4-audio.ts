// Gemma 4's encoder of sounds, of the kind of the Universal Speech Model: two convolutions make a row of four frames; layers of two
// feed-forward blocks around attention to near rows and a convolution; a norm and one product make the rows fit for the language model.

import type { Tensor } from '../../gpu/tensor.ts';
import { activation } from '../../kernels/activation.ts';
import { conv2d } from '../../kernels/conv2d.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear } from '../../kernels/matmul.ts';
import { reshape } from '../../kernels/reshape.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { clippedLinear } from '../clipped-linear.ts';
import type { Tower } from '../media.ts';
import type { WeightTable } from '../weights.ts';
import { conformerLayer, type ConformerNames, type LinearOf } from './conformer.ts';
import type { Gemma4AudioConfig } from './gemma4-audio-config.ts';

const TOWER = 'audio_tower.';
const NAMES: ConformerNames = {
  first: 'feed_forward1',
  beforeAttention: 'norm_pre_attn',
  attention: 'self_attn',
  relative: 'self_attn.relative_k_proj',
  out: 'self_attn.post',
  behindAttention: 'norm_post_attn',
  second: 'feed_forward2',
  last: 'norm_out',
};

/** Inputs: `features` [1, frames, mels, 1]; `places` [before + 1 + after, hidden], waves of the distances. → [1, rows, out] */
export function gemma4Audio(config: Gemma4AudioConfig, weights: WeightTable): Tower {
  const { hidden, made, out, eps, clipped } = config;
  const linearOf: LinearOf = (name, shape, split) => clippedLinear(clipped, weights, name, shape, split);
  const convolve = convolutions(config, weights);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    conformerLayer(config, weights, `${TOWER}layers.${i}`, NAMES, linearOf),
  );
  const behind = weights.matrix(`${TOWER}output_proj.weight`, made, hidden, { bias: true });
  const project = weights.matrix('embed_audio.embedding_projection.weight', out, made);

  return ({ features, places }) => {
    let x = convolve(features!); // [1, rows, hidden]
    for (const run of layers) x = run(x, places!);
    return [linear(rmsnorm(linear(x, behind), null, eps), project)];
  };
}

/** Frames of a sound → rows, each of four frames. */
function convolutions({ channels, hidden, eps }: Gemma4AudioConfig, weights: WeightTable) {
  const root = `${TOWER}subsample_conv_projection.`;
  const steps = channels.map((count, i) => ({
    weight: weights.conv(`${root}layer${i}.conv.weight`, count, i === 0 ? 1 : channels[0], 3, {
      bias: false,
      stride: 2,
    }),
    norm: { weight: weights.vector(`${root}layer${i}.norm.weight`, count), bias: null },
  }));
  const columns = Math.floor(channels[0] / 4) * channels[1];
  const project = weights.matrix(`${root}input_proj_linear.weight`, hidden, columns);

  return (features: Tensor): Tensor => {
    let x = features; // [1, frames, mels, 1]
    for (const { weight, norm } of steps)
      x = activation(layernorm(conv2d(x, weight, { stride: 2 }), norm, eps), 'relu');
    return linear(reshape(x, [1, x.shape[1] as number, columns]), project); // [1, rows, hidden]
  };
}
