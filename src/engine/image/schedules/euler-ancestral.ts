// EulerAncestralDiscreteScheduler: an Euler step to below the next level, and fresh noise up to it.

import { readLevels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { sigmaTable } from './euler.ts';
import { estimatesAt, readPrediction } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import { readSpacing } from './spacing.ts';
import { assemble, combine, LATENTS, NOISE, type Draft } from './sum.ts';

export function eulerAncestral(config: ConfigReader): PlanSteps {
  const levels = readLevels(config, { zeroSnr: 'almost' });
  const spacing = readSpacing(config, 'linspace');
  const prediction = readPrediction(config, ['epsilon', 'v_prediction']);

  return (request) => {
    const { first = 0 } = request;
    const { timesteps, sigmas, fromNoise } = sigmaTable(levels, spacing, null, request, { last: 0 });
    const drafts = timesteps.map((timestep, i): Draft => {
      const [sigma = 0, next = 0] = [sigmas[i], sigmas[i + 1]];
      const { down, up } = ancestral(sigma, next);
      const { clean, noise } = estimatesAt(prediction, sigma);
      return {
        timestep,
        inputScale: 1 / Math.sqrt(sigma * sigma + 1),
        latents: combine([1, LATENTS], [down - sigma, noise], [up, NOISE]),
        estimate: clean,
        level: { image: 1, noise: sigma },
      };
    });
    return assemble(config.className, fromNoise, drafts.slice(first));
  };
}

/** Returns the level to fall to from `sigma`, and the amount of noise that raises it from there to `next`. */
export function ancestral(sigma: number, next: number): { down: number; up: number } {
  const up = Math.sqrt((next ** 2 * (sigma ** 2 - next ** 2)) / sigma ** 2);
  return { down: Math.sqrt(next ** 2 - up ** 2), up };
}
