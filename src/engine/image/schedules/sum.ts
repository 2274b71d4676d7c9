// Linear combinations of the tensors of a step. Methods are written with them tensor by tensor, like in their papers; the
// plan has one coefficient for each operand.

import { badRequest } from '../../../files/error.ts';
import {
  CLEAN,
  type Limit,
  type Mix,
  type Operand,
  type SchedulePlan,
  type Step,
  type Term,
  type Update,
} from './schedule.ts';

export type Sum = ReadonlyMap<Operand, number>;

const one = (operand: Operand): Sum => new Map([[operand, 1]]);
export const LATENTS = one('latents');
export const OUTPUT = one('output');
export const NOISE = one('noise');
/** The limited clean latents of a draft that limits them. */
export const CLEAN_LATENTS = one('clean');
export const slot = (index: number): Sum => one(index);

/** Σ factor · sum. */
export function combine(...parts: readonly (readonly [factor: number, sum: Sum])[]): Sum {
  const total = new Map<Operand, number>();
  for (const [factor, sum] of parts) {
    for (const [operand, coefficient] of sum) {
      total.set(operand, (total.get(operand) ?? 0) + factor * coefficient);
    }
  }
  return total;
}

/**
 * Largest magnitude of a coefficient; larger ones overflow f32 when multiplied with latents. The largest of a trained schedule is
 * near 1e4.
 */
const MOST = 1e12;

/** A step as methods produce it. The values of slots are computed from the latents and output before the step, like `latents`. */
export interface Draft {
  timestep: number;
  inputScale?: number;
  /** The predicted clean latents, over latents and output, and their limit. */
  limits?: { of: Sum; by: Limit } | null;
  stores?: readonly { slot: number; value: Sum }[];
  latents: Sum;
  estimate: Sum;
  /** Noise level that this step starts from. */
  level: Mix;
}

/** Makes a plan of drafts, without zero terms and unread slots. Throws for coefficients that overflow f32. */
export function assemble(className: string, fromNoise: number, drafts: readonly Draft[]): SchedulePlan {
  const steps = keepRead(
    drafts.map((draft, index): Step => {
      const stores = (draft.stores ?? []).map(({ slot: into, value }): Update => ({
        into,
        terms: terms(value),
      }));
      return {
        timestep: draft.timestep,
        inputScale: draft.inputScale ?? 1,
        limits: draft.limits ? { terms: terms(draft.limits.of), by: draft.limits.by } : null,
        updates: [...stores, { into: 'latents', terms: terms(draft.latents) }],
        drawsNoise: [...draft.latents].some(
          ([operand, coefficient]) => operand === 'noise' && coefficient !== 0,
        ),
        estimate: terms(draft.estimate),
        after: drafts[index + 1]?.level ?? CLEAN,
      };
    }),
  );
  for (const [index, step] of steps.entries()) assertFinite(className, step, index);
  const slots = steps.flatMap(({ updates }) =>
    updates.flatMap(({ into }) => (into === 'latents' ? [] : [into + 1])),
  );
  return { fromNoise, fromImage: drafts[0]?.level ?? CLEAN, steps, slots: Math.max(0, ...slots) };
}

function terms(sum: Sum): Term[] {
  return [...sum]
    .filter(([, coefficient]) => coefficient !== 0)
    .map(([operand, coefficient]) => ({ operand, coefficient }));
}

/** Removes stores that no later update reads. */
function keepRead(steps: readonly Step[]): Step[] {
  const read = new Set<Operand>();
  return steps
    .toReversed()
    .map((step) => {
      const kept = step.updates.toReversed().filter(({ into, terms: parts }) => {
        if (into !== 'latents' && !read.has(into)) return false;
        read.delete(into);
        for (const { operand } of parts) read.add(operand);
        return true;
      });
      return { ...step, updates: kept.toReversed() };
    })
    .toReversed();
}

function assertFinite(className: string, step: Step, index: number): void {
  const sums = [...step.updates, ...(step.limits ? [step.limits] : [])];
  const parts = [...sums.flatMap((sum) => sum.terms), ...step.estimate];
  const numbers = [step.timestep, step.inputScale, ...parts.map(({ coefficient }) => coefficient)];
  if (numbers.every((value) => Math.abs(value) <= MOST)) return;
  throw badRequest(
    `${className} cannot compute step ${index + 1} at timestep ${step.timestep} with these settings (a division by zero noise or zero signal); ` +
      'take another schedule, fewer steps, another timestep_spacing, or v_prediction where the betas end in zero signal.',
    'scheduler',
  );
}
