// Whole runs of every schedule against diffusers in float64 (scripts/reference/schedules.py): class × spacing × prediction,
// and each option of the config that changes numbers.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openSchedule, SCHEDULE_CLASSES } from '../../../../src/engine/image/schedules/classes.ts';
import { parseJson } from '../../../../src/files/json.ts';
import type { StepPlanRequest } from '../../../../src/engine/image/schedules/schedule.ts';
import { runPlan } from './run-plan.ts';

interface Case {
  config: Record<string, unknown>;
  run: StepPlanRequest;
  timesteps: number[];
  levels: [image: number, noise: number][];
  latents: number[][];
}

const golden = new URL('../../../golden/schedules.json', import.meta.url);
const { cases, image, saved }: { cases: Case[]; image: number[]; saved: string[] } = JSON.parse(
  readFileSync(golden, 'utf8'),
);
const TOLERANCE = 1e-6;
const VALUES = image.length;

const model = (input: Float64Array, timestep: number): Float64Array =>
  input.map((value, i) => 0.4 * value + 0.3 * Math.sin(0.02 * timestep + i));
const noise = (draw: number): Float64Array =>
  Float64Array.from({ length: VALUES }, (_, i) => 1.3 * Math.sin(1.7 * (VALUES * draw + i) + 0.3));

/** Largest difference, as a share of the largest magnitude. */
function difference(got: readonly number[], wanted: readonly number[]): number {
  const scale = Math.max(...wanted.map(Math.abs), 1e-3);
  return Math.max(...wanted.map((value, i) => Math.abs((got[i] ?? Number.NaN) - value))) / scale;
}

function describe({ config, run }: Case): string {
  const { sigmas, ...rest } = run;
  return `${JSON.stringify(config)} ${JSON.stringify(rest)}${sigmas === undefined ? '' : ' own sigmas'}`;
}

test('the goldens of schedules hold every class', () => {
  expect(saved.length).toBe(SCHEDULE_CLASSES.length);
  expect(new Set(cases.map(({ config }) => config['_class_name']))).toEqual(new Set(SCHEDULE_CLASSES));
});

test.each(saved.map((text) => [parseJson(text) as Record<string, unknown>] as const))(
  'the schedule $_class_name as diffusers saves it',
  (config) => {
    const steps = 5;
    expect(openSchedule(config).plan({ steps }).steps.length).toBeGreaterThanOrEqual(steps);
  },
);

test.each(cases.map((item) => [describe(item), item] as const))('the schedule of golden %s', (_, item) => {
  const plan = openSchedule(item.config).plan(item.run);
  expect(plan.steps.length).toBe(item.timesteps.length);
  expect(
    difference(
      plan.steps.map(({ timestep }) => timestep),
      item.timesteps,
    ),
  ).toBeLessThan(TOLERANCE);
  const start =
    item.run.first === undefined && item.run.reach === undefined ? null : Float64Array.from(image);
  const trace = runPlan(plan, model, noise, start);
  const worst = item.latents.map((wanted, i) => difference([...(trace[i] ?? [])], wanted));
  expect(Math.max(...worst), JSON.stringify(worst.map((x) => x.toExponential(1)))).toBeLessThan(TOLERANCE);

  // Each step ends at the level where the next begins; the last one ends without noise.
  const levels = [plan.fromImage, ...plan.steps.map(({ after }) => after)].map((mix) => [
    mix.image,
    mix.noise,
  ]);
  for (const [i, wanted] of [...item.levels, [1, 0]].entries()) {
    expect(difference(levels[i] ?? [], wanted)).toBeLessThan(TOLERANCE);
  }
});
