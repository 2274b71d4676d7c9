// DDIMScheduler (arXiv 2010.02502): deterministic at η = 0, fresh noise at η > 0.

import { readLevels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { limited, readLimit } from './limits.ts';
import { DIFFUSION_PREDICTIONS, estimates, readPrediction } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import { readSpacing, visited } from './spacing.ts';
import { assemble, combine, NOISE, type Draft } from './sum.ts';

export function ddim(config: ConfigReader): PlanSteps {
  const { alphas, count } = readLevels(config, { zeroSnr: 'exact' });
  const spacing = readSpacing(config, 'leading');
  const prediction = readPrediction(config, DIFFUSION_PREDICTIONS);
  const finalAlpha = config.flag('set_alpha_to_one', true) ? 1 : (alphas[0] ?? 1);
  const limit = readLimit(config, { clips: true });

  return ({ steps, first = 0, eta = 0 }) => {
    const stride = Math.floor(count / steps);
    const draft = (timestep: number): Draft => {
      const bar = alphas[timestep] ?? Number.NaN; // ᾱ at this timestep and at the next
      const before = timestep - stride;
      const next = before >= 0 ? (alphas[before] ?? Number.NaN) : finalAlpha;
      const seen = estimates(prediction, Math.sqrt(bar), Math.sqrt(1 - bar));
      const { clean, limits } = limited(limit, seen.clean);
      const fresh = eta * Math.sqrt(((1 - next) / (1 - bar)) * (1 - bar / next));
      return {
        timestep,
        limits,
        latents: combine(
          [Math.sqrt(next), clean],
          [Math.sqrt(1 - next - fresh * fresh), seen.noise],
          [fresh, NOISE],
        ),
        estimate: clean,
        level: { image: Math.sqrt(bar), noise: Math.sqrt(1 - bar) },
      };
    };
    const timesteps = visited(spacing, count, steps, true);
    return assemble(config.className, 1, timesteps.slice(first).map(draft));
  };
}
