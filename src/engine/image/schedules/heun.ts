// HeunDiscreteScheduler: an Euler step, then the mean of the slopes at both its ends; the last step is Euler's. 2N − 1 calls.

import { readLevels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { sigmaTable } from './euler.ts';
import { limited, readLimit } from './limits.ts';
import { DIFFUSION_PREDICTIONS, estimatesAt, readPrediction, type Estimates } from './prediction.ts';
import type { Mix, PlanSteps } from './schedule.ts';
import { readRespacing } from './sigmas.ts';
import { readSpacing } from './spacing.ts';
import { assemble, combine, LATENTS, slot, type Draft, type Sum } from './sum.ts';

export function heunDiscrete(config: ConfigReader): PlanSteps {
  const levels = readLevels(config, { start: 0.00085, end: 0.012, zeroSnr: 'none' });
  const spacing = readSpacing(config, 'linspace');
  const respacing = readRespacing(config);
  const prediction = readPrediction(config, DIFFUSION_PREDICTIONS);
  const limit = readLimit(config, { clips: false, thresholds: false });

  return (request) => {
    const { timesteps, sigmas, fromNoise } = sigmaTable(levels, spacing, respacing, request, { last: 0 });
    const drafts = heunDrafts(timesteps, sigmas, {
      at(sigma) {
        const seen = estimatesAt(prediction, sigma);
        const { clean, limits } = limited(limit, seen.clean);
        const noise = limits ? combine([1 / sigma, LATENTS], [-1 / sigma, clean]) : seen.noise;
        return { clean, noise, limits, level: { image: 1, noise: sigma } };
      },
      slope: ({ noise }) => noise,
      inputScale: (sigma) => 1 / Math.sqrt(sigma * sigma + 1),
    });
    return assemble(config.className, fromNoise, drafts.slice(2 * (request.first ?? 0)));
  };
}

interface Field {
  at(sigma: number): Estimates & { level: Mix; limits?: Draft['limits'] };
  /** dx/dσ at a call. */
  slope(estimates: Estimates): Sum;
  inputScale(sigma: number): number;
}

/** `sigmas` has one more than `timesteps`. Call 2i is the Euler step from level i, call 2i + 1 the correction at level i + 1. */
export function heunDrafts(timesteps: readonly number[], sigmas: readonly number[], field: Field): Draft[] {
  const call = (i: number): Omit<Draft, 'latents'> & { slope: Sum } => {
    const sigma = sigmas[i] ?? Number.NaN;
    const { level, limits = null, ...estimates } = field.at(sigma);
    const timestep = timesteps[i] ?? Number.NaN;
    return {
      timestep,
      inputScale: field.inputScale(sigma),
      slope: field.slope(estimates),
      limits,
      estimate: estimates.clean,
      level,
    };
  };
  return timesteps.flatMap((_, i): Draft[] => {
    const dt = (sigmas[i + 1] ?? 0) - (sigmas[i] ?? 0);
    const { slope, ...from } = call(i);
    const euler: Draft = { ...from, latents: combine([1, LATENTS], [dt, slope]) };
    if (i === timesteps.length - 1) return [euler];
    const { slope: ahead, ...to } = call(i + 1);
    const half = { slot: 0, value: combine([1, LATENTS], [dt / 2, slope]) };
    return [
      { ...euler, stores: [half] },
      { ...to, latents: combine([1, slot(0)], [dt / 2, ahead]) },
    ];
  });
}
