// EulerDiscreteScheduler: the probability-flow ODE in σ, one Euler step a call (arXiv 2206.00364, without churn).

import { badRequest } from '../../../files/error.ts';
import { readLevels, type Levels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { estimatesAt, readPrediction, type Prediction } from './prediction.ts';
import type { PlanSteps, StepPlanRequest } from './schedule.ts';
import { interpolate, readRespacing, respace, timestepOf, type Respacing } from './sigmas.ts';
import { linspace, readSpacing, visited, type SpacingConfig } from './spacing.ts';
import { assemble, combine, LATENTS, type Draft } from './sum.ts';

/** Timesteps fed, and the noise level at each and after the last. */
export interface SigmaTable {
  timesteps: number[];
  sigmas: number[];
  /** Factor on noise for the first latents. */
  fromNoise: number;
}

const PREDICTIONS: readonly Prediction[] = ['epsilon', 'sample', 'v_prediction'];

export function eulerDiscrete(config: ConfigReader): PlanSteps {
  const levels = readLevels(config, { zeroSnr: 'almost' });
  const spacing = readSpacing(config, 'linspace');
  const respacing = readRespacing(config);
  const prediction = readPrediction(config, PREDICTIONS);
  const logLinear = config.choice('interpolation_type', 'linear', ['linear', 'log_linear']) === 'log_linear';
  const continuous = config.choice('timestep_type', 'discrete', ['discrete', 'continuous']) === 'continuous';
  const toZero = config.choice('final_sigmas_type', 'zero', ['zero', 'sigma_min']) === 'zero';

  return (request) => {
    if (request.timesteps && continuous && prediction === 'v_prediction') {
      const message = `${config.className} with continuous timesteps takes no timesteps of one's own; leave them out.`;
      throw badRequest(message, 'timesteps');
    }
    const table = sigmaTable(levels, spacing, respacing, request, {
      logLinear,
      last: toZero ? 0 : (levels.sigmas[0] ?? 0),
    });
    if (continuous && prediction === 'v_prediction')
      table.timesteps = table.timesteps.map((_, i) => 0.25 * Math.log(table.sigmas[i] ?? 0));
    return assemble(config.className, table.fromNoise, drafts(table, prediction, request));
  };
}

function drafts(
  { timesteps, sigmas }: SigmaTable,
  prediction: Prediction,
  request: StepPlanRequest,
): Draft[] {
  return timesteps
    .map((timestep, i): Draft => {
      const [sigma = 0, next = 0] = [sigmas[i], sigmas[i + 1]];
      const { clean, noise } = estimatesAt(prediction, sigma);
      return {
        timestep,
        inputScale: 1 / Math.sqrt(sigma * sigma + 1),
        latents: combine([1, LATENTS], [next - sigma, noise]),
        estimate: clean,
        level: { image: 1, noise: sigma },
      };
    })
    .slice(request.first ?? 0);
}

/**
 * Levels of Euler, Euler ancestral, Heun and LMS: at the visited timesteps, or respaced between the first and last of them, or
 * those that a request lists.
 */
export function sigmaTable(
  levels: Levels,
  spacing: SpacingConfig,
  respacing: Respacing | null,
  { steps, timesteps: listed, sigmas: own }: StepPlanRequest,
  o: { last: number; logLinear?: boolean },
): SigmaTable {
  if (own !== undefined) {
    const timesteps = own.slice(0, -1).map((sigma) => timestepOf(levels, sigma));
    return { timesteps, sigmas: [...own], fromNoise: fromNoise(spacing, own) };
  }
  let timesteps = listed ? [...listed] : visited(spacing, levels.count, steps, false);
  let sigmas = timesteps.map((timestep) => interpolate(levels.sigmas, timestep));
  const [lowest = 0, highest = 0] = [levels.sigmas[0], levels.sigmas.at(-1)];
  if (o.logLinear === true) sigmas = linspace(Math.log(highest), Math.log(lowest), steps + 1).map(Math.exp);
  if (respacing !== null && respacing.kind !== 'none') {
    sigmas = respace(respacing, sigmas[0] ?? 0, sigmas.at(-1) ?? 0, steps);
    timesteps = sigmas.map((sigma) => timestepOf(levels, sigma));
  }
  sigmas.push(o.last);
  return { timesteps, sigmas, fromNoise: fromNoise(spacing, sigmas) };
}

function fromNoise({ spacing }: SpacingConfig, sigmas: readonly number[]): number {
  const largest = Math.max(...sigmas);
  return spacing === 'leading' ? Math.sqrt(largest * largest + 1) : largest;
}
