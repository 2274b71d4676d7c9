// Noise levels between the trained ones, and the spacings that choose levels instead of timesteps: Karras' (arXiv
// 2206.00364, ρ = 7), exponential, and quantiles of the beta distribution (arXiv 2407.12173).

import { badCheckpoint } from '../../../files/error.ts';
import { betaQuantile } from './beta-quantile.ts';
import type { Levels } from './betas.ts';
import type { ConfigReader } from './config.ts';
import { linspace } from './spacing.ts';

export interface Respacing {
  kind: 'none' | 'karras' | 'exponential' | 'beta';
  /** Ends that the config sets; null: the first and last of the sigmas that are respaced. */
  min: number | null;
  max: number | null;
}

const RHO = 7;

export function readRespacing(config: ConfigReader): Respacing {
  const kinds = (['karras', 'exponential', 'beta'] as const).filter((kind) =>
    config.flag(`use_${kind}_sigmas`, false),
  );
  if (kinds.length > 1) {
    const names = kinds.map((kind) => `use_${kind}_sigmas`).join(' and ');
    throw badCheckpoint(`scheduler_config.json sets ${names} at once; keep one.`, `use_${kinds[1]}_sigmas`);
  }
  return {
    kind: kinds[0] ?? 'none',
    min: config.optionalNumber('sigma_min'),
    max: config.optionalNumber('sigma_max'),
  };
}

/** Returns `steps` sigmas from `first` down to `last`. */
export function respace({ kind, min, max }: Respacing, first: number, last: number, steps: number): number[] {
  const low = min ?? last;
  const high = max ?? first;
  switch (kind) {
    case 'karras': {
      const roots = linspace(high ** (1 / RHO), low ** (1 / RHO), steps);
      return roots.map((root) => root ** RHO);
    }
    case 'exponential':
      return linspace(Math.log(high), Math.log(low), steps).map(Math.exp);
    case 'beta':
      return linspace(0, 1, steps).map((x) => low + betaQuantile(1 - x, 0.6, 0.6) * (high - low));
    case 'none':
      return linspace(high, low, steps);
  }
}

/** Interpolates `table` at a fractional index; an index outside is clamped to the ends. */
export function interpolate(table: readonly number[], index: number): number {
  const last = table.length - 1;
  const at = Math.min(Math.max(index, 0), last);
  const low = Math.min(Math.floor(at), last - 1);
  const [a = 0, b = 0] = [table[low], table[low + 1]];
  return a + (at - low) * (b - a);
}

/** Fractional timestep whose noise level is `sigma`, linear in log σ between trained ones. */
export function timestepOf({ sigmas, count }: Levels, sigma: number): number {
  const wanted = Math.log(Math.max(sigma, 1e-10));
  let low = 0;
  while (low < count - 2 && Math.log(sigmas[low + 1] ?? 0) <= wanted) low += 1;
  const [a, b] = [Math.log(sigmas[low] ?? 0), Math.log(sigmas[low + 1] ?? 0)];
  return low + Math.min(Math.max((a - wanted) / (a - b), 0), 1);
}
