// PNDMScheduler (arXiv 2202.09778): linear multistep over up to four outputs. Without the Runge–Kutta warm-up (as Stable
// Diffusion uses it) the second timestep is visited twice; with it the first three strides take four calls each.

import { badRequest, type EngineError } from '../../../files/error.ts';
import { readLevels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { estimates, readPrediction, type Prediction } from './prediction.ts';
import type { Mix, PlanSteps } from './schedule.ts';
import { readSpacing, visited } from './spacing.ts';
import { assemble, combine, LATENTS, OUTPUT, slot, type Draft, type Sum } from './sum.ts';

/** Slots 0–3 hold the last outputs; then the latents that a stride began with, and Runge–Kutta's running mean. */
const [RING, BEGAN, MEAN] = [4, 4, 5];
/** Adams–Bashforth weights, newest output first. */
const WEIGHTS = [[1], [3 / 2, -1 / 2], [23 / 12, -16 / 12, 5 / 12], [55 / 24, -59 / 24, 37 / 24, -9 / 24]];
const RUNGE_KUTTA_WEIGHTS = [1 / 6, 1 / 3, 1 / 3, 1 / 6];

interface Transfer {
  /** Moves `sample` from a timestep to an earlier one along `output`. */
  (sample: Sum, output: Sum, timestep: number, to: number): Sum;
}

export function pndm(config: ConfigReader): PlanSteps {
  const { alphas, count } = readLevels(config, { zeroSnr: 'none' });
  const spacing = readSpacing(config, 'leading');
  const prediction = readPrediction(config, ['epsilon', 'v_prediction']);
  const warmUp = !config.flag('skip_prk_steps', false);
  const finalAlpha = config.flag('set_alpha_to_one', false) ? 1 : (alphas[0] ?? 1);
  const barAt = (timestep: number): number => (timestep < 0 ? finalAlpha : (alphas[timestep] ?? Number.NaN));
  const transfer = transferBetween(barAt, prediction);
  const at = (timestep: number): { timestep: number; estimate: Sum; level: Mix } => {
    const [alpha, sigma] = [Math.sqrt(barAt(timestep)), Math.sqrt(1 - barAt(timestep))];
    return {
      timestep,
      estimate: estimates(prediction, alpha, sigma).clean,
      level: { image: alpha, noise: sigma },
    };
  };

  return ({ steps, first = 0 }) => {
    const stride = Math.floor(count / steps);
    const whole = visited(spacing, count, steps, true);
    if (!warmUp) {
      const timesteps = [...whole.slice(0, 2), ...whole.slice(1)].slice(first);
      return assemble(config.className, 1, multistep(timesteps.map(at), stride, 0, transfer));
    }
    if (steps < 4 || first > 0) throw tooShort(steps, first);
    const warm = rungeKutta(whole.slice(0, 4), Math.floor(stride / 2), transfer, at);
    return assemble(config.className, 1, [
      ...warm,
      ...multistep(whole.slice(3).map(at), stride, 3, transfer),
    ]);
  };
}

type Call = Pick<Draft, 'timestep' | 'estimate' | 'level'>;

/** `held`: number of outputs in the ring before the first call. */
function multistep(calls: readonly Call[], stride: number, held: number, transfer: Transfer): Draft[] {
  let outputs = held;
  return calls.map((call, i): Draft => {
    const { timestep } = call;
    if (held === 0 && i === 1) {
      // Repeats the first stride with the mean of the slopes at both its ends.
      const mean = combine([1 / 2, OUTPUT], [1 / 2, slot(0)]);
      return { ...call, latents: transfer(slot(BEGAN), mean, timestep + stride, timestep) };
    }
    const newest = outputs;
    outputs += 1;
    const weights = WEIGHTS[Math.min(outputs, RING) - 1] ?? [];
    const mean = combine(
      ...weights.map((weight, k) => [weight, k === 0 ? OUTPUT : slot((newest - k) % RING)] as const),
    );
    const stores = [{ slot: newest % RING, value: OUTPUT }];
    if (held === 0 && i === 0) stores.push({ slot: BEGAN, value: LATENTS });
    return { ...call, stores, latents: transfer(LATENTS, mean, timestep, timestep - stride) };
  });
}

/** Three strides between four timesteps, each a classical Runge–Kutta step. */
function rungeKutta(
  whole: readonly number[],
  half: number,
  transfer: Transfer,
  at: (timestep: number) => Call,
): Draft[] {
  return whole.slice(0, -1).flatMap((start, stride): Draft[] => {
    const end = whole[stride + 1] ?? Number.NaN;
    const middle = end + half;
    return [start, middle, middle, end].map((timestep, call): Draft => {
      const mean = combine([call === 0 ? 0 : 1, slot(MEAN)], [RUNGE_KUTTA_WEIGHTS[call] ?? 0, OUTPUT]);
      const stores = [{ slot: MEAN, value: mean }];
      if (call === 0) stores.push({ slot: stride, value: OUTPUT }, { slot: BEGAN, value: LATENTS });
      // Odd calls use the timestep at the end of their part of the stride.
      const to = call % 2 === 0 ? timestep - half : timestep;
      const along = call === 3 ? slot(MEAN) : OUTPUT;
      return { ...at(timestep), stores, latents: transfer(slot(BEGAN), along, start, to) };
    });
  });
}

function transferBetween(barAt: (timestep: number) => number, prediction: Prediction): Transfer {
  return (sample, output, timestep, to) => {
    const [bar, next] = [barAt(timestep), barAt(to)];
    const noise =
      prediction === 'epsilon' ? output : combine([Math.sqrt(bar), output], [Math.sqrt(1 - bar), sample]);
    const scale = bar * Math.sqrt(1 - next) + Math.sqrt(bar * (1 - bar) * next);
    return combine([Math.sqrt(next / bar), sample], [-(next - bar) / scale, noise]);
  };
}

function tooShort(steps: number, first: number): EngineError {
  const remedy = 'set skip_prk_steps to true or name another schedule';
  return first > 0
    ? badRequest(`PNDMScheduler with Runge–Kutta steps cannot start from an image; ${remedy}.`, 'strength')
    : badRequest(
        `steps is ${steps}; PNDMScheduler with Runge–Kutta steps takes at least 4; or ${remedy}.`,
        'steps',
      );
}
