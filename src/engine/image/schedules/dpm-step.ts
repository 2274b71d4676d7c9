// A step of the DPM-Solver methods: an exponential integrator in λ = ln(α / σ) over an expansion of the model's estimates
// around the step's start, as an ODE or with fresh noise (SDE).

import { combine, LATENTS, NOISE, type Sum } from './sum.ts';

export interface DpmRule {
  /** Whether estimates are of the clean latents; if not, of the noise. */
  clean: boolean;
  sde: boolean;
  /** "solver_type" heun: slopes are weighted by their own integral in second order too. */
  heun: boolean;
}

/** Latents x = α·clean + σ·noise. */
export interface Point {
  alpha: number;
  sigma: number;
}

/** Estimate at the start, and its first and second derivatives by the step's share. */
export interface DpmExpansion {
  estimate: Sum;
  slope: Sum | null;
  bend: Sum | null;
}

export const lambdaOf = ({ alpha, sigma }: Point): number => Math.log(alpha) - Math.log(sigma);

/** `from`: the latents at `start`; `order`: estimates that the expansion is made of. */
export function advance(
  { clean, sde, heun }: DpmRule,
  { start, end, order, from }: { start: Point; end: Point; order: number; from: Sum },
  { estimate, slope, bend }: DpmExpansion,
): Sum {
  const h = lambdaOf(end) - lambdaOf(start);
  const z = sde && clean ? 2 * h : h;
  const phi = clean ? 1 - Math.exp(-z) : Math.exp(z) - 1;
  const scale = clean ? end.alpha : sde ? -2 * end.sigma : -end.sigma;
  const kept = clean ? (end.sigma / start.sigma) * (sde ? Math.exp(-h) : 1) : end.alpha / start.alpha;
  const fresh = end.sigma * Math.sqrt(clean ? 1 - Math.exp(-2 * h) : Math.exp(2 * h) - 1);

  const first = order < 3 && !heun ? phi / 2 : clean ? 1 - phi / z : phi / z - 1;
  // The 0.5 of the SDE has the opposite sign of its derivation, like in diffusers, so that images are equal.
  const second = (phi - z) / z ** 2 + (clean && !sde ? 0.5 : -0.5);
  const parts: [number, Sum][] = [
    [kept, from],
    [scale * phi, estimate],
  ];
  if (slope !== null) parts.push([scale * first, slope]);
  if (bend !== null) parts.push([scale * second, bend]);
  if (sde) parts.push([fresh, NOISE]);
  return combine(...parts);
}

/** Weights of the estimates at the start and before, newest first; `points`: the step's end, its start, and before. */
export function backward(points: readonly Point[], models: readonly Sum[]): DpmExpansion {
  const [l = 0, l0 = 0, l1 = 0, l2 = 0] = points.map(lambdaOf);
  const [m0 = LATENTS, m1, m2] = models;
  const h = l - l0;
  if (m1 === undefined) return { estimate: m0, slope: null, bend: null };
  const r0 = (l0 - l1) / h;
  const near = combine([1 / r0, m0], [-1 / r0, m1]);
  if (m2 === undefined) return { estimate: m0, slope: near, bend: null };
  const r1 = (l1 - l2) / h;
  const far = combine([1 / r1, m1], [-1 / r1, m2]);
  const change = combine([1, near], [-1, far]);
  return {
    estimate: m0,
    slope: combine([1, near], [r0 / (r0 + r1), change]),
    bend: combine([1 / (r0 + r1), change]),
  };
}
