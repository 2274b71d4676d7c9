// DDPMScheduler (arXiv 2006.11239): the posterior's mean, and its noise at every step.

import { readLevels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { limited, readLimit } from './limits.ts';
import { DIFFUSION_PREDICTIONS, estimates, readPrediction } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import { readSpacing, visited } from './spacing.ts';
import { assemble, combine, LATENTS, NOISE, type Draft } from './sum.ts';

const LEAST_VARIANCE = 1e-20;

export function ddpm(config: ConfigReader): PlanSteps {
  const { alphas, count } = readLevels(config, { zeroSnr: 'exact' });
  const spacing = readSpacing(config, 'leading');
  const prediction = readPrediction(config, DIFFUSION_PREDICTIONS);
  const large =
    config.choice('variance_type', 'fixed_small', ['fixed_small', 'fixed_small_log', 'fixed_large']) ===
    'fixed_large';
  const limit = readLimit(config, { clips: true });

  return ({ steps, first = 0, timesteps = visited(spacing, count, steps, true) }) => {
    const drafts = timesteps.map((timestep, i): Draft => {
      const bar = alphas[timestep] ?? Number.NaN;
      const following = timesteps[i + 1];
      const next = following === undefined ? 1 : (alphas[following] ?? Number.NaN);
      const alpha = bar / next; // of the whole stride between the two timesteps
      const seen = estimates(prediction, Math.sqrt(bar), Math.sqrt(1 - bar));
      const { clean, limits } = limited(limit, seen.clean);
      const variance = large ? 1 - alpha : Math.max(((1 - next) / (1 - bar)) * (1 - alpha), LEAST_VARIANCE);
      return {
        timestep,
        limits,
        latents: combine(
          [(Math.sqrt(next) * (1 - alpha)) / (1 - bar), clean],
          [(Math.sqrt(alpha) * (1 - next)) / (1 - bar), LATENTS],
          [timestep > 0 ? Math.sqrt(variance) : 0, NOISE],
        ),
        estimate: clean,
        level: { image: Math.sqrt(bar), noise: Math.sqrt(1 - bar) },
      };
    });
    return assemble(config.className, 1, drafts.slice(first));
  };
}
