// DPMSolverMultistepScheduler (arXiv 2206.00927, 2211.01095): exponential integrators in λ = ln(α / σ) over up to three
// estimates, of the clean latents (++) or of the noise, as an ODE or with fresh noise at every step (SDE).

import type { ConfigReader } from './config.ts';
import { dpmTable, readDpmLevels } from './dpm-solver-sigmas.ts';
import { estimates, readPrediction, type Prediction } from './prediction.ts';
import type { Planner } from './schedule.ts';
import { alphaSigma } from './solver-sigmas.ts';
import { assemble, combine, LATENTS, NOISE, slot, type Draft, type Sum } from './sum.ts';

const ALGORITHMS = ['dpmsolver++', 'sde-dpmsolver++', 'dpmsolver', 'sde-dpmsolver', 'deis'] as const;
const PREDICTIONS: readonly Prediction[] = ['epsilon', 'sample', 'v_prediction', 'flow_prediction'];
/** Below this many steps the last ones take a lower order ("lower_order_final"). */
const FEW_STEPS = 15;

export function dpmSolver(config: ConfigReader): Planner {
  const table = readDpmLevels(config);
  const { flow } = table;
  const prediction = readPrediction(config, PREDICTIONS);
  const algorithm = config.choice('algorithm_type', 'dpmsolver++', ALGORITHMS);
  const clean = algorithm !== 'dpmsolver' && algorithm !== 'sde-dpmsolver';
  const sde = algorithm.startsWith('sde');
  const solver = config.choice('solver_type', 'midpoint', ['midpoint', 'heun', 'logrho', 'bh1', 'bh2']);
  const rule: Rule = { clean, sde, heun: solver === 'heun' };
  const orders = algorithm === 'sde-dpmsolver' ? [1, 2] : [1, 2, 3];
  const highest = config.choice('solver_order', 2, orders);
  const lowerFinal = config.flag('lower_order_final', true);
  const eulerFinal = config.flag('euler_at_final', false);
  config.neutral('variance_type', null, 'the model must predict no variance');
  config.neutral(
    'thresholding',
    false,
    'latents are not pixels, so set it to false or name another schedule',
  );
  if (!clean && prediction === 'flow_prediction')
    throw config.refusal('prediction_type', prediction, `"${algorithm}" knows no flow`);
  if (!clean && table.toZero)
    throw config.refusal('final_sigmas_type', 'zero', `"${algorithm}" needs "sigma_min"`);

  return (request) => {
    const { timesteps, sigmas } = dpmTable(table, request);
    const count = timesteps.length;
    const first = request.first ?? 0;
    const orderAt = (i: number, taken: number): number => {
      const few = lowerFinal && count < FEW_STEPS;
      if (i === count - 1 && (eulerFinal || few || table.toZero)) return 1;
      return Math.min(highest, taken + 1, i === count - 2 && few ? 2 : highest);
    };
    const drafts = timesteps.slice(first).map((timestep, taken): Draft => {
      const i = first + taken;
      const { alpha, sigma } = alphaSigma(flow, sigmas[i] ?? Number.NaN);
      const seen = estimates(prediction, alpha, sigma);
      const model = clean ? seen.clean : seen.noise;
      const order = orderAt(i, taken);
      const models = Array.from({ length: order }, (_, k): Sum =>
        k === 0 ? model : slot((taken - k) % highest),
      );
      const points = Array.from({ length: order + 1 }, (_, k) =>
        alphaSigma(flow, sigmas[i + 1 - k] ?? Number.NaN),
      );
      return {
        timestep,
        stores: highest > 1 ? [{ slot: taken % highest, value: model }] : [],
        latents: update(rule, points, models),
        estimate: seen.clean,
        level: { image: alpha, noise: sigma },
      };
    });
    return assemble(config.className, 1, drafts);
  };
}

interface Rule {
  /** Estimates are of the clean latents, else of the noise. */
  clean: boolean;
  sde: boolean;
  heun: boolean;
}

/** `points`: α and σ at the end of the step, at its start, and before; `models`: estimates at its start and before. */
function update(
  rule: Rule,
  points: readonly { alpha: number; sigma: number }[],
  models: readonly Sum[],
): Sum {
  const { clean, sde } = rule;
  const [to = { alpha: 1, sigma: 0 }, start = to] = points;
  const lambdas = points.map(({ alpha, sigma }) => Math.log(alpha) - Math.log(sigma));
  const [end = 0, here = 0] = lambdas;
  const h = end - here;
  const z = sde && clean ? 2 * h : h;
  const phi = clean ? 1 - Math.exp(-z) : Math.exp(z) - 1;
  const scale = clean ? to.alpha : sde ? -2 * to.sigma : -to.sigma;
  const kept = clean ? (to.sigma / start.sigma) * (sde ? Math.exp(-h) : 1) : to.alpha / start.alpha;
  const fresh = to.sigma * Math.sqrt(clean ? 1 - Math.exp(-2 * h) : Math.exp(2 * h) - 1);

  const slope = models.length < 3 && !rule.heun ? phi / 2 : clean ? 1 - phi / z : phi / z - 1;
  // The SDE's half has the other sign than its expansion asks for; diffusers has it so, and equal pictures are worth more.
  const bend = (phi - z) / z ** 2 + (clean && !sde ? 0.5 : -0.5);
  const [first, second] = differences(lambdas, h, models);
  const parts: [number, Sum][] = [
    [kept, LATENTS],
    [scale * phi, models[0] ?? LATENTS],
  ];
  if (first !== null) parts.push([scale * slope, first]);
  if (second !== null) parts.push([scale * bend, second]);
  if (sde) parts.push([fresh, NOISE]);
  return combine(...parts);
}

/** First and second divided differences of the estimates, scaled to the step. */
function differences(
  lambdas: readonly number[],
  h: number,
  models: readonly Sum[],
): [Sum | null, Sum | null] {
  const [m0 = LATENTS, m1, m2] = models;
  const [, l0 = 0, l1 = 0, l2 = 0] = lambdas;
  if (m1 === undefined) return [null, null];
  const r0 = (l0 - l1) / h;
  const near = combine([1 / r0, m0], [-1 / r0, m1]);
  if (m2 === undefined) return [near, null];
  const r1 = (l1 - l2) / h;
  const far = combine([1 / r1, m1], [-1 / r1, m2]);
  const bend = combine([1, near], [-1, far]);
  return [combine([1, near], [r0 / (r0 + r1), bend]), combine([1 / (r0 + r1), bend])];
}
