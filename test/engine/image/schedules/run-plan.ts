// Runs a plan on the CPU, in f64: what the pipelines do with one GPU kernel.

import assert from 'node:assert';
import type { Limit, Operand, SchedulePlan, Term } from '../../../../src/engine/image/schedules/schedule.ts';

export interface Model {
  (input: Float64Array, timestep: number): Float64Array;
}

/** The latents before the first step and after each. `image`: image-to-image. `noise(k)`: the k-th tensor drawn. */
export function runPlan(
  plan: SchedulePlan,
  model: Model,
  noise: (draw: number) => Float64Array,
  image: Float64Array | null,
): Float64Array[] {
  const tensors = new Map<Operand, Float64Array>();
  const first = noise(0);
  const sum = (terms: readonly Term[]): Float64Array => {
    const total = new Float64Array(first.length);
    for (const { operand, coefficient } of terms) {
      const tensor = tensors.get(operand);
      assert(tensor !== undefined, `${operand} is read before it is written`);
      for (const [i, value] of tensor.entries()) total[i] = (total[i] ?? 0) + coefficient * value;
    }
    return total;
  };

  const { fromImage, fromNoise } = plan;
  const start =
    image === null
      ? first.map((value) => fromNoise * value)
      : first.map((value, i) => fromImage.noise * value + fromImage.image * (image[i] ?? Number.NaN));
  tensors.set('latents', start);
  const trace: Float64Array[] = [start];
  let draws = 1;
  for (const step of plan.steps) {
    const latents = tensors.get('latents') ?? new Float64Array();
    tensors.set(
      'output',
      model(
        latents.map((value) => step.inputScale * value),
        step.timestep,
      ),
    );
    tensors.delete('noise');
    if (step.drawsNoise) {
      tensors.set('noise', noise(draws));
      draws += 1;
    }
    tensors.delete('clean');
    if (step.limits) tensors.set('clean', limit(sum(step.limits.terms), step.limits.by));
    for (const { into, terms } of step.updates) {
      assert(into === 'latents' || into < plan.slots, `slot ${into} of ${plan.slots}`);
      tensors.set(into, sum(terms));
    }
    trace.push(tensors.get('latents') ?? new Float64Array());
  }
  return trace;
}

/** The definitions of clipping and of dynamic thresholding. */
function limit(clean: Float64Array, by: Limit): Float64Array {
  const hold = (value: number, most: number): number => Math.min(Math.max(value, -most), most);
  if (by.kind === 'clip') return clean.map((value) => hold(value, by.range));
  const sizes = clean.map(Math.abs).sort();
  const place = by.ratio * (sizes.length - 1);
  const rank = Math.floor(place);
  const [below = 0, above = below] = sizes.subarray(rank);
  const s = Math.min(Math.max(below + (place - rank) * (above - below), 1), by.most);
  return clean.map((value) => hold(value, s) / s);
}
