// KDPM2DiscreteScheduler and KDPM2AncestralDiscreteScheduler (k-diffusion's DPM-Solver-2): an Euler step to the geometric mean of
// two levels, and from the first level a step with the slope found there; the ancestral one falls below the next level and draws
// fresh noise up to it. The last step is Euler's. 2N − 1 calls.

import { readLevels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { sigmaTable } from './euler.ts';
import { ancestral } from './euler-ancestral.ts';
import { estimatesAt, readPrediction } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import { readRespacing, timestepOf } from './sigmas.ts';
import { readSpacing, roundHalfEven } from './spacing.ts';
import { assemble, combine, LATENTS, NOISE, slot, type Draft } from './sum.ts';

export const kdpm2 = (config: ConfigReader): PlanSteps => open(config, (_, next) => ({ down: next, up: 0 }));

export const kdpm2Ancestral = (config: ConfigReader): PlanSteps => open(config, ancestral);

/** `reach`: the level to which a step from one level to the next goes, and the noise that it adds there. */
function open(
  config: ConfigReader,
  reach: (sigma: number, next: number) => { down: number; up: number },
): PlanSteps {
  const levels = readLevels(config, { start: 0.00085, end: 0.012, zeroSnr: 'none' });
  const spacing = readSpacing(config, 'linspace');
  const respacing = readRespacing(config);
  const prediction = readPrediction(config, ['epsilon', 'v_prediction']);
  const call = (timestep: number, sigma: number) => ({
    timestep,
    inputScale: 1 / Math.sqrt(sigma * sigma + 1),
    ...estimatesAt(prediction, sigma),
  });

  return (request) => {
    const { timesteps, sigmas, fromNoise } = sigmaTable(levels, spacing, respacing, request, { last: 0 });
    const drafts = timesteps.flatMap((exact, i): Draft[] => {
      const [sigma = 0, next = 0] = [sigmas[i], sigmas[i + 1]];
      const { down, up } = reach(sigma, next);
      const middle = Math.sqrt(sigma * down);
      const timestep = respacing.kind === 'karras' ? roundHalfEven(exact) : exact;
      const { clean, noise, ...first } = call(timestep, sigma);
      const euler: Draft = {
        ...first,
        latents: combine([1, LATENTS], [middle - sigma, noise]),
        estimate: clean,
        level: { image: 1, noise: sigma },
      };
      if (i === timesteps.length - 1) return [euler];
      const { clean: ahead, noise: slope, ...second } = call(timestepOf(levels, middle), middle);
      return [
        { ...euler, stores: [{ slot: 0, value: LATENTS }] },
        {
          ...second,
          latents: combine([1, slot(0)], [down - sigma, slope], [up, NOISE]),
          estimate: ahead,
          // Inpainting adds noise of the next level to the kept region already here, like in diffusers.
          level: { image: 1, noise: next },
        },
      ];
    });
    return assemble(config.className, fromNoise, drafts.slice(2 * (request.first ?? 0)));
  };
}
