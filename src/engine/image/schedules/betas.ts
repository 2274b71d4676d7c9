// The trained noise levels: βₜ, and from them ᾱₜ = Π (1 − β), in f64.

import { badCheckpoint } from '../../../files/error.ts';
import type { ConfigReader } from './config.ts';
import { linspace } from './spacing.ts';

export interface Levels {
  /** ᾱ of each trained timestep. */
  readonly alphas: readonly number[];
  /** √((1 − ᾱ) / ᾱ) of each trained timestep, rising. */
  readonly sigmas: readonly number[];
  /** Trained timesteps. */
  readonly count: number;
  /** "beta_schedule". */
  readonly kind: string;
}

const CLASSES_WITH_SIGMOID = ['DDPMScheduler'];
const CLASSES_WITH_EXP = ['HeunDiscreteScheduler'];
/** Value of ᾱ instead of zero at the last timestep, in methods that divide by it. */
const ALMOST_ZERO = 2 ** -24;

/** `zeroSnr`: whether the class takes "rescale_betas_zero_snr", and whether it keeps ᾱ above zero then. */
export function readLevels(
  config: ConfigReader,
  o: { start?: number; end?: number; schedule?: string; zeroSnr: 'none' | 'exact' | 'almost' },
): Levels {
  const given = config.numbers('trained_betas');
  const count = given?.length ?? config.number('num_train_timesteps', 1000);
  const start = config.number('beta_start', o.start ?? 0.0001);
  const end = config.number('beta_end', o.end ?? 0.02);
  const kinds = ['linear', 'scaled_linear', 'squaredcos_cap_v2'];
  if (CLASSES_WITH_SIGMOID.includes(config.className)) kinds.push('laplace', 'sigmoid');
  if (CLASSES_WITH_EXP.includes(config.className)) kinds.push('exp');
  const kind = config.choice('beta_schedule', o.schedule ?? 'linear', kinds);
  if (!Number.isInteger(count) || count < 2) {
    throw badCheckpoint(
      `scheduler_config.json trains ${count} timesteps; it takes a whole number of at least 2.`,
      'num_train_timesteps',
    );
  }
  const rescale = o.zeroSnr !== 'none' && config.flag('rescale_betas_zero_snr', false);
  let betas = given ?? betasOf(kind, start, end, count);
  if (rescale) betas = zeroTerminalSnr(betas);
  const alphas = cumulative(betas);
  if (rescale && o.zeroSnr === 'almost') alphas[count - 1] = ALMOST_ZERO;
  return { alphas, sigmas: alphas.map((alpha) => Math.sqrt((1 - alpha) / alpha)), count, kind };
}

function betasOf(kind: string, start: number, end: number, count: number): number[] {
  switch (kind) {
    case 'linear':
      return linspace(start, end, count);
    case 'scaled_linear':
      return linspace(Math.sqrt(start), Math.sqrt(end), count).map((root) => root * root);
    case 'sigmoid':
      return linspace(-6, 6, count).map((x) => (end - start) / (1 + Math.exp(-x)) + start);
    case 'exp':
      return betasFromBar(count, (t) => Math.exp(-12 * t));
    case 'laplace':
      return betasFromBar(count, laplaceBar);
    default:
      return betasFromBar(count, (t) => Math.cos(((t + 0.008) / 1.008) * (Math.PI / 2)) ** 2);
  }
}

function laplaceBar(t: number): number {
  const sign = 0.5 - t < 0 ? -1 : 1;
  const snr = Math.exp(-0.5 * sign * Math.log(1 - 2 * Math.abs(0.5 - t) + 1e-6));
  return Math.sqrt(snr / (1 + snr));
}

/** β from ᾱ(t), t in 0 … 1. */
function betasFromBar(count: number, bar: (t: number) => number): number[] {
  return Array.from({ length: count }, (_, i) => Math.min(1 - bar((i + 1) / count) / bar(i / count), 0.999));
}

function cumulative(betas: readonly number[]): number[] {
  let product = 1;
  return betas.map((beta) => (product *= 1 - beta));
}

/** Shifts and scales √ᾱ so that the last is 0 and the first stays (arXiv 2305.08891). */
function zeroTerminalSnr(betas: readonly number[]): number[] {
  const roots = cumulative(betas).map(Math.sqrt);
  const first = roots[0] ?? 1;
  const last = roots.at(-1) ?? 0;
  const bars = roots.map((root) => ((root - last) * (first / (first - last))) ** 2);
  return bars.map((bar, i) => 1 - bar / (bars[i - 1] ?? 1));
}
