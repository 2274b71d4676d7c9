// Gemma 4's encoder of sounds, of the kind of the Universal Speech Model: two convolutions make a row of four frames; layers of two
// feed-forward blocks around attention to near rows and a convolution; a norm and one product make the rows fit for the language model.

import type { Tensor } from '../../gpu/tensor.ts';
import { activation } from '../../kernels/activation.ts';
import { conv2d } from '../../kernels/conv2d.ts';
import { gluConv } from '../../kernels/glu-conv.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear } from '../../kernels/matmul.ts';
import { nearAttend } from '../../kernels/near-attend.ts';
import { reshape } from '../../kernels/reshape.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { rmsnormAdd } from '../../kernels/rmsnorm-add.ts';
import { scaledAdd } from '../../kernels/scaled-add.ts';
import { clippedLinear } from '../clipped-linear.ts';
import type { Tower } from '../media.ts';
import type { WeightTable } from '../weights.ts';
import type { Gemma4AudioConfig } from './gemma4-audio-config.ts';

const TOWER = 'audio_tower.';
/** Of the norms that take no eps of the configuration. */
const EPS = 1e-6;

/** Inputs: `features` [1, frames, mels, 1]; `places` [before + 1 + after, hidden], waves of the distances. → [1, rows, out] */
export function gemma4Audio(config: Gemma4AudioConfig, weights: WeightTable): Tower {
  const { hidden, made, out, eps } = config;
  const convolve = convolutions(config, weights);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    layer(config, weights, `${TOWER}layers.${i}`),
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

function layer(config: Gemma4AudioConfig, weights: WeightTable, name: string) {
  const { hidden } = config;
  const first = feedForward(config, weights, `${name}.feed_forward1`);
  const before = weights.vector(`${name}.norm_pre_attn.weight`, hidden);
  const attention = selfAttention(config, weights, `${name}.self_attn`);
  const behind = weights.vector(`${name}.norm_post_attn.weight`, hidden);
  const convolve = convolution(config, weights, `${name}.lconv1d`);
  const second = feedForward(config, weights, `${name}.feed_forward2`);
  const last = weights.vector(`${name}.norm_out.weight`, hidden);

  return (x: Tensor, places: Tensor): Tensor => {
    x = first(x);
    x = rmsnormAdd(attention(rmsnorm(x, before, EPS), places), behind, EPS, null, x);
    x = scaledAdd(convolve(x), 1, x);
    x = rmsnorm(second(x), last, EPS); // [1, rows, hidden]
    x.tape!.cut();
    return x;
  };
}

/** x + share · norm(block(norm(x))) */
function feedForward({ hidden, share, clipped }: Gemma4AudioConfig, weights: WeightTable, name: string) {
  const before = weights.vector(`${name}.pre_layer_norm.weight`, hidden);
  const up = clippedLinear(clipped, weights, `${name}.ffw_layer_1`, [4 * hidden, hidden], 'columns');
  const down = clippedLinear(clipped, weights, `${name}.ffw_layer_2`, [hidden, 4 * hidden], 'rows');
  const behind = weights.vector(`${name}.post_layer_norm.weight`, hidden);

  return (x: Tensor): Tensor =>
    scaledAdd(rmsnorm(down(up(rmsnorm(x, before, EPS), 'silu')), behind, EPS), share, x);
}

function selfAttention(config: Gemma4AudioConfig, weights: WeightTable, name: string) {
  const { hidden, heads, before, after, cap, clipped } = config;
  const dims = hidden / heads;
  const [q, k, v] = ['q_proj', 'k_proj', 'v_proj'].map((part) =>
    clippedLinear(clipped, weights, `${name}.${part}`, [hidden, hidden], 'columns'),
  );
  const out = clippedLinear(clipped, weights, `${name}.post`, [hidden, hidden], 'rows');
  const relative = weights.matrix(`${name}.relative_k_proj.weight`, hidden, hidden);
  const spread = weights.vector(`${name}.per_dim_scale`, dims);
  // Softplus of zero is log 2, that of one log(1 + e).
  const gains = { q: dims ** -0.5 / Math.log(2), k: Math.log(1 + Math.E) / Math.log(2) };

  return (x: Tensor, places: Tensor): Tensor => {
    const all = [q!(x), k!(x), v!(x)] as const;
    return out(nearAttend(all, linear(places, relative), spread, { heads, dims, before, after, cap, gains }));
  };
}

/** linear(silu(norm(conv(glu(linear(norm(x))))))) */
function convolution({ hidden, taps, eps, clipped }: Gemma4AudioConfig, weights: WeightTable, name: string) {
  const before = weights.vector(`${name}.pre_layer_norm.weight`, hidden);
  const start = clippedLinear(clipped, weights, `${name}.linear_start`, [2 * hidden, hidden], 'columns');
  const kernels = weights.table(`${name}.depthwise_conv1d.weight`, hidden, taps, [1, taps]);
  const norm = weights.vector(`${name}.conv_norm.weight`, hidden);
  const end = clippedLinear(clipped, weights, `${name}.linear_end`, [hidden, hidden], 'rows');

  return (x: Tensor): Tensor => {
    const mixed = gluConv(start(rmsnorm(x, before, eps)), kernels.on(x.tape!)); // [1, rows, hidden]
    return end(activation(rmsnorm(mixed, norm, eps), 'silu'));
  };
}

/** Waves of the distances of the rows that a row sees, the farthest before it first: sines, then cosines; rows beyond the last distance are zeros. */
export function distanceWaves({ hidden, before, after, farthest }: Gemma4AudioConfig): {
  shape: [rows: number, hidden: number];
  data: Float32Array<ArrayBuffer>;
} {
  const half = hidden / 2;
  const rows = before + 1 + after;
  const step = Math.log(10000) / Math.max(half - 1, 1);
  const data = new Float32Array(rows * hidden);
  for (let row = 0; row < rows; row++) {
    const distance = farthest - row;
    if (distance < 0) break;
    for (let i = 0; i < half; i++) {
      const angle = distance * Math.exp(-i * step);
      data[row * hidden + i] = Math.sin(angle);
      data[row * hidden + half + i] = Math.cos(angle);
    }
  }
  return { shape: [rows, hidden], data };
}
