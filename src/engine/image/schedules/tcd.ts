// TCDScheduler (arXiv 2402.19159): a jump along the trajectory to (1 − η) of the next timestep, then fresh noise up to it.

import { readLevels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { distilled, DISTILLED_LEVELS } from './lcm.ts';
import { DIFFUSION_PREDICTIONS, estimates, readPrediction } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import { assemble, combine, NOISE, type Draft } from './sum.ts';

export function tcd(config: ConfigReader): PlanSteps {
  const { alphas, count } = readLevels(config, DISTILLED_LEVELS);
  const origin = config.number('original_inference_steps', 50);
  const prediction = readPrediction(config, DIFFUSION_PREDICTIONS);

  return ({ steps, first = 0, eta = 0.3, timesteps: listed }) => {
    const timesteps = listed ?? distilled(config.className, { trained: count, origin }, steps);
    const drafts = timesteps.map((timestep, i): Draft => {
      const bar = alphas[timestep] ?? Number.NaN;
      const next = timesteps[i + 1] ?? 0;
      // The product is rounded to f32 like in the reference: for products near a whole number, the floor depends on the rounding.
      const aim = Math.floor(Math.fround(Math.fround(1 - eta) * next));
      const [nextBar, aimBar] = [alphas[next] ?? Number.NaN, alphas[aim] ?? Number.NaN];
      const { clean, noise } = estimates(prediction, Math.sqrt(bar), Math.sqrt(1 - bar));
      const jumped = combine([Math.sqrt(aimBar), clean], [Math.sqrt(1 - aimBar), noise]);
      const renoised = eta > 0 && i < timesteps.length - 1;
      return {
        timestep,
        latents: renoised
          ? combine([Math.sqrt(nextBar / aimBar), jumped], [Math.sqrt(1 - nextBar / aimBar), NOISE])
          : jumped,
        estimate: clean,
        level: { image: Math.sqrt(bar), noise: Math.sqrt(1 - bar) },
      };
    });
    return assemble(config.className, 1, drafts.slice(first));
  };
}
