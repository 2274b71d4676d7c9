// LMSDiscreteScheduler: Adams–Bashforth in σ with uneven steps, up to four slopes.

import { readLevels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { sigmaTable } from './euler.ts';
import { DIFFUSION_PREDICTIONS, estimatesAt, readPrediction } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import { readRespacing } from './sigmas.ts';
import { readSpacing } from './spacing.ts';
import { assemble, combine, LATENTS, slot, type Draft, type Sum } from './sum.ts';

const ORDER = 4;

export function lmsDiscrete(config: ConfigReader): PlanSteps {
  const levels = readLevels(config, { zeroSnr: 'none' });
  const spacing = readSpacing(config, 'linspace');
  const read = readRespacing(config);
  const respacing = read.kind === 'karras' ? { ...read, min: null, max: null } : read; // diffusers' Karras spacing in this class ignores the configured ends
  const prediction = readPrediction(config, DIFFUSION_PREDICTIONS);

  return (request) => {
    const { first = 0 } = request;
    const { timesteps, sigmas, fromNoise } = sigmaTable(levels, spacing, respacing, request, { last: 0 });
    const drafts = timesteps.slice(first).map((timestep, taken): Draft => {
      const sigma = sigmas[first + taken] ?? Number.NaN;
      const { clean, noise } = estimatesAt(prediction, sigma);
      // If a run skips steps, diffusers weights the first slopes as if there were four, which leaves noise in the image. Here the
      // order grows with the number of slopes.
      const order = Math.min(taken + 1, ORDER);
      const slopes = Array.from({ length: order }, (_, k): Sum =>
        k === 0 ? noise : slot((taken - k) % ORDER),
      );
      const weighted = slopes.map((slope, k) => [weight(sigmas, first + taken, order, k), slope] as const);
      return {
        timestep,
        inputScale: 1 / Math.sqrt(sigma * sigma + 1),
        stores: [{ slot: taken % ORDER, value: noise }],
        latents: combine([1, LATENTS], ...weighted),
        estimate: clean,
        level: { image: 1, noise: sigma },
      };
    });
    return assemble(config.className, fromNoise, drafts);
  };
}

/** ∫ from σᵢ to σᵢ₊₁ of the Lagrange basis of slope i − k among `order` slopes: Gauss–Legendre, exact to degree 5. */
function weight(sigmas: readonly number[], i: number, order: number, k: number): number {
  const at = (j: number): number => sigmas[j] ?? Number.NaN;
  const basis = (x: number): number => {
    let product = 1;
    for (let j = 0; j < order; j += 1) if (j !== k) product *= (x - at(i - j)) / (at(i - k) - at(i - j));
    return product;
  };
  const [middle, half] = [(at(i) + at(i + 1)) / 2, (at(i + 1) - at(i)) / 2];
  const node = half * Math.sqrt(3 / 5);
  return (half * (5 * basis(middle - node) + 8 * basis(middle) + 5 * basis(middle + node))) / 9;
}
