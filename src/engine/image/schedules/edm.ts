// EDMEulerScheduler and EDMDPMSolverMultistepScheduler (arXiv 2206.00364): for models that were trained on latents
// x = clean + σ·noise with σ itself as the level. The model is given x / √(σ² + σ_data²) and ¼ ln σ, and its output is mixed with x.

import type { ConfigReader } from './config.ts';
import { multistep, readMultistep } from './dpm-solver.ts';
import { limited, readLimit } from './limits.ts';
import type { PlanSteps } from './schedule.ts';
import { linspace } from './spacing.ts';
import { assemble, combine, LATENTS, OUTPUT, type Draft, type Sum } from './sum.ts';

export function edmEuler(config: ConfigReader): PlanSteps {
  const levels = readEdm(config);
  return ({ steps, first = 0 }) => {
    const visited = levels.sigmas(steps);
    const sigmas = [...visited, levels.toZero ? 0 : (visited.at(-1) ?? 0)];
    const drafts = visited.map((sigma, i): Draft => {
      const call = levels.call(sigma);
      const slope = combine([1 / sigma, LATENTS], [-1 / sigma, call.estimate]);
      return { ...call, latents: combine([1, LATENTS], [(sigmas[i + 1] ?? 0) - sigma, slope]) };
    });
    return assemble(config.className, levels.fromNoise, drafts.slice(first));
  };
}

export function edmDpmSolver(config: ConfigReader): PlanSteps {
  const levels = readEdm(config);
  const { toZero, lowest } = levels;
  const algorithm = config.choice('algorithm_type', 'dpmsolver++', [
    'dpmsolver++',
    'sde-dpmsolver++',
    'deis',
  ]);
  const sde = algorithm === 'sde-dpmsolver++';
  const method = readMultistep(config, { clean: true, sde, orders: sde ? [1, 2] : [1, 2, 3], toZero });
  const limit = readLimit(config);
  return ({ steps, first = 0 }) => {
    const points = [...levels.sigmas(steps), toZero ? 0 : lowest].map((sigma) => ({ alpha: 1, sigma }));
    const drafts = multistep(method, points, first, (_, { sigma }) => {
      const call = levels.call(sigma);
      const { clean, limits } = limited(limit, call.estimate);
      return { ...call, limits, estimate: clean, model: clean };
    });
    return assemble(config.className, levels.fromNoise, drafts);
  };
}

interface EdmLevels {
  /** Sigmas in descending order, one per step. */
  sigmas(steps: number): number[];
  lowest: number;
  /** Whether the last step ends at zero. */
  toZero: boolean;
  fromNoise: number;
  call(sigma: number): Omit<Draft, 'latents'> & { estimate: Sum };
}

function readEdm(config: ConfigReader): EdmLevels {
  const lowest = config.number('sigma_min', 0.002);
  const highest = config.number('sigma_max', 80);
  const data = config.number('sigma_data', 0.5);
  const rho = config.number('rho', 7);
  const karras = config.choice('sigma_schedule', 'karras', ['karras', 'exponential']) === 'karras';
  const prediction = config.choice('prediction_type', 'epsilon', ['epsilon', 'v_prediction']);
  const sign = prediction === 'epsilon' ? 1 : -1;
  return {
    sigmas: (steps) =>
      karras
        ? linspace(highest ** (1 / rho), lowest ** (1 / rho), steps).map((root) => root ** rho)
        : linspace(Math.log(highest), Math.log(lowest), steps).map(Math.exp),
    lowest,
    toZero: config.choice('final_sigmas_type', 'zero', ['zero', 'sigma_min']) === 'zero',
    fromNoise: Math.sqrt(highest ** 2 + 1),
    call(sigma) {
      const length = Math.sqrt(sigma ** 2 + data ** 2);
      return {
        timestep: Math.log(sigma) / 4,
        inputScale: 1 / length,
        estimate: combine([(data / length) ** 2, LATENTS], [(sign * sigma * data) / length, OUTPUT]),
        level: { image: 1, noise: sigma },
      };
    },
  };
}
