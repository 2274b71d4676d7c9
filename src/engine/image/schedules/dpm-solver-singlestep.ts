// DPMSolverSinglestepScheduler: DPM-Solver in groups of up to three calls. Each call integrates from the beginning of its group,
// over the estimates of this group alone.

import type { ConfigReader } from './config.ts';
import { dpmTable, readDpmLevels } from './dpm-solver-sigmas.ts';
import { readDpmAlgorithm } from './dpm-solver.ts';
import { advance, lambdaOf, type DpmExpansion, type Point } from './dpm-step.ts';
import { limitedModel, readLimit } from './limits.ts';
import { estimates } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import { alphaSigma } from './solver-sigmas.ts';
import { assemble, combine, LATENTS, slot, type Draft, type Sum } from './sum.ts';

const ALGORITHMS = ['dpmsolver++', 'sde-dpmsolver++', 'dpmsolver', 'deis'] as const;
/** Slot 0: the latents that the group began with; from slot 1 on a ring of estimates. */
const BEGAN = 0;

export function dpmSolverSinglestep(config: ConfigReader): PlanSteps {
  const table = readDpmLevels(config, { singlestep: true });
  const { flow, toZero } = table;
  const { clean, sde, prediction } = readDpmAlgorithm(config, ALGORITHMS, toZero);
  const solver = config.choice('solver_type', 'midpoint', ['midpoint', 'heun', 'logrho', 'bh1', 'bh2']);
  const rule = { clean, sde, heun: solver === 'heun' };
  const highest = config.choice('solver_order', 2, [1, 2, 3]);
  const lowerFinal = config.flag('lower_order_final', false) || toZero;
  const limit = readLimit(config);

  return (request) => {
    const { timesteps, sigmas } = dpmTable(table, request);
    const first = request.first ?? 0;
    const points = sigmas.map((sigma) => alphaSigma(flow, sigma));
    const orders = ordersOf(timesteps.length, highest, { lowerFinal, toZero });
    const drafts = timesteps.slice(first).map((timestep, taken): Draft => {
      const i = first + taken;
      const start = points[i] ?? { alpha: 1, sigma: 0 };
      const seen = limitedModel(limit, estimates(prediction, start.alpha, start.sigma), start);
      const model = clean ? seen.clean : seen.noise;
      // A run that begins within a group has fewer estimates than the group.
      const order = Math.min(orders[i] ?? 1, taken + 1);
      const models = Array.from({ length: order }, (_, k): Sum =>
        k === 0 ? model : slot(1 + ((taken - k) % highest)),
      );
      const group = Array.from({ length: order + 1 }, (_, k) => points[i + 1 - k] ?? start);
      const stores = [{ slot: 1 + (taken % highest), value: model }];
      if (order === 1) stores.push({ slot: BEGAN, value: LATENTS });
      return {
        timestep,
        limits: seen.limits,
        stores,
        latents: advance(
          rule,
          {
            start: group.at(-1) ?? start,
            end: group[0] ?? start,
            order,
            from: order === 1 ? LATENTS : slot(BEGAN),
          },
          forward(group, models, rule.heun),
        ),
        estimate: seen.clean,
        level: { image: start.alpha, noise: start.sigma },
      };
    });
    return assemble(config.className, 1, drafts);
  };
}

/** The index of each call in its group. */
function ordersOf(
  steps: number,
  highest: number,
  { lowerFinal, toZero }: { lowerFinal: boolean; toZero: boolean },
): number[] {
  const orders = Array.from({ length: steps }, (_, i) => (i % highest) + 1);
  const rest = steps % highest;
  // If the steps are a multiple of the order, the last step is a group of its own, of first order.
  if (highest > 1 && rest === 0 && lowerFinal) orders[steps - 1] = 1;
  if (toZero) orders[steps - 1] = 1;
  return orders;
}

/** Weights of the estimates of a group, newest first; `points`: the step's end, and where each estimate was made. */
function forward(points: readonly Point[], models: readonly Sum[], heun: boolean): DpmExpansion {
  const [end = 0, ...lambdas] = points.map(lambdaOf);
  const estimate = models.at(-1) ?? LATENTS;
  const start = lambdas.at(-1) ?? 0;
  const h = end - start;
  /** First difference from the group's beginning to estimate k. */
  const ratio = (k: number): number => ((lambdas[k] ?? 0) - start) / h;
  const difference = (k: number): Sum =>
    combine([1 / ratio(k), models[k] ?? LATENTS], [-1 / ratio(k), estimate]);
  if (models.length === 1) return { estimate, slope: null, bend: null };
  const far = difference(0);
  if (models.length === 2 || !heun) return { estimate, slope: far, bend: null };
  const near = difference(1);
  const [r0, r1] = [ratio(0), ratio(1)];
  return {
    estimate,
    slope: combine([r0 / (r0 - r1), near], [-r1 / (r0 - r1), far]),
    bend: combine([2 / (r0 - r1), far], [-2 / (r0 - r1), near]),
  };
}
