// DPMSolverMultistepScheduler (arXiv 2206.00927, 2211.01095): exponential integrators in λ = ln(α / σ) over up to three
// estimates, of the clean latents (++) or of the noise, as an ODE or with fresh noise at every step (SDE).

import { refuseLearnedVariance, type ConfigReader } from './config.ts';
import { dpmTable, readDpmLevels } from './dpm-solver-sigmas.ts';
import { advance, backward, type Point, type DpmRule } from './dpm-step.ts';
import { limitedModel, readLimit } from './limits.ts';
import { estimates, readPrediction } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import { alphaSigma } from './solver-sigmas.ts';
import { assemble, LATENTS, slot, type Draft, type Sum } from './sum.ts';

const ALGORITHMS = ['dpmsolver++', 'sde-dpmsolver++', 'dpmsolver', 'sde-dpmsolver', 'deis'] as const;
/** Below this many steps the last ones take a lower order ("lower_order_final"). */
const FEW_STEPS = 15;

export function dpmSolver(config: ConfigReader): PlanSteps {
  const table = readDpmLevels(config);
  const { algorithm, clean, sde, prediction } = readDpmAlgorithm(config, ALGORITHMS, table.toZero);
  const orders = algorithm === 'sde-dpmsolver' ? [1, 2] : [1, 2, 3];
  const method = readMultistep(config, { clean, sde, orders, toZero: table.toZero });
  const limit = readLimit(config);

  return (request) => {
    const { timesteps, sigmas } = dpmTable(table, request);
    const points = sigmas.map((sigma) => alphaSigma(table.flow, sigma));
    const drafts = multistep(method, points, request.first ?? 0, (i, { alpha, sigma }) => {
      const seen = limitedModel(limit, estimates(prediction, alpha, sigma), { alpha, sigma });
      return {
        timestep: timesteps[i] ?? Number.NaN,
        limits: seen.limits,
        model: clean ? seen.clean : seen.noise,
        estimate: seen.clean,
        level: { image: alpha, noise: sigma },
      };
    });
    return assemble(config.className, 1, drafts);
  };
}

/** Reads the algorithm, and what the model predicts. `clean`: whether estimates are of the clean latents. */
export function readDpmAlgorithm(config: ConfigReader, algorithms: readonly string[], toZero: boolean) {
  const prediction = readPrediction(config, ['epsilon', 'sample', 'v_prediction', 'flow_prediction']);
  const algorithm = config.choice('algorithm_type', 'dpmsolver++', algorithms);
  const clean = algorithm !== 'dpmsolver' && algorithm !== 'sde-dpmsolver';
  refuseLearnedVariance(config);
  if (!clean && prediction === 'flow_prediction')
    throw config.refusal('prediction_type', prediction, `"${algorithm}" knows no flow`);
  if (!clean && toZero) throw config.refusal('final_sigmas_type', 'zero', `"${algorithm}" needs "sigma_min"`);
  return { algorithm, clean, sde: algorithm.startsWith('sde'), prediction };
}

export interface Multistep {
  rule: DpmRule;
  highest: number;
  /** With few steps the last ones take a lower order. */
  lowerFinal: boolean;
  /** The last step is of first order. */
  eulerFinal: boolean;
}

export function readMultistep(
  config: ConfigReader,
  {
    clean,
    sde,
    orders,
    toZero,
  }: { clean: boolean; sde: boolean; orders: readonly number[]; toZero: boolean },
): Multistep {
  const solver = config.choice('solver_type', 'midpoint', ['midpoint', 'heun', 'logrho', 'bh1', 'bh2']);
  return {
    rule: { clean, sde, heun: solver === 'heun' },
    highest: config.choice('solver_order', 2, orders),
    lowerFinal: config.flag('lower_order_final', true),
    eulerFinal: config.flag('euler_at_final', false) || toZero,
  };
}

/** Inputs and outputs of one call of the model; `model` is the estimate that the method uses. */
type Call = Omit<Draft, 'stores' | 'latents'> & { model: Sum };

/** `points`: one more than calls; `first`: calls left out at the beginning. */
export function multistep(
  { rule, highest, lowerFinal, eulerFinal }: Multistep,
  points: readonly Point[],
  first: number,
  call: (i: number, at: Point) => Call,
): Draft[] {
  const count = points.length - 1;
  const few = lowerFinal && count < FEW_STEPS;
  const orderAt = (i: number, taken: number): number => {
    if (i === count - 1 && (eulerFinal || few)) return 1;
    return Math.min(highest, taken + 1, i === count - 2 && few ? 2 : highest);
  };
  return points.slice(first, count).map((start, taken): Draft => {
    const i = first + taken;
    const { model, ...rest } = call(i, start);
    const order = orderAt(i, taken);
    const models = Array.from({ length: order }, (_, k): Sum =>
      k === 0 ? model : slot((taken - k) % highest),
    );
    const near = Array.from({ length: order + 1 }, (_, k) => points[i + 1 - k] ?? start);
    const end = points[i + 1] ?? start;
    return {
      ...rest,
      stores: highest > 1 ? [{ slot: taken % highest, value: model }] : [],
      latents: advance(rule, { start, end, order, from: LATENTS }, backward(near, models)),
    };
  });
}
