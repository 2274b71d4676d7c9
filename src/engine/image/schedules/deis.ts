// DEISMultistepScheduler (arXiv 2204.13902): up to three estimates of the noise as a polynomial in ln ρ, ρ = σ / α, which is
// integrated exactly over the step: x/α grows by the noise for each ρ.

import { readLevels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { limitedModel, readLimit } from './limits.ts';
import { DIFFUSION_PREDICTIONS, estimates, readPrediction } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import {
  alphaSigma,
  plainTable,
  readSolverLevels,
  respacedSigmas,
  type SolverTable,
} from './solver-sigmas.ts';
import { assemble, combine, LATENTS, slot, type Draft, type Sum } from './sum.ts';

/** Below this many steps the last ones take a lower order ("lower_order_final"). */
const FEW_STEPS = 15;

export function deis(config: ConfigReader): PlanSteps {
  // The last step ends at the lowest level, and betas are not rescaled.
  const solver = {
    ...readSolverLevels(config),
    levels: readLevels(config, { zeroSnr: 'none' }),
    toZero: false,
  };
  const prediction = readPrediction(config, DIFFUSION_PREDICTIONS);
  // diffusers accepts configurations that name another solver's method, and computes DEIS all the same.
  config.choice('algorithm_type', 'deis', ['deis', 'dpmsolver', 'dpmsolver++']);
  config.choice('solver_type', 'logrho', ['logrho', 'midpoint', 'heun', 'bh1', 'bh2']);
  const highest = config.choice('solver_order', 2, [1, 2, 3]);
  const lowerFinal = config.flag('lower_order_final', true);
  config.neutral('use_flow_sigmas', false, 'name another schedule');

  const limit = readLimit(config);

  const tableOf = (steps: number): SolverTable => {
    const { kind } = solver.respacing;
    if (kind === 'none') return plainTable(solver, steps, solver.levels.count);
    const { timesteps, sigmas } = respacedSigmas(solver, steps, kind === 'karras');
    return { timesteps, sigmas: [...sigmas, sigmas.at(-1) ?? 0] };
  };

  return ({ steps, first = 0 }) => {
    const { timesteps, sigmas } = tableOf(steps);
    const count = timesteps.length;
    const few = lowerFinal && count < FEW_STEPS;
    const orderAt = (i: number, taken: number): number =>
      Math.min(highest, taken + 1, few ? count - i : highest);
    const drafts = timesteps.slice(first).map((timestep, taken): Draft => {
      const i = first + taken;
      const { alpha, sigma } = alphaSigma(false, sigmas[i] ?? Number.NaN);
      const { alpha: next } = alphaSigma(false, sigmas[i + 1] ?? Number.NaN);
      const seen = estimates(prediction, alpha, sigma);
      const { clean, noise, limits } = limitedModel(limit, seen, { alpha, sigma });
      const order = orderAt(i, taken);
      const logs = Array.from({ length: order + 1 }, (_, k) => Math.log(sigmas[i + 1 - k] ?? Number.NaN));
      const terms = weights(logs).map((weight, k): [number, Sum] => [
        next * weight,
        k === 0 ? noise : slot((taken - k) % highest),
      ]);
      return {
        timestep,
        limits,
        stores: highest > 1 ? [{ slot: taken % highest, value: noise }] : [],
        latents: combine([next / alpha, LATENTS], ...terms),
        estimate: clean,
        level: { image: alpha, noise: sigma },
      };
    });
    return assemble(config.className, 1, drafts);
  };
}

/** Weights of the estimates, newest first. `end`: ln ρ where the step ends; `nodes`: where each estimate was made. */
function weights([end = 0, ...nodes]: readonly number[]): number[] {
  const [start = end] = nodes;
  return nodes.map((node, k) => {
    const others = nodes.filter((_, j) => j !== k);
    const scale = others.reduce((product, other) => product * (node - other), 1);
    return (antiderivative(end, others) - antiderivative(start, others)) / scale;
  });
}

/** ∫ Π (u − root) eᵘ du of at most two roots. */
function antiderivative(u: number, [a, b]: readonly number[]): number {
  if (a === undefined) return Math.exp(u);
  if (b === undefined) return Math.exp(u) * (u - a - 1);
  return Math.exp(u) * ((u - a) * (u - b) - (2 * u - a - b) + 2);
}
