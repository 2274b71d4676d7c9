// The vision tower of Gemma 4: patches of an image in a size near its own pass transformer layers that know columns and rows by learned
// positions and by rotation, each row is the mean of a square of patches, and a norm and one product make the rows fit for the language model.

import type { Tensor } from '../../gpu/tensor.ts';
import { addRows } from '../../kernels/add-rows.ts';
import { attend, SEGMENT_WORK, type HeadsOf } from '../../kernels/attend.ts';
import { centreColumns } from '../../kernels/centre-columns.ts';
import { joinRows, takeRows } from '../../kernels/copy-rows.ts';
import { linear, linearTanhGeglu } from '../../kernels/matmul.ts';
import { mixRows } from '../../kernels/mix-rows.ts';
import { multiply } from '../../kernels/multiply.ts';
import { reshape } from '../../kernels/reshape.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { rmsnormAdd } from '../../kernels/rmsnorm-add.ts';
import { rotate } from '../../kernels/rotate.ts';
import { clippedLinear } from '../clipped-linear.ts';
import type { Tower } from '../media.ts';
import { inTurns, tilesAtOnce } from '../tile-turns.ts';
import type { WeightTable } from '../weights.ts';
import type { Gemma4VisionConfig } from './gemma4-config.ts';

const TOWER = 'vision_tower.';

/**
 * Inputs: `patches` [frames, n, 3 · patch²]; `places` u32 and `parts` [n, 2], the two rows of learned positions of a patch and their shares;
 * `rotations` [n, dims], angles of columns, then of rows; `sources` u32 and `shares` [rows, pooled²], the patches of each row of a frame and
 * their shares. → rows frame by frame, [1, frames · rows, out]
 */
export function gemma4Vision(config: Gemma4VisionConfig, weights: WeightTable): Tower {
  const { hidden, patch, positions, eps, out, ffn, heads, dims } = config;
  const embed = weights.matrix(`${TOWER}patch_embedder.input_proj.weight`, hidden, 3 * patch ** 2);
  const name = `${TOWER}patch_embedder.position_embedding_table`;
  const table = weights.table(name, 2, positions * hidden, [positions, hidden]);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    layer(config, weights, `${TOWER}encoder.layers.${i}`),
  );
  const [bias, scale] = config.standardized
    ? ['std_bias', 'std_scale'].map((one) => weights.vector(`${TOWER}${one}`, hidden))
    : [];
  const project = weights.matrix('embed_vision.embedding_projection.weight', out, hidden);

  return (inputs) => {
    const { patches, rotations, sources, shares } = inputs as Record<string, Tensor>;
    const [frames, n] = patches!.shape as [number, number];
    const rows = sources!.shape[0] as number;
    const tables = reshape(table.on(patches!.tape!), [2 * positions, hidden]);
    const places = mixRows(tables, inputs['places']!, inputs['parts']!); // [n, hidden]
    const atOnce = tilesAtOnce(n * Math.max(ffn, 3 * heads * dims));
    const made = inTurns(patches!, atOnce, (some) => {
      let x = addRows(linear(some, embed), places); //             [frames, n, hidden]
      for (const run of layers) x = run(x, rotations!);
      const count = some.shape[0] as number;
      const means = Array.from({ length: count }, (_, i) =>
        mixRows(takeRows(x, i * n, [n]), sources!, shares!),
      );
      const pooled = joinRows(means, [count, rows]); //            [frames, rows, hidden]
      const states = bias ? centreColumns(pooled, bias, scale!) : pooled;
      return linear(rmsnorm(states, null, eps), project);
    });
    return [joinRows(made, [1, frames * rows])];
  };
}

function layer(config: Gemma4VisionConfig, weights: WeightTable, name: string) {
  const { hidden, eps } = config;
  const norm = (module: string): Tensor => weights.vector(`${name}.${module}.weight`, hidden);
  const beforeAttention = norm('input_layernorm');
  const attention = selfAttention(config, weights, `${name}.self_attn`);
  const behindAttention = norm('post_attention_layernorm');
  const beforeMlp = norm('pre_feedforward_layernorm');
  const feed = feedForward(config, weights, `${name}.mlp`);
  const behindMlp = norm('post_feedforward_layernorm');

  return (x: Tensor, rotations: Tensor): Tensor => {
    const attended = attention(rmsnorm(x, beforeAttention, eps), rotations);
    x = rmsnormAdd(attended, behindAttention, eps, null, x);
    x = rmsnormAdd(feed(rmsnorm(x, beforeMlp, eps)), behindMlp, eps, null, x);
    x.tape!.cut();
    return x; // [frames, n, hidden]
  };
}

function selfAttention(config: Gemma4VisionConfig, weights: WeightTable, name: string) {
  const { hidden, heads, kvHeads, dims, eps, clipped } = config;
  const project = projections(config, weights, name);
  const [q, k] = ['q_norm', 'k_norm'].map((one) => ({
    weight: weights.vector(`${name}.${one}.weight`, dims),
    eps,
  }));
  const out = clippedLinear(clipped, weights, `${name}.o_proj`, [hidden, heads * dims], 'rows');

  return (x: Tensor, rotations: Tensor): Tensor => {
    const [queries, keys, values] = project(x);
    for (const [one, norm, count] of [
      [queries, q, heads],
      [keys, k, kvHeads],
      [values, { weight: null, eps }, kvHeads],
    ] as const) {
      rotate(one, null, { heads: count, dims, layout: 'halves', norm });
      // Each half of a head turns by itself, by its column and by its row.
      if (one !== values) rotate(one, rotations, { heads: 2 * count, dims: dims / 2, layout: 'halves' });
    }
    // Norms of queries and keys set the scale of the scores.
    return out(attend(queries, keys, values, { heads, kvHeads, dims, scale: 1, mostWork: SEGMENT_WORK }));
  };
}

/** Queries, keys and values; one product makes all three where nothing is clipped. */
function projections(
  { hidden, heads, kvHeads, dims, clipped }: Gemma4VisionConfig,
  weights: WeightTable,
  name: string,
): (x: Tensor) => [q: HeadsOf, k: HeadsOf, v: HeadsOf] {
  const [q, kv] = [heads * dims, kvHeads * dims];
  const parts = { q_proj: q, k_proj: kv, v_proj: kv };
  if (clipped) {
    const each = Object.entries(parts).map(([part, rows]) =>
      clippedLinear(true, weights, `${name}.${part}`, [rows, hidden], 'columns'),
    );
    return (x) => each.map((run) => ({ x: run(x), first: 0 })) as [HeadsOf, HeadsOf, HeadsOf];
  }
  const stacked = Object.entries(parts).map(([part, rows]) => ({
    name: `${name}.${part}.linear.weight`,
    rows,
  }));
  const qkv = weights.stacked(stacked, hidden, { split: 'columns' });
  return (x) => {
    const y = linear(x, qkv); // [frames, n, (heads + 2 · kvHeads) · dims]
    return [0, q, q + kv].map((first) => ({ x: y, first })) as [HeadsOf, HeadsOf, HeadsOf];
  };
}

function feedForward({ hidden, ffn, clipped }: Gemma4VisionConfig, weights: WeightTable, name: string) {
  if (clipped) {
    const [gate, up] = ['gate_proj', 'up_proj'].map((part) =>
      clippedLinear(true, weights, `${name}.${part}`, [ffn, hidden], 'columns'),
    );
    const down = clippedLinear(true, weights, `${name}.down_proj`, [hidden, ffn], 'rows');
    return (x: Tensor): Tensor => down(multiply(gate!(x, 'gelu-tanh'), up!(x), ffn));
  }
  const [gate, up] = ['gate_proj', 'up_proj'].map((part) => `${name}.${part}.linear.weight`);
  const gateUp = weights.gateUp(gate!, up!, ffn, hidden);
  const down = weights.matrix(`${name}.down_proj.linear.weight`, hidden, ffn, { split: 'rows' });
  return (x: Tensor): Tensor => linear(linearTanhGeglu(x, gateUp), down);
}
