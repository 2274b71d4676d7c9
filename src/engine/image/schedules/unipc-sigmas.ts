// Timesteps and sigmas of UniPC: the solvers' own, or flow sigmas shifted and stretched as the flow-matching schedules do.

import { badRequest } from '../../../files/error.ts';
import type { ConfigReader } from './config.ts';
import { readSizeShift, shifted, stretched, type SizeShift } from './flow-sigmas.ts';
import type { StepPlanRequest } from './schedule.ts';
import {
  plainTable,
  readSolverLevels,
  respacedSigmas,
  type SolverLevels,
  type SolverTable,
} from './solver-sigmas.ts';
import { linspace } from './spacing.ts';

export interface UniLevels extends SolverLevels {
  size: SizeShift;
  dynamic: boolean;
  linearShift: boolean;
  terminal: number | null;
}

/** The first flow sigma stays this far from 1, where λ is not finite. */
const BELOW_ONE = 1e-6;

export function readUniLevels(config: ConfigReader): UniLevels {
  const solver = readSolverLevels(config);
  const terminal = config.optionalNumber('shift_terminal');
  if (terminal !== null && !solver.flow)
    throw config.refusal('shift_terminal', terminal, 'it needs "use_flow_sigmas": true');
  if (solver.flow && (solver.respacing.kind === 'exponential' || solver.respacing.kind === 'beta')) {
    throw config.refusal(
      `use_${solver.respacing.kind}_sigmas`,
      true,
      'with "use_flow_sigmas" only Karras sigmas are defined',
    );
  }
  return {
    ...solver,
    size: readSizeShift(config),
    dynamic: config.flag('use_dynamic_shifting', false),
    linearShift: config.choice('time_shift_type', 'exponential', ['exponential', 'linear']) === 'linear',
    terminal,
  };
}

export function uniTable(uni: UniLevels, request: StepPlanRequest): SolverTable {
  const { levels, respacing, flow, toZero } = uni;
  if (request.sigmas !== undefined && (!flow || respacing.kind !== 'none')) {
    throw badRequest(
      "UniPCMultistepScheduler takes sigmas of one's own only as plain flow sigmas; leave them out.",
      'sigmas',
    );
  }
  const ended = (sigmas: number[]): number[] => [...sigmas, toZero ? 0 : (sigmas.at(-1) ?? 0)];
  if (respacing.kind !== 'none') {
    const { timesteps, sigmas } = respacedSigmas(uni, request.steps, respacing.kind === 'karras');
    if (!flow) return { timesteps, sigmas: ended(sigmas) };
    const shares = sigmas.map((sigma) => sigma / (sigma + 1));
    return { timesteps: whole(shares, levels.count), sigmas: ended(shares) };
  }
  if (!flow) return plainTable(uni, request.steps, levels.count);
  const sigmas = flowSigmas(uni, request);
  return { timesteps: whole(sigmas, levels.count), sigmas: ended(sigmas) };
}

const whole = (sigmas: readonly number[], trained: number): number[] =>
  sigmas.map((sigma) => Math.trunc(sigma * trained));

function flowSigmas(uni: UniLevels, request: StepPlanRequest): number[] {
  const { size, dynamic, linearShift, terminal, flowShift: shift, levels } = uni;
  const line = request.sigmas ?? linspace(1, 1 / levels.count, request.steps + 1).slice(0, -1);
  let sigmas = shifted({ ...size, dynamic, linearShift, terminal, shift }, request, line);
  if (terminal !== null && terminal !== 0) sigmas = stretched(sigmas, terminal);
  const first = sigmas[0] ?? 1;
  return Math.abs(first - 1) < BELOW_ONE ? [first - BELOW_ONE, ...sigmas.slice(1)] : sigmas;
}
