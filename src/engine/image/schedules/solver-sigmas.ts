// Timesteps and sigmas of the multistep solvers, DPM-Solver and UniPC: whole timesteps over one point more than steps, or
// sigmas respaced over all trained levels, or a shifted line of flow sigmas.

import { readLevels, type Levels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { interpolate, readRespacing, respace, timestepOf, type Respacing } from './sigmas.ts';
import { readSpacing, roundHalfEven, visitedAbove, type SpacingConfig } from './spacing.ts';

export interface SolverLevels {
  levels: Levels;
  spacing: SpacingConfig;
  respacing: Respacing;
  /** Whether x = (1 − σ)·clean + σ·noise instead of α² + σ² = 1. */
  flow: boolean;
  flowShift: number;
  /** Whether the last step ends at sigma zero; if not, it ends at the lowest level. */
  toZero: boolean;
}

export interface SolverTable {
  timesteps: number[];
  /** Sigma at each timestep and after the last: [timesteps + 1]. */
  sigmas: number[];
}

/** `singlestep`: the class has no "timestep_spacing" and no zero terminal SNR. */
export function readSolverLevels(config: ConfigReader, singlestep = false): SolverLevels {
  return {
    levels: readLevels(config, { zeroSnr: singlestep ? 'none' : 'almost' }),
    spacing: singlestep ? { spacing: 'linspace', offset: 0 } : readSpacing(config, 'linspace'),
    respacing: readRespacing(config),
    flow: config.flag('use_flow_sigmas', false),
    flowShift: config.number('flow_shift', 1),
    toZero: config.choice('final_sigmas_type', 'zero', ['zero', 'sigma_min']) === 'zero',
  };
}

/** Sigmas at whole timesteps. `last`: number of trained timesteps that may be visited. */
export function plainTable(solver: SolverLevels, steps: number, last: number): SolverTable {
  return tableAt(solver, visitedAbove(solver.spacing, solver.levels.count, last, steps));
}

export function tableAt({ levels, toZero }: SolverLevels, timesteps: number[]): SolverTable {
  const sigmas = timesteps.map((timestep) => interpolate(levels.sigmas, timestep));
  return { timesteps, sigmas: [...sigmas, toZero ? 0 : (levels.sigmas[0] ?? 0)] };
}

/** Karras, exponential and beta sigmas between the highest and the lowest trained level. `round`: rounds Karras' timesteps. */
export function respacedSigmas(
  { levels, respacing }: SolverLevels,
  steps: number,
  round: boolean,
): SolverTable {
  const sigmas = respace(respacing, levels.sigmas.at(-1) ?? 0, levels.sigmas[0] ?? 0, steps);
  const exact = sigmas.map((sigma) => timestepOf(levels, sigma));
  return { timesteps: round ? exact.map(roundHalfEven) : exact.map(Math.trunc), sigmas };
}

/** Returns α and σ of the latents at a level. */
export function alphaSigma(flow: boolean, sigma: number): { alpha: number; sigma: number } {
  if (flow) return { alpha: 1 - sigma, sigma };
  const alpha = 1 / Math.sqrt(sigma * sigma + 1);
  return { alpha, sigma: sigma * alpha };
}
