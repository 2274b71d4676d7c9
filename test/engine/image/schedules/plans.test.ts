// Properties of every plan: it can run at any length, and its result is right where that is known in advance.

import { expect, test } from 'vitest';
import { chooseSchedule, scheduleNames } from '../../../../src/engine/image/schedules/names.ts';
import type { Mix, SchedulePlan } from '../../../../src/engine/image/schedules/schedule.ts';
import { runPlan } from './run-plan.ts';

const DIFFUSION = {
  _class_name: 'DDIMScheduler',
  beta_start: 0.00085,
  beta_end: 0.012,
  beta_schedule: 'scaled_linear',
  clip_sample: false,
  set_alpha_to_one: true,
  skip_prk_steps: true,
  steps_offset: 1,
};
const FLOW = { _class_name: 'FlowMatchEulerDiscreteScheduler', shift: 3 };
const STRETCHED = { ...FLOW, shift: 1, use_dynamic_shifting: true, shift_terminal: 0.02 };
const all = [DIFFUSION, FLOW].flatMap((config) =>
  scheduleNames(config === FLOW ? 'flow' : 'diffusion').map((name) => {
    const schedule = chooseSchedule(name, config);
    return [`${name} (${schedule.family})`, schedule] as const;
  }),
);

test.each(all)('the steps of %s can be run in every number', (_, schedule) => {
  for (const steps of [1, 2, 3, 4, 5, 14, 15, 16, 31, 50]) {
    for (const first of new Set([0, Math.floor(0.63 * steps), steps - 1])) {
      const plan = schedule.plan({ steps, first });
      // runPlan asserts that what is read was written before.
      const trace = runPlan(
        plan,
        (input) => input.map((x) => 0.1 * x),
        () => Float64Array.of(1),
        Float64Array.of(1),
      );
      expect(trace.flatMap((row) => [...row]).every(Number.isFinite)).toBe(true);
      expect(plan.steps.every(({ updates }) => updates.at(-1)?.into === 'latents')).toBe(true);
    }
  }
});

test('a schedule that is stretched to a terminal sigma goes from noise to the image in one step', () => {
  const schedule = chooseSchedule(null, STRETCHED);
  const sigmas = (steps: number) => Array.from({ length: steps }, (_, i) => 1 - i / steps);
  const timesteps = (steps: number) =>
    schedule
      .plan({ steps, sigmas: sigmas(steps), imageTokens: 256 })
      .steps.map(({ timestep }) => Math.round(timestep));
  expect(timesteps(1)).toEqual([1000]);
  expect(timesteps(2)).toEqual([1000, 20]);
});

/** Returns the latents to which a model that always predicts `clean` leads. Levels are those of the latents before each step. */
function oracle(plan: SchedulePlan, flow: boolean, clean: number): number {
  let step = -1;
  const levels: Mix[] = [plan.fromImage, ...plan.steps.map(({ after }) => after)];
  const model = (input: Float64Array): Float64Array => {
    step += 1;
    const { image, noise } = levels[step] ?? { image: 1, noise: 0 };
    const latents = (input[0] ?? 0) / (plan.steps[step]?.inputScale ?? 1);
    return Float64Array.of(flow ? (latents - clean) / noise : (latents - image * clean) / noise);
  };
  return (
    runPlan(plan, model, (draw) => Float64Array.of(Math.sin(draw + 1)), Float64Array.of(clean)).at(-1)?.[0] ??
    Number.NaN
  );
}

// These schedules do not end at the clean latents: LCM ends at the mixture of its boundary condition, TCD and DEIS at the lowest
// level. A late start of PNDM lags one timestep behind its latents, as in diffusers.
const ELSEWHERE = ['LCMScheduler', 'TCDScheduler', 'DEISMultistepScheduler'];
const ending = all.filter(([, { className }]) => !ELSEWHERE.includes(className));
test.each(ending)('steps of %s lead a perfect model to its image', (_, { className, family, plan }) => {
  for (const first of className === 'PNDMScheduler' ? [0] : [10, 0]) {
    expect(oracle(plan({ steps: 20, first }), family === 'flow', 0.75)).toBeCloseTo(0.75, 6);
  }
});

test.each(ending)(
  'each step of %s predicts the clean latents that the model knows',
  (_, { family, plan }) => {
    const [step] = plan({ steps: 20, first: 10 }).steps;
    const { image, noise } = plan({ steps: 20, first: 10 }).fromImage;
    const [clean, fresh] = [0.75, -1.25];
    const values = {
      latents: image * clean + noise * fresh,
      output: family === 'flow' ? fresh - clean : fresh,
    };
    const estimate = step?.estimate.reduce(
      (sum, { operand, coefficient }) =>
        sum + coefficient * (operand === 'latents' ? values.latents : values.output),
      0,
    );
    expect(estimate).toBeCloseTo(clean, 9);
  },
);

test('slots of a schedule hold only what a later step reads', () => {
  const slots = (name: string, steps: number): number =>
    chooseSchedule(name, DIFFUSION).plan({ steps }).slots;
  expect(slots('euler', 20)).toBe(0);
  expect(slots('heun', 20)).toBe(1);
  expect(slots('dpm++2m', 20)).toBe(2);
  expect(slots('dpm++2m', 1)).toBe(0);
  expect(slots('lms', 20)).toBe(4);
  const last = chooseSchedule('dpm++2m', DIFFUSION).plan({ steps: 20 }).steps.at(-1);
  expect(last?.updates.length).toBe(1);
});
