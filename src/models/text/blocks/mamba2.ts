// Mamba-2: a state space model whose heads forget by a rate and a step that each row chooses. One projection gives the gates of the
// output, the heads' columns, B, C and steps; a short convolution mixes columns, B and C over time. The output's projection is left to
// the block, which adds it to the residual stream in its own way.

import { gateNorm } from '../../../kernels/gate-norm.ts';
import { linear } from '../../../kernels/matmul.ts';
import { scale } from '../../../kernels/scale.ts';
import { scanState, selectiveScan, type ScanHeads } from '../../../kernels/selective-scan.ts';
import { shortConv, shortConvState } from '../../../kernels/short-conv.ts';
import type { WeightTable } from '../../weights.ts';
import { slotsOf } from './kept-states.ts';
import type { SelfAttention } from './self-attention.ts';

export interface Mamba2Config {
  hidden: number;
  mamba: MambaShape;
}

export interface MambaShape extends ScanHeads {
  /** Tokens that the convolution spans. */
  taps: number;
  convBias: boolean;
  /** Whether the projections of the input and of the output have biases. */
  bias: boolean;
  outBias: boolean;
  /** Limits of the steps after softplus. */
  limits: readonly [least: number, most: number];
  eps: number;
  /** The norm of the output, by groups of heads: behind its gates, before them, or none. */
  norm: 'gated' | 'before gates' | 'none';
  /** Factors on parts of what the input is projected to, and on the output; left out: 1. */
  factors?: MambaFactors;
}

export interface MambaFactors {
  gates: number;
  columns: number;
  b: number;
  c: number;
  steps: number;
  out: number;
}

const ONE: MambaFactors = { gates: 1, columns: 1, b: 1, c: 1, steps: 1, out: 1 };

/** Columns of the heads, of B (and of C), and of what is convolved. */
function columnsOf({ heads, dims, groups, stateDims }: ScanHeads) {
  const values = heads * dims;
  const of = groups * stateDims;
  return { values, of, all: values + 2 * of };
}

/** Columns that the input is projected to. */
export function mambaColumns(shape: ScanHeads): number {
  const { values, all } = columnsOf(shape);
  return values + all + shape.heads;
}

/** f32 values of a sequence's state: that of the convolution, then that of the heads. */
export function mambaState(shape: MambaShape): number {
  return shortConvState(shape.taps, columnsOf(shape).all) + scanState(shape);
}

export function mamba2(config: Mamba2Config, weights: WeightTable, name: string): SelfAttention {
  const { hidden, mamba } = config;
  const { heads, taps, bias, outBias, groups, eps, limits, factors = ONE } = mamba;
  const { values, of, all } = columnsOf(mamba);
  const input = weights.matrix(`${name}.in_proj.weight`, mambaColumns(mamba), hidden, { bias });
  const kernel = weights.table(`${name}.conv1d.weight`, all, taps);
  const convBias = mamba.convBias ? weights.vector(`${name}.conv1d.bias`, all) : null;
  // GGUF files store -exp(A_log).
  const logarithms = !weights.has(`${name}.A`);
  const rates = weights.vector(`${name}.${logarithms ? 'A_log' : 'A'}`, heads);
  const skips = weights.vector(`${name}.D`, heads);
  const offsets = weights.vector(`${name}.dt_bias`, heads);
  const norm = mamba.norm === 'none' ? null : weights.vector(`${name}.norm.weight`, values);
  const out = weights.matrix(`${name}.out_proj.weight`, hidden, values, { bias: outBias });
  const first = shortConvState(taps, all);
  const stride = mambaState(mamba);
  const convolved = {
    activation: 'silu',
    bias: convBias,
    slotValues: stride,
    grouped: { groups: 1, stride: 0, runs: [values, of, of] },
    first: values,
    factors: [factors.columns, factors.b, factors.c],
  } as const;
  const stepping = { first: values + all, factor: factors.steps, limits, rates, logarithms, offsets, skips };
  const gating = { groups, eps, gateFirst: mamba.norm !== 'before gates', factor: factors.gates };

  return {
    attend(x, _, batch, kept) {
      const store = slotsOf(kept, name);
      const projected = linear(x, input); //                                  [rows, values + all + heads]
      const mixed = shortConv(projected, kernel, batch, store, convolved); // [rows, all]
      const steps = { ...stepping, raw: projected };
      const y = selectiveScan(mixed, steps, mamba, batch, { store, first, stride }); // [rows, values]
      const gated = gateNorm(y, norm, { x: projected, first: 0 }, gating); // [rows, values]
      return factors.out === 1 ? gated : scale(gated, factors.out);
    },
    out,
  };
}
