// Layers of encoders of the kind of the Universal Speech Model: two feed-forward blocks around attention to near rows and a convolution.

import type { Tensor } from '../../gpu/tensor.ts';
import { activation } from '../../kernels/activation.ts';
import { gluConv } from '../../kernels/glu-conv.ts';
import { nearAttend } from '../../kernels/near-attend.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { rmsnormAdd } from '../../kernels/rmsnorm-add.ts';
import { scaledAdd } from '../../kernels/scaled-add.ts';
import { linear } from '../../kernels/matmul.ts';
import type { LinearLayer } from '../clipped-linear.ts';
import { placesUpTo, sineRows } from '../sines.ts';
import type { MatrixOptions, WeightTable } from '../weights.ts';

export interface ConformerConfig {
  hidden: number;
  heads: number;
  /** Rows of the convolution of a layer. */
  taps: number;
  /** Rows before and behind its own that a row sees. */
  before: number;
  after: number;
  /** Distance that the farthest row before stands for. */
  farthest: number;
  cap: number;
  /** Factors on queries and keys. */
  gains: { q: number; k: number };
  /** Factor on what a feed-forward block adds. */
  share: number;
  eps: number;
}

/** Names of a layer's modules. */
export interface ConformerNames {
  first: string;
  beforeAttention: string;
  /** Module of the projections of queries, keys and values. */
  attention: string;
  relative: string;
  out: string;
  behindAttention: string;
  second: string;
  last: string;
}

/** The linear layer `name`, [rows, k]. */
export type LinearOf = (
  name: string,
  shape: readonly [rows: number, k: number],
  split: MatrixOptions['split'],
) => LinearLayer;

/** Of the norms that take no eps of the configuration. */
const EPS = 1e-6;

/** x [1, rows, hidden], places [before + 1 + after, hidden], waves of the distances → [1, rows, hidden] */
type ConformerLayer = (x: Tensor, places: Tensor) => Tensor;

export function conformerLayer(
  config: ConformerConfig,
  weights: WeightTable,
  name: string,
  names: ConformerNames,
  linearOf: LinearOf,
): ConformerLayer {
  const { hidden } = config;
  const norm = (module: string) => weights.vector(`${name}.${module}.weight`, hidden);
  const first = feedForward(config, weights, `${name}.${names.first}`, linearOf);
  const before = norm(names.beforeAttention);
  const attention = selfAttention(config, weights, name, names, linearOf);
  const behind = norm(names.behindAttention);
  const convolve = convolution(config, weights, `${name}.lconv1d`, linearOf);
  const second = feedForward(config, weights, `${name}.${names.second}`, linearOf);
  const last = norm(names.last);

  return (x, places) => {
    x = first(x);
    x = rmsnormAdd(attention(rmsnorm(x, before, EPS), places), behind, EPS, null, x);
    x = scaledAdd(convolve(x), 1, x);
    x = rmsnorm(second(x), last, EPS); // [1, rows, hidden]
    x.tape!.cut();
    return x;
  };
}

/** x + share · norm(block(norm(x))) */
function feedForward(
  { hidden, share }: ConformerConfig,
  weights: WeightTable,
  name: string,
  linearOf: LinearOf,
) {
  const before = weights.vector(`${name}.pre_layer_norm.weight`, hidden);
  const up = linearOf(`${name}.ffw_layer_1`, [4 * hidden, hidden], 'columns');
  const down = linearOf(`${name}.ffw_layer_2`, [hidden, 4 * hidden], 'rows');
  const behind = weights.vector(`${name}.post_layer_norm.weight`, hidden);

  return (x: Tensor): Tensor =>
    scaledAdd(rmsnorm(down(up(rmsnorm(x, before, EPS), 'silu')), behind, EPS), share, x);
}

function selfAttention(
  { hidden, heads, before, after, cap, gains }: ConformerConfig,
  weights: WeightTable,
  name: string,
  names: ConformerNames,
  linearOf: LinearOf,
) {
  const dims = hidden / heads;
  const module = `${name}.${names.attention}`;
  const [q, k, v] = ['q_proj', 'k_proj', 'v_proj'].map((part) =>
    linearOf(`${module}.${part}`, [hidden, hidden], 'columns'),
  );
  const out = linearOf(`${name}.${names.out}`, [hidden, hidden], 'rows');
  const relative = weights.matrix(`${name}.${names.relative}.weight`, hidden, hidden);
  const spread = weights.vector(`${module}.per_dim_scale`, dims);

  return (x: Tensor, places: Tensor): Tensor => {
    const all = [q!(x), k!(x), v!(x)] as const;
    return out(nearAttend(all, linear(places, relative), spread, { heads, dims, before, after, cap, gains }));
  };
}

/** linear(silu(norm(conv(glu(linear(norm(x))))))) */
function convolution(
  { hidden, taps, eps }: ConformerConfig,
  weights: WeightTable,
  name: string,
  linearOf: LinearOf,
) {
  const before = weights.vector(`${name}.pre_layer_norm.weight`, hidden);
  const start = linearOf(`${name}.linear_start`, [2 * hidden, hidden], 'columns');
  const kernels = weights.table(`${name}.depthwise_conv1d.weight`, hidden, taps, [1, taps]);
  const norm = weights.vector(`${name}.conv_norm.weight`, hidden);
  const end = linearOf(`${name}.linear_end`, [hidden, hidden], 'rows');

  return (x: Tensor): Tensor => {
    const mixed = gluConv(start(rmsnorm(x, before, eps)), kernels.on(x.tape!)); // [1, rows, hidden]
    return end(activation(rmsnorm(mixed, norm, eps), 'silu'));
  };
}

/** Waves of the distances of the rows that a row sees, the farthest before it first: sines, then cosines; rows beyond the last distance are zeros. */
export function distanceWaves({ hidden, before, after, farthest }: ConformerConfig): {
  shape: [rows: number, hidden: number];
  data: Float32Array<ArrayBuffer>;
} {
  const rows = before + 1 + after;
  const distances = placesUpTo(Math.min(rows, farthest + 1)).map((row) => farthest - row);
  const data = new Float32Array(rows * hidden);
  data.set(sineRows(distances, hidden));
  return { shape: [rows, hidden], data };
}
