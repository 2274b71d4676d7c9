// Sigmas of the flow-matching schedules: a line from 1 down, shifted by a constant or by the image's size, stretched to
// end at a given sigma, or respaced.

import { badRequest } from '../../../files/error.ts';
import type { ConfigReader } from './config.ts';
import type { StepPlanRequest } from './schedule.ts';
import { readRespacing, respace, type Respacing } from './sigmas.ts';
import { linspace } from './spacing.ts';

/** μ runs from `base` at `baseTokens` to `max` at `maxTokens`. */
export interface SizeShift {
  className: string;
  base: number;
  max: number;
  baseTokens: number;
  maxTokens: number;
}

export interface Flow extends SizeShift {
  trained: number;
  shift: number;
  dynamic: boolean;
  linearShift: boolean;
  terminal: number | null;
  respacing: Respacing;
}

export function readSizeShift(config: ConfigReader): SizeShift {
  return {
    className: config.className,
    base: config.number('base_shift', 0.5),
    max: config.number('max_shift', 1.15),
    baseTokens: config.number('base_image_seq_len', 256),
    maxTokens: config.number('max_image_seq_len', 4096),
  };
}

export function readFlow(config: ConfigReader): Flow {
  config.neutral('invert_sigmas', false, 'name another schedule');
  return {
    ...readSizeShift(config),
    trained: config.number('num_train_timesteps', 1000),
    shift: config.number('shift', 1),
    dynamic: config.flag('use_dynamic_shifting', false),
    linearShift: config.choice('time_shift_type', 'exponential', ['exponential', 'linear']) === 'linear',
    terminal: config.optionalNumber('shift_terminal'),
    respacing: readRespacing(config),
  };
}

/** The sigmas that FLUX, Qwen-Image and Z-Image pipelines pass to the schedule: 1 … 1/steps. */
export function plainSigmas(steps: number): number[] {
  return linspace(1, 1 / steps, steps);
}

/** Share of the noise that the first half of the steps removes in a line, before the others remove the rest by a parabola. */
const LINEAR_SHARE = 0.025;

/** The sigmas of LTX-Video's later versions. source: linear_quadratic_schedule in diffusers' pipeline_ltx_condition.py */
export function linearQuadraticSigmas(steps: number): number[] {
  if (steps < 2) return [1];
  const [linear, quadratic] = [Math.floor(steps / 2), steps - Math.floor(steps / 2)];
  const rest = linear - LINEAR_SHARE * steps;
  const square = rest / (linear * quadratic ** 2);
  const slope = LINEAR_SHARE / linear - (2 * rest) / quadratic ** 2;
  return Array.from({ length: steps }, (_, i) =>
    i < linear ? 1 - (i * LINEAR_SHARE) / linear : 1 - (square * i ** 2 + slope * i + square * linear ** 2),
  );
}

/** Lines through μ at 10 and at 200 steps, which were fitted for FLUX.2. */
const AT_10 = { slope: 8.73809524e-5, base: 1.89833333 };
const AT_200 = { slope: 0.00016927, base: 0.45666666 };
/** Tokens of an image above which μ does not depend on the number of steps. */
const MANY_TOKENS = 4300;

/** Returns μ of FLUX.2 for an image of so many tokens. source: compute_empirical_mu in diffusers' pipelines of FLUX.2 */
export function empiricalShift(tokens: number, steps: number): number {
  const late = AT_200.slope * tokens + AT_200.base;
  if (tokens > MANY_TOKENS) return late;
  const early = AT_10.slope * tokens + AT_10.base;
  return late + ((late - early) / 190) * (steps - 200);
}

export function flowTable(flow: Flow, request: StepPlanRequest): { timesteps: number[]; sigmas: number[] } {
  const { steps } = request;
  let sigmas = shifted(flow, request, request.sigmas ?? trainedLine(flow, steps));
  if (flow.terminal !== null && flow.terminal !== 0) sigmas = stretched(sigmas, flow.terminal);
  if (flow.respacing.kind !== 'none')
    sigmas = respace(flow.respacing, sigmas[0] ?? 1, sigmas.at(-1) ?? 0, steps);
  return { timesteps: sigmas.map((sigma) => sigma * flow.trained), sigmas: [...sigmas, 0] };
}

/** Sigmas between the trained ends. A constant shift has moved the ends already and so acts twice, like in diffusers. */
function trainedLine(flow: Flow, steps: number): number[] {
  const end = (sigma: number): number => (flow.dynamic ? sigma : shiftBy(flow.shift, sigma));
  return linspace(end(1), end(1 / flow.trained), steps);
}

/** Sigmas shifted by a constant, or by the image's size. */
export function shifted(
  flow: Omit<Flow, 'trained' | 'respacing'>,
  request: StepPlanRequest,
  sigmas: readonly number[],
): number[] {
  if (!flow.dynamic) return sigmas.map((sigma) => shiftBy(flow.shift, sigma));
  const mu = request.mu ?? muOf(flow, request.imageTokens);
  const shift = flow.linearShift ? mu : Math.exp(mu);
  return sigmas.map((sigma) => shift / (shift + (1 / sigma - 1)));
}

const shiftBy = (shift: number, sigma: number): number => (shift * sigma) / (1 + (shift - 1) * sigma);

export function muOf(flow: SizeShift, tokens: number | undefined): number {
  if (tokens === undefined) {
    throw badRequest(
      `${flow.className} shifts by the image's size (use_dynamic_shifting); give imageTokens or mu.`,
      'imageTokens',
    );
  }
  const slope = (flow.max - flow.base) / (flow.maxTokens - flow.baseTokens);
  return flow.base + slope * (tokens - flow.baseTokens);
}

/** Sigmas scaled about 1 so that the last is `terminal`. A single one, at 1, stays: diffusers divides zero by zero there. */
export function stretched(sigmas: readonly number[], terminal: number): number[] {
  const scale = (1 - (sigmas.at(-1) ?? 0)) / (1 - terminal);
  if (scale === 0) return [...sigmas];
  return sigmas.map((sigma) => 1 - (1 - sigma) / scale);
}
