// The feed-forward blocks as the decoders share them, with a gate and without. The last projection is left to the block, which adds it to the residual stream in
// its own way.

import type { Tensor } from '../../../gpu/tensor.ts';
import type { GateFactors } from '../../../kernels/gated.ts';
import { linear, linearScaledSwiglu, linearSwiglu, linearTanhGeglu } from '../../../kernels/matmul.ts';
import type { Activation } from '../../../kernels/activation.ts';
import type { Rows } from '../../../kernels/normed.ts';
import type { WeightTable } from '../../weights.ts';

export interface MlpConfig {
  hidden: number;
  ffn: number;
  mlpBias?: boolean;
  /** Names of the projections; left out: gate_proj, up_proj, down_proj, and gate_up_proj. */
  mlpNames?: { gate: string; up: string; down: string; gateUp?: string };
  /** Gate and up are the halves of one tensor. */
  fusedGateUp?: boolean;
  /** Factors on gates before silu, and on what the last projection reads; left out: none. */
  mlpFactors?: GateFactors;
}

const NAMES = { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' };
const UNITS = { silu: linearSwiglu, 'gelu-tanh': linearTanhGeglu } as const;

/** `gate`: activation(x · gateᵀ) · (x · upᵀ), x [rows, hidden] → [rows, ffn]; `down`: [hidden, ffn] */
export function gatedMlp(
  { hidden, ffn, mlpBias: bias = false, mlpNames = NAMES, fusedGateUp = false, mlpFactors }: MlpConfig,
  weights: WeightTable,
  name: string,
  activation: keyof typeof UNITS = 'silu',
) {
  const { gate, up, down, gateUp: both = 'gate_up_proj' } = mlpNames;
  const gateUp = fusedGateUp
    ? weights.halves(`${name}.${both}.weight`, ffn, hidden, { bias })
    : weights.gateUp(`${name}.${gate}.weight`, `${name}.${up}.weight`, ffn, hidden, { bias });
  const last = weights.matrix(`${name}.${down}.weight`, hidden, ffn, { bias, split: 'rows' });
  const unit = UNITS[activation];
  return {
    gate: (x: Rows): Tensor => (mlpFactors ? linearScaledSwiglu(x, gateUp, mlpFactors) : unit(x, gateUp)),
    down: last,
  };
}

/** `up`: activation(x · upᵀ), x [rows, hidden] → [rows, ffn]; `down`: [hidden, ffn]; for blocks without a gate. */
export function plainMlp(
  { hidden, ffn }: Pick<MlpConfig, 'hidden' | 'ffn'>,
  weights: WeightTable,
  name: string,
  activation: Activation,
) {
  const up = weights.matrix(`${name}.${NAMES.up}.weight`, ffn, hidden, { split: 'columns' });
  const down = weights.matrix(`${name}.${NAMES.down}.weight`, hidden, ffn, { split: 'rows' });
  return { up: (x: Rows): Tensor => linear(x, up, { activation }), down };
}
