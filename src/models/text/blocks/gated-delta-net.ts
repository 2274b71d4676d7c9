// Gated DeltaNet: linear attention whose state forgets by a learned rate and corrects what it has stored under a key. One projection
// gives queries, keys, values and the gates of the output; a short convolution mixes the first three over time. The output's
// projection is left to the block, which adds it to the residual stream in its own way.

import { deltaState, gatedDelta, type DeltaHeads } from '../../../kernels/gated-delta.ts';
import { gatedRmsnorm } from '../../../kernels/gated-rmsnorm.ts';
import { linear } from '../../../kernels/matmul.ts';
import { shortConv, shortConvState } from '../../../kernels/short-conv.ts';
import type { WeightTable } from '../../weights.ts';
import { slotsOf } from './kept-states.ts';
import type { SelfAttention } from './self-attention.ts';

export interface DeltaNetConfig {
  hidden: number;
  eps: number;
  delta: DeltaHeads & {
    /** Tokens that the convolution spans. */
    taps: number;
  };
}

/** Columns of queries, keys and values, and of values alone. */
export function deltaColumns({ keyHeads, keyDims, heads, dims }: DeltaHeads): {
  all: number;
  values: number;
} {
  return { all: 2 * keyHeads * keyDims + heads * dims, values: heads * dims };
}

/** f32 values of a sequence's state: that of the convolution, then that of the heads. */
export function deltaNetState(delta: DeltaNetConfig['delta']): number {
  return shortConvState(delta.taps, deltaColumns(delta).all) + deltaState(delta);
}

export function gatedDeltaNet(config: DeltaNetConfig, weights: WeightTable, name: string): SelfAttention {
  const { hidden, eps, delta } = config;
  const { heads, dims, taps } = delta;
  const { all, values } = deltaColumns(delta);
  const { matrix: input, grouped, gatesAt } = projection(config, weights, name);
  const { matrix: gates, run } = gateProjection(config, weights, name);
  const kernel = weights.table(`${name}.conv1d.weight`, all, taps);
  // GGUF files store -exp(A_log).
  const logarithms = !weights.has(`${name}.A`);
  const rates = weights.vector(`${name}.${logarithms ? 'A_log' : 'A'}`, heads);
  const offsets = weights.vector(`${name}.dt_bias`, heads);
  const norm = weights.vector(`${name}.norm.weight`, dims);
  const out = weights.matrix(`${name}.out_proj.weight`, hidden, values, { split: 'rows' });
  const slotValues = deltaNetState(delta);
  const first = shortConvState(taps, all);

  return {
    attend(x, _, batch, kept) {
      const store = slotsOf(kept, name);
      const projected = linear(x, input); //                                     [rows, all + values]
      const qkv = shortConv(projected, kernel, batch, store, { activation: 'silu', slotValues, grouped }); // [rows, all]
      const raw = linear(x, gates); //                                           [rows, 2 · heads]
      const slots = { store, first, stride: slotValues };
      const y = gatedDelta(qkv, { raw, run, rates, logarithms, offsets }, delta, batch, slots); // [rows, values]
      return gatedRmsnorm(y, norm, { x: projected, ...gatesAt }, eps); //        [rows, values]
    },
    out,
  };
}

/** Queries, keys, values and gates: in Qwen3-Next one tensor, by key head; otherwise one after the other. */
function projection({ hidden, delta }: DeltaNetConfig, weights: WeightTable, name: string) {
  const { keyHeads, keyDims, heads, dims } = delta;
  const { all, values } = deltaColumns(delta);
  const fused = `${name}.in_proj_qkvz.weight`;
  if (!weights.has(fused)) {
    const parts = [
      { name: `${name}.in_proj_qkv.weight`, rows: all },
      { name: `${name}.in_proj_z.weight`, rows: values },
    ];
    const matrix = weights.stacked(parts, hidden, { split: 'columns' });
    return { matrix, grouped: null, gatesAt: { first: all, run: heads, stride: 0 } };
  }
  const run = heads / keyHeads;
  const stride = 2 * keyDims + 2 * run * dims;
  const runs = [keyDims, keyDims, run * dims] as const;
  const matrix = weights.matrix(fused, all + values, hidden, { split: 'columns' });
  const gatesAt = { first: 2 * keyDims + run * dims, run, stride };
  return { matrix, grouped: { groups: keyHeads, stride, runs }, gatesAt };
}

/** Rates of learning, and of decay: in Qwen3-Next one tensor, by key head; otherwise one after the other. */
function gateProjection({ hidden, delta }: DeltaNetConfig, weights: WeightTable, name: string) {
  const { keyHeads, heads } = delta;
  const fused = `${name}.in_proj_ba.weight`;
  if (weights.has(fused)) return { matrix: weights.router(fused, 2 * heads, hidden), run: heads / keyHeads };
  const parts = ['b', 'a'].map((gate) => ({ name: `${name}.in_proj_${gate}.weight`, rows: heads }));
  return { matrix: weights.gates(parts, hidden), run: heads };
}
