// The gated feed-forward block as the decoders share it. The last projection is left to the block, which adds it to the residual stream in
// its own way.

import type { Tensor } from '../../../gpu/tensor.ts';
import { linearSwiglu, linearTanhGeglu } from '../../../kernels/matmul.ts';
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
}

const NAMES = { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' };
const UNITS = { silu: linearSwiglu, 'gelu-tanh': linearTanhGeglu } as const;

/** `gate`: activation(x · gateᵀ) · (x · upᵀ), x [rows, hidden] → [rows, ffn]; `down`: [hidden, ffn] */
export function gatedMlp(
  { hidden, ffn, mlpBias: bias = false, mlpNames = NAMES, fusedGateUp = false }: MlpConfig,
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
  return { gate: (x: Rows): Tensor => unit(x, gateUp), down: last };
}
