// LCMScheduler (arXiv 2310.04378): each call predicts the clean latents, and fresh noise takes them to the next level.

import { badRequest } from '../../../files/error.ts';
import { readLevels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { limited, readLimit } from './limits.ts';
import { DIFFUSION_PREDICTIONS, estimates, readPrediction } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import { assemble, combine, LATENTS, NOISE, type Draft } from './sum.ts';

/** Standard deviation of the data that the boundary condition was trained with. */
const SIGMA_DATA = 0.5;

/** Levels of Stable Diffusion, whose distilled models these schedules are for. */
export const DISTILLED_LEVELS = {
  start: 0.00085,
  end: 0.012,
  schedule: 'scaled_linear',
  zeroSnr: 'exact',
} as const;

export function lcm(config: ConfigReader): PlanSteps {
  const { alphas, count } = readLevels(config, DISTILLED_LEVELS);
  const trainedOn = config.number('original_inference_steps', 50);
  const scaling = config.number('timestep_scaling', 10);
  const prediction = readPrediction(config, DIFFUSION_PREDICTIONS);
  const limit = readLimit(config, { clips: false });

  return ({ steps, first = 0, origin = trainedOn, reach = 1, timesteps: listed }) => {
    const timesteps = listed ?? distilled(config.className, { trained: count, origin, reach }, steps);
    const drafts = timesteps.map((timestep, i): Draft => {
      const bar = alphas[timestep] ?? Number.NaN;
      const seen = estimates(prediction, Math.sqrt(bar), Math.sqrt(1 - bar));
      const { clean, limits } = limited(limit, seen.clean);
      const t = timestep * scaling;
      const skip = SIGMA_DATA ** 2 / (t ** 2 + SIGMA_DATA ** 2);
      const out = t / Math.sqrt(t ** 2 + SIGMA_DATA ** 2);
      const denoised = combine([out, clean], [skip, LATENTS]);
      const next = timesteps[i + 1];
      const nextBar = next === undefined ? 1 : (alphas[next] ?? Number.NaN);
      return {
        timestep,
        limits,
        latents: combine([Math.sqrt(nextBar), denoised], [Math.sqrt(1 - nextBar), NOISE]),
        estimate: denoised,
        level: { image: Math.sqrt(bar), noise: Math.sqrt(1 - bar) },
      };
    });
    return assemble(config.className, 1, drafts.slice(first));
  };
}

/** `origin` of the `trained` timesteps are those of the distillation, and the lowest share `reach` of them is used. */
interface Distillation {
  trained: number;
  origin: number;
  reach?: number;
}

/** Returns `steps` timesteps, descending from the last one that is used. */
export function distilled(
  className: string,
  { trained, origin, reach = 1 }: Distillation,
  steps: number,
): number[] {
  const used = Math.trunc(origin * reach);
  if (steps > used || origin > trained) {
    const most = Math.min(used, trained);
    const which = reach === 1 ? 'the steps' : `the share ${reach} of the ${origin} steps`;
    throw badRequest(
      `steps is ${steps}; ${className} takes at most ${most}, ${which} that the model was distilled on.`,
      'steps',
    );
  }
  const stride = Math.floor(trained / origin);
  return Array.from({ length: steps }, (_, i) => (used - Math.floor(i * (used / steps))) * stride - 1);
}
