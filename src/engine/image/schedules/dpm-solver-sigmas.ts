// Timesteps and sigmas of DPM-Solver: the solvers' own, cut off at the least λ, or evenly spaced in λ ("use_lu_lambdas").

import { badCheckpoint } from '../../../files/error.ts';
import type { ConfigReader } from './config.ts';
import { muOf, readSizeShift, type SizeShift } from './flow-sigmas.ts';
import type { StepPlanRequest } from './schedule.ts';
import { timestepOf } from './sigmas.ts';
import {
  plainTable,
  readSolverLevels,
  respacedSigmas,
  tableAt,
  type SolverLevels,
  type SolverTable,
} from './solver-sigmas.ts';
import { linspace, roundHalfEven } from './spacing.ts';

export interface DpmLevels extends SolverLevels {
  /** Whether Karras' timesteps are rounded to whole numbers. */
  roundsKarras: boolean;
  evenLambdas: boolean;
  leastLambda: number;
  size: SizeShift | null;
}

export function readDpmLevels(config: ConfigReader, { singlestep = false } = {}): DpmLevels {
  config.choice('time_shift_type', 'exponential', ['exponential']);
  const solver = readSolverLevels(config, singlestep);
  return {
    ...solver,
    roundsKarras: singlestep || solver.levels.kind !== 'squaredcos_cap_v2',
    evenLambdas: !singlestep && config.flag('use_lu_lambdas', false),
    leastLambda: config.number('lambda_min_clipped', Number.NEGATIVE_INFINITY),
    size: config.flag('use_dynamic_shifting', false) ? readSizeShift(config) : null,
  };
}

export function dpmTable(dpm: DpmLevels, request: StepPlanRequest): SolverTable {
  const { levels, respacing, toZero } = dpm;
  const { steps, timesteps: listed } = request;
  if (listed) return tableAt(dpm, [...listed]);
  const last = toZero ? 0 : (levels.sigmas[0] ?? 0);
  if (respacing.kind !== 'none') {
    const round = respacing.kind === 'karras' && dpm.roundsKarras;
    const { timesteps, sigmas } = respacedSigmas(dpm, steps, round);
    return { timesteps, sigmas: [...sigmas, last] };
  }
  if (dpm.evenLambdas) return evenTable(dpm, steps, last);
  if (dpm.flow) return flowTableOf(dpm, request, last);
  return plainTable(dpm, steps, unclipped(dpm));
}

/** Table of steps evenly spaced in ln σ. */
function evenTable({ levels }: DpmLevels, steps: number, last: number): SolverTable {
  const sigmas = linspace(Math.log(levels.sigmas.at(-1) ?? 0), Math.log(levels.sigmas[0] ?? 0), steps).map(
    Math.exp,
  );
  const exact = sigmas.map((sigma) => timestepOf(levels, sigma));
  const timesteps = levels.kind === 'squaredcos_cap_v2' ? exact.map(Math.trunc) : exact.map(roundHalfEven);
  return { timesteps, sigmas: [...sigmas, last] };
}

function flowTableOf(
  { levels, flowShift, size }: DpmLevels,
  request: StepPlanRequest,
  last: number,
): SolverTable {
  const shift = size === null ? flowShift : Math.exp(request.mu ?? muOf(size, request.imageTokens));
  const sigmas = linspace(1, 1 / levels.count, request.steps + 1)
    .map((alpha) => (shift * (1 - alpha)) / (1 + (shift - 1) * (1 - alpha)))
    .toReversed()
    .slice(0, -1);
  return { timesteps: sigmas.map((sigma) => Math.trunc(sigma * levels.count)), sigmas: [...sigmas, last] };
}

/** Number of trained timesteps whose λ is not below the least. */
function unclipped({ levels, leastLambda }: DpmLevels): number {
  const kept = levels.sigmas.filter((sigma) => -Math.log(sigma) >= leastLambda).length;
  if (kept > 0) return kept;
  throw badCheckpoint(
    `"lambda_min_clipped": ${leastLambda} leaves no timestep; lower it.`,
    'lambda_min_clipped',
  );
}
