// How many steps an image to start from leaves: diffusers counts them differently from pipeline to pipeline.

import { describe, expect, it } from 'vitest';
import { StepPlanner } from '../../../../src/engine/image/stages/step-planner.ts';
import { pipelineEntry } from '../../../../src/engine/image/families/registry.ts';
import type { Resolved } from '../../../../src/engine/image/stages/resolved.ts';

const SD = { beta_start: 0.00085, beta_end: 0.012, beta_schedule: 'scaled_linear', clip_sample: false };
const LCM = { ...SD, _class_name: 'LCMScheduler' };
const PNDM = { ...SD, _class_name: 'PNDMScheduler', skip_prk_steps: true };
const HEUN = { ...SD, _class_name: 'HeunDiscreteScheduler' };
const DDIM = { ...SD, _class_name: 'DDIMScheduler' };
const FLOW_SOLVER = { use_flow_sigmas: true, prediction_type: 'flow_prediction', flow_shift: 5 };
const FLOW = { _class_name: 'FlowMatchEulerDiscreteScheduler', shift: 3 };

function optionsOf(className: string): ConstructorParameters<typeof StepPlanner>[1] {
  const { family, set } = pipelineEntry(className);
  const latents = { ...family.latents, channels: 4, factor: 8 };
  return { sigmas: family.sigmas, strength: set.strength, latents, path: '/m/scheduler' };
}

function timesteps(
  config: object,
  className: string,
  steps: number,
  strength: number,
  { call = {}, ...request }: { call?: object; flowShift?: number } = {},
): number[] {
  const planner = new StepPlanner({ ...config }, optionsOf(className));
  const values = { scheduler: planner.names[0], steps, strength, width: 64, height: 64 };
  const plan = planner.plan({ event: { values }, request, call } as unknown as Resolved);
  return plan.steps.map(({ timestep }) => Math.round(timestep));
}

it.each([
  ['a part of a step is none', DDIM, 'StableDiffusionImg2ImgPipeline', 0.6, [250, 0]],
  ['a part of a step is one', FLOW, 'ZImageImg2ImgPipeline', 0.6, [900, 750, 500]],
  ['a part of the only step is one', FLOW, 'ZImageImg2ImgPipeline', 0.1, [500]],
  [
    'all steps, within a share of the distillation',
    LCM,
    'LatentConsistencyModelImg2ImgPipeline',
    0.5,
    [499, 379, 259, 139],
  ],
  ['LCM elsewhere', LCM, 'StableDiffusionImg2ImgPipeline', 0.5, [499, 259]],
  ['another schedule of LCM', DDIM, 'LatentConsistencyModelImg2ImgPipeline', 0.5, [250, 0]],
])('the steps that a strength leaves: %s', (_, config, className, strength, wanted) => {
  expect(timesteps(config, className, 4, strength)).toEqual(wanted);
});

it('LCM takes its steps from as many as a request says', () => {
  const of = (call: object) => timesteps(LCM, 'LatentConsistencyModelPipeline', 4, 1, { call });
  expect(of({})).toEqual([999, 759, 499, 259]);
  expect(of({ originalSteps: 4 })).toEqual([999, 749, 499, 249]);
});

const LISTED = { timesteps: [900, 600, 500, 400, 300] };

it.each([
  ['DDPM', { ...SD, _class_name: 'DDPMScheduler' }, 'StableDiffusionImg2ImgPipeline'],
  ['LCM', LCM, 'LatentConsistencyModelImg2ImgPipeline'],
])('a strength takes its share of a list of timesteps: %s', (_, config, className) => {
  expect(timesteps(config, className, 5, 0.5, { call: LISTED })).toEqual([400, 300]);
});

it('a strength counts Heun’s calls in a list of timesteps as if they were steps, as in diffusers', () => {
  const of = (strength: number) =>
    timesteps(HEUN, 'StableDiffusionImg2ImgPipeline', 5, strength, { call: LISTED });
  // Six of nine calls remain: three steps are skipped.
  expect(of(0.7)).toEqual([400, 300, 300]);
  expect(() => of(0.4)).toThrow(expect.objectContaining({ code: 'bad_request', param: 'strength' }));
});

it('a list of sigmas has as many steps, or one less where the run ends at the last', () => {
  const of = (name: string) =>
    new StepPlanner({ _class_name: name }, optionsOf('StableDiffusionPipeline')).stepsOf(
      { sigmas: [1, 0.5, 0.2] },
      name,
    );
  expect(of('FlowMatchEulerDiscreteScheduler')).toBe(3);
  expect(of('EulerDiscreteScheduler')).toBe(2);
});

describe('a part of the way from noise to image', () => {
  const of = (config: object, call: object, steps = 4) =>
    timesteps(config, 'StableDiffusionXLImg2ImgPipeline', steps, 0.3, { call });

  it.each([
    ['DDIM', DDIM, [250, 0], [750, 500]],
    ['PNDM, which visits a timestep twice', PNDM, [250, 0], [750, 500, 500]],
    // The run begins with a whole step above the cutoff and ends within one.
    ['Heun', HEUN, [666, 333, 333, 0, 0], [999, 666, 666]],
  ])('%s', (_, config, fromStart, toEnd) => {
    expect(of(config, { denoisingStart: 0.5 })).toEqual(fromStart);
    const whole = { denoisingStart: 0.0001 };
    expect(of(config, { ...whole, denoisingEnd: 0.5 })).toEqual(toEnd);
    expect(of(config, { ...whole, denoisingEnd: 1 })).toEqual(of(config, whole));
  });

  it('may be the last call, where there are more calls than steps', () => {
    expect(of(PNDM, { denoisingStart: 0.9 })).toEqual([0]);
  });

  it.each([
    ['denoising_start', { denoisingStart: 0.9999 }, { ...DDIM, timestep_spacing: 'trailing' }],
    ['denoising_end', { denoisingEnd: 0.1 }, { ...DDIM, steps_offset: 1 }],
  ])('that %s leaves empty is refused', (param, call, config) => {
    expect(() => of(config, call)).toThrow(expect.objectContaining({ code: 'bad_request', param }));
  });

  it.each([
    ['denoising_start', { denoisingStart: 0.5 }],
    ['denoising_end', { denoisingEnd: 0.5 }],
  ])('is no share of levels: %s', (param, call) => {
    expect(() => of({ _class_name: 'EDMEulerScheduler' }, call)).toThrow(
      expect.objectContaining({
        param,
        message: expect.stringContaining('EDMEulerScheduler goes by levels'),
      }),
    );
  });
});

it.each([
  ['the class’s own', FLOW, 1000],
  ['a solver’s', { _class_name: 'UniPCMultistepScheduler', ...FLOW_SOLVER }, 999],
  ['one that goes by the size', { ...FLOW, use_dynamic_shifting: true }, 1000],
])('a flow shift of the request replaces %s', (_, config, first) => {
  const of = (flowShift: number) => timesteps(config, 'ZImagePipeline', 4, 1, { flowShift });
  expect(of(1)).toEqual([first, 750, 500, 250]);
  expect(of(3)).toEqual([first, 900, 750, 500]);
});

it('a strength that leaves no step is refused', () => {
  expect(() => timesteps(DDIM, 'StableDiffusionImg2ImgPipeline', 4, 0.2)).toThrow(
    expect.objectContaining({ code: 'bad_request', param: 'strength' }),
  );
});

it('settings that a schedule does not have are named, and change nothing', () => {
  const planner = (config: object) =>
    new StepPlanner({ ...SD, _class_name: 'DDIMScheduler', ...config }, optionsOf('StableDiffusionPipeline'));
  expect(planner({ frobnicate: 3, skip_prk_steps: true }).unknownSettings).toBe(
    '/m/scheduler/scheduler_config.json has "frobnicate": 3, which no schedule has: it changes nothing',
  );
  expect(planner({ frobnicate: null }).unknownSettings).toBeNull();
});

describe('a schedule that the request chooses', () => {
  const ZERO = { ...DDIM, rescale_betas_zero_snr: true, timestep_spacing: 'trailing' };
  const leavesOut = (config: object, scheduler: string) =>
    new StepPlanner({ ...config }, optionsOf('StableDiffusionPipeline')).leavesOut(scheduler);

  it("lists the model's settings that it leaves out, and those that are taken from it", () => {
    expect(leavesOut(ZERO, 'lms')).toMatch(
      /^scheduler lms does not know "rescale_betas_zero_snr": true of this model's scheduler_config.json, and draws without it; euler, .*ddim.* heed what it says$/,
    );
    expect(leavesOut(ZERO, 'dpm++2s')).toContain(
      '"rescale_betas_zero_snr": true, "timestep_spacing": "trailing"',
    );
    expect(leavesOut(ZERO, 'lms')).not.toMatch(/lms.*; .*(lms|heun)/);
    expect(leavesOut({ ...FLOW, use_dynamic_shifting: true }, 'flow-heun')).toContain(
      '"use_dynamic_shifting": true',
    );
  });

  it.each([
    [ZERO, 'euler'],
    [ZERO, 'lcm'],
    [SD, 'lms'],
    [{ ...ZERO, _class_name: 'LMSDiscreteScheduler' }, 'LMSDiscreteScheduler'],
    [FLOW, 'flow-heun'],
  ])('needs no note: %j and %s', (config, scheduler) =>
    expect(leavesOut({ _class_name: 'DDIMScheduler', ...config }, scheduler)).toBeNull(),
  );
});

it('an error in the settings of a schedule names the path of its file', () => {
  const of = (config: object, scheduler?: string) => () => {
    const planner = new StepPlanner(
      { ...SD, _class_name: 'DDIMScheduler', ...config },
      optionsOf('StableDiffusionPipeline'),
    );
    planner.stepsOf({ sigmas: [1, 0] }, scheduler ?? planner.names[0]!);
  };
  const file = '/m/scheduler/scheduler_config.json';
  expect(of({ beta_start: 'a' })).toThrow(
    `${file} has "beta_start": "a" for DDIMScheduler, which takes a number from 1e-9 to 1.`,
  );
  expect(of({ predict_epsilon: false }, 'euler')).toThrow(`${file} has "predict_epsilon": false, which is`);
  expect(of({ _class_name: 'WowScheduler' })).toThrow(
    `${file}: There is no schedule WowScheduler here; take one of`,
  );
  expect(of({}, 'wow')).toThrow(/^scheduler wow is unknown/);
});
