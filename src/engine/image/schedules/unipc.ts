// UniPCMultistepScheduler (arXiv 2302.04867): a predictor over up to `solver_order` estimates, and a corrector that improves the
// last step by the model's output at its end, without an additional call of the model.

import type { ConfigReader } from './config.ts';
import { limited, readLimit } from './limits.ts';
import { estimates, readPrediction, type Prediction } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import { alphaSigma } from './solver-sigmas.ts';
import { assemble, combine, LATENTS, slot, type Draft, type Sum } from './sum.ts';
import { readUniLevels, uniTable } from './unipc-sigmas.ts';
import { weights, type UniExpansion } from './unipc-weights.ts';

const PREDICTIONS: readonly Prediction[] = ['epsilon', 'sample', 'v_prediction', 'flow_prediction'];
/** Slot 0: the corrected latents that the last step began with; from slot 1 on a ring of estimates. */
const BEGAN = 0;

export function uniPC(config: ConfigReader): PlanSteps {
  const table = readUniLevels(config);
  const { flow } = table;
  const clean = config.flag('predict_x0', true);
  const prediction = readPrediction(config, clean ? PREDICTIONS : PREDICTIONS.slice(0, 3));
  const bh1 = config.choice('solver_type', 'bh2', ['bh1', 'bh2', 'midpoint', 'heun', 'logrho']) === 'bh1';
  const highest = config.choice('solver_order', 2, [1, 2, 3, 4]);
  const lowerFinal = config.flag('lower_order_final', true);
  const uncorrected = config.numbers('disable_corrector') ?? [];
  config.neutral('solver_p', null, 'leave it out');
  // Estimates of the noise are not limited, like in diffusers.
  const limit = clean ? readLimit(config) : null;
  const ring = highest + 1;

  return (request) => {
    const { timesteps, sigmas } = uniTable(table, request);
    const count = timesteps.length;
    const first = request.first ?? 0;
    const orderAt = (taken: number): number =>
      Math.min(highest, taken + 1, lowerFinal ? count - first - taken : highest);
    const point = (i: number): Point => {
      const { alpha, sigma } = alphaSigma(flow, sigmas[i] ?? Number.NaN);
      return { alpha, sigma, lambda: Math.log(alpha) - Math.log(sigma) };
    };
    /** Returns the estimate that was stored `back` steps before `taken`. */
    const storedEstimate = (taken: number, back: number): Sum => slot(1 + ((taken - back) % ring));

    const drafts = timesteps.slice(first).map((timestep, taken): Draft => {
      const i = first + taken;
      const { alpha, sigma } = alphaSigma(flow, sigmas[i] ?? Number.NaN);
      const seen = estimates(prediction, alpha, sigma);
      const { clean: estimate, limits } = limited(limit, seen.clean);
      const model = clean ? estimate : seen.noise;
      const corrects = taken > 0 && !uncorrected.includes(i - 1);
      const before = corrects ? orderAt(taken - 1) : 0;
      const corrected = corrects
        ? step({
            clean,
            bh1,
            to: point(i),
            at: points(point, i - 1, before),
            from: slot(BEGAN),
            ahead: model,
            models: past(storedEstimate, taken, 1, before),
          })
        : LATENTS;
      const order = orderAt(taken);
      const models = past(storedEstimate, taken, 0, order);
      return {
        timestep,
        limits,
        stores: [
          { slot: 1 + (taken % ring), value: model },
          { slot: BEGAN, value: corrected },
        ],
        latents: step({
          clean,
          bh1,
          to: point(i + 1),
          at: points(point, i, order),
          from: slot(BEGAN),
          ahead: null,
          models,
        }),
        estimate,
        level: { image: alpha, noise: sigma },
      };
    });
    return assemble(config.className, 1, drafts);
  };
}

interface Point {
  alpha: number;
  sigma: number;
  lambda: number;
}

const points = (point: (i: number) => Point, i: number, order: number): Point[] =>
  Array.from({ length: order }, (_, k) => point(i - k));

const past = (
  storedEstimate: (taken: number, back: number) => Sum,
  taken: number,
  from: number,
  order: number,
): Sum[] => Array.from({ length: order }, (_, k) => storedEstimate(taken, from + k));

interface UniStep extends UniExpansion {
  to: Point;
  /** Points at which the estimates `models` were computed, newest first. */
  at: readonly Point[];
  from: Sum;
  /** Corrector: the estimate at `to`; null in the predictor. */
  ahead: Sum | null;
  models: readonly Sum[];
}

function step({ clean, bh1, to, at, from, ahead, models }: UniStep): Sum {
  const [start = to] = at;
  const [newest = LATENTS, ...older] = models;
  const h = to.lambda - start.lambda;
  const ratios = at.slice(1).map(({ lambda }) => (lambda - start.lambda) / h);
  const { phi, scale, rhos } = weights({ clean, bh1 }, h, ratios, ahead !== null);
  const [kept, toward] = clean ? [to.sigma / start.sigma, to.alpha] : [to.alpha / start.alpha, to.sigma];
  const parts: [number, Sum][] = [
    [kept, from],
    [-toward * phi, newest],
  ];
  for (const [k, ratio] of [...ratios, ...(ahead === null ? [] : [1])].entries()) {
    const other = older[k] ?? ahead ?? newest;
    const weight = (-toward * scale * (rhos[k] ?? Number.NaN)) / ratio;
    parts.push([weight, other], [-weight, newest]);
  }
  return combine(...parts);
}
