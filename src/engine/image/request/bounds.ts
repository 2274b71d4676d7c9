// Bounds of the values of a request and of a model's own settings; each function describes the problem with a value, or returns null.

import { LIMITS } from '../../../options/limits.ts';

/** Describes the problem with a side of the image in pixels; null: none. */
export function sideProblem(value: number, multiple: number): string | null {
  if (!Number.isInteger(value) || value < multiple || value > LIMITS.side)
    return `is ${value}; it is an integer from ${multiple} to ${LIMITS.side}`;
  if (value % multiple === 0) return null;
  const below = Math.floor(value / multiple) * multiple;
  return `is ${value}, which is no multiple of ${multiple}; the nearest are ${below} and ${below + multiple}`;
}

/** Describes the problem with a number of frames, of which each latent after the first stands for `perLatent`; null: none. */
export function framesProblem(value: number, perLatent: number | null): string | null {
  if (perLatent === null)
    return value === 1 ? null : `is ${value}, and this model draws images, which have one: leave it out`;
  const problem = wholeProblem(value, 1, LIMITS.frames);
  if (problem !== null || (value - 1) % perLatent === 0) return problem;
  const below = value - ((value - 1) % perLatent);
  return `is ${value}, which is no multiple of ${perLatent} and one more; the nearest are ${below} and ${below + perLatent}`;
}

export function wholeProblem(value: number, least: number, most: number): string | null {
  const fits = Number.isInteger(value) && value >= least && value <= most;
  return fits ? null : `is ${value}; it is an integer from ${least} to ${most}`;
}

export const stepsProblem = (value: number): string | null => wholeProblem(value, 1, LIMITS.steps);

export function guidanceProblem(value: number): string | null {
  const fits = value >= 0 && value <= LIMITS.guidance;
  return fits ? null : `is ${value}; it is a number from 0 to ${LIMITS.guidance}`;
}
