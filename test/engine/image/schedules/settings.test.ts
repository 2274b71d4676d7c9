// Settings in scheduler_config.json and in requests: published configurations, and the messages of refusals.

import { expect, test } from 'vitest';
import { openSchedule } from '../../../../src/engine/image/schedules/classes.ts';
import { parseJson } from '../../../../src/files/json.ts';
import { empiricalShift, plainSigmas } from '../../../../src/engine/image/schedules/flow-sigmas.ts';
import type { StepPlanRequest } from '../../../../src/engine/image/schedules/schedule.ts';
import { EDM, FLOW, SD } from './published.ts';

const SIZED = {
  ...FLOW,
  use_dynamic_shifting: true,
  base_shift: 0.5,
  max_shift: 1.15,
  base_image_seq_len: 256,
};

test.each([
  ['Stable Diffusion 1.5', SD, { steps: 50 }, 51, 981],
  [
    'a model of November 2022',
    { ...SD, _class_name: 'DPMSolverMultistepScheduler', predict_epsilon: true, tensor_format: 'pt' },
    { steps: 25 },
    25,
    999,
  ],
  [
    'a model that names a DDPM of fixed variance',
    { ...SD, _class_name: 'DPMSolverMultistepScheduler', variance_type: 'fixed_small' },
    { steps: 25 },
    25,
    999,
  ],
  [
    'a model that names DEIS',
    { ...SD, _class_name: 'DEISMultistepScheduler', algorithm_type: 'deis', timestep_spacing: 'leading' },
    { steps: 25 },
    25,
    951,
  ],
  [
    'Stable Diffusion 2.1',
    { ...SD, _class_name: 'DDIMScheduler', prediction_type: 'v_prediction' },
    { steps: 25 },
    25,
    961,
  ],
  [
    'SDXL',
    {
      ...SD,
      _class_name: 'EulerDiscreteScheduler',
      interpolation_type: 'linear',
      timestep_spacing: 'leading',
      sample_max_value: 1,
      use_karras_sigmas: false,
    },
    { steps: 30 },
    30,
    958,
  ],
  [
    'SD-Turbo',
    { ...SD, _class_name: 'EulerDiscreteScheduler', timestep_spacing: 'trailing' },
    { steps: 1 },
    1,
    999,
  ],
  [
    'LCM',
    { ...SD, _class_name: 'LCMScheduler', original_inference_steps: 50, timestep_scaling: 10 },
    { steps: 4 },
    4,
    999,
  ],
  ['Stable Diffusion 3', FLOW, { steps: 28 }, 28, 1000],
  ['FLUX', SIZED, { steps: 4, sigmas: plainSigmas(4), imageTokens: 4096 }, 4, 1000],
  ['Playground v2.5', EDM, { steps: 50 }, 50, Math.log(80) / 4],
  [
    'Wan',
    {
      _class_name: 'UniPCMultistepScheduler',
      use_flow_sigmas: true,
      prediction_type: 'flow_prediction',
      flow_shift: 3,
      solver_p: null,
      disable_corrector: [],
    },
    { steps: 30 },
    30,
    999,
  ],
] satisfies [string, Record<string, unknown>, StepPlanRequest, number, number][])(
  'the published configuration of %s is read',
  (_, config, request, calls, first) => {
    const plan = openSchedule(config).plan(request);
    expect(plan.steps.length).toBe(calls);
    expect(plan.steps[0]?.timestep).toBeCloseTo(first, 6);
  },
);

test.each([
  [4096, 4, 2.291179894115571],
  [1024, 50, 1.7019562073086316],
  [4301, 4, 1.18469693],
])('the shift of FLUX.2 for %i tokens in %i steps', (tokens, steps, mu) => {
  expect(empiricalShift(tokens, steps)).toBeCloseTo(mu, 12);
});

test("Infinity as Python writes it is read in a schedule's configuration", () => {
  const config = parseJson('{"_class_name": "DPMSolverMultistepScheduler", "lambda_min_clipped": -Infinity}');
  expect(openSchedule(config as Record<string, unknown>).plan({ steps: 3 })).toEqual(
    openSchedule({ _class_name: 'DPMSolverMultistepScheduler' }).plan({ steps: 3 }),
  );
});

test('a key that no class of schedule has changes nothing', () => {
  expect(openSchedule({ ...SD, sparkle: 3 }).plan({ steps: 3 })).toEqual(openSchedule(SD).plan({ steps: 3 }));
});

const CONFIGS: [what: string, config: Record<string, unknown>, code: string, message: string][] = [
  ['no class', {}, 'bad_checkpoint', 'has no "_class_name"'],
  [
    'an old key that says otherwise',
    { ...SD, predict_epsilon: false },
    'unsupported',
    '"predict_epsilon": false',
  ],
  [
    'another prediction',
    { ...SD, prediction_type: 'sample' },
    'unsupported',
    'it takes "epsilon", "v_prediction"',
  ],
  [
    'a learned variance of a solver',
    { ...SD, _class_name: 'DPMSolverMultistepScheduler', variance_type: 'learned_range' },
    'unsupported',
    '"variance_type": "learned_range"',
  ],
  [
    'a learned variance',
    { ...SD, _class_name: 'DDPMScheduler', variance_type: 'learned' },
    'unsupported',
    '"variance_type": "learned"',
  ],
  ['a word for a number', { ...SD, beta_start: 'low' }, 'bad_checkpoint', '"beta_start": "low"'],
  ['a number for a flag', { ...SD, skip_prk_steps: 1 }, 'bad_checkpoint', '"skip_prk_steps": 1'],
  [
    'two spacings',
    { ...SD, _class_name: 'HeunDiscreteScheduler', use_karras_sigmas: true, use_beta_sigmas: true },
    'bad_checkpoint',
    'use_karras_sigmas and use_beta_sigmas',
  ],
  [
    'a solver inside',
    { ...SD, _class_name: 'UniPCMultistepScheduler', solver_p: {} },
    'unsupported',
    '"solver_p"',
  ],
  [
    'an SDE of third order',
    { ...EDM, algorithm_type: 'sde-dpmsolver++', solver_order: 3 },
    'unsupported',
    '"solver_order": 3',
  ],
  ['inverted sigmas', { ...FLOW, invert_sigmas: true }, 'unsupported', '"invert_sigmas": true'],
  [
    'growing latents',
    { ...FLOW, _class_name: 'FlowMatchLCMScheduler', scale_factors: [0.5] },
    'unsupported',
    '"scale_factors"',
  ],
  [
    'the noise form ending at zero',
    { ...SD, _class_name: 'DPMSolverMultistepScheduler', algorithm_type: 'dpmsolver' },
    'unsupported',
    '"final_sigmas_type": "zero"',
  ],
  [
    'timesteps without end',
    { ...SD, num_train_timesteps: 1e9 },
    'bad_checkpoint',
    '"num_train_timesteps": 1000000000',
  ],
  [
    'half a timestep',
    { ...SD, num_train_timesteps: 10.5 },
    'bad_checkpoint',
    'takes an integer from 1 to 100000',
  ],
  [
    'betas that are not numbers',
    { ...SD, beta_end: Number.NaN },
    'bad_checkpoint',
    '"beta_end": NaN for PNDMScheduler',
  ],
  ['betas above 1', { ...SD, trained_betas: [0.1, 1.5] }, 'bad_checkpoint', '"trained_betas": [0.1,1.5]'],
  [
    'no thresholding ratio',
    { ...SD, _class_name: 'DDIMScheduler', thresholding: true, dynamic_thresholding_ratio: 2 },
    'bad_checkpoint',
    'which takes a number from 0 to 1',
  ],
  ['an offset of text', { ...SD, steps_offset: '1' }, 'bad_checkpoint', '"steps_offset": "1"'],
  ['sigmas below zero', { ...EDM, sigma_max: -80 }, 'bad_checkpoint', '"sigma_max": -80'],
  [
    'a class named as what every object has',
    { _class_name: 'constructor' },
    'unsupported',
    'There is no schedule constructor here',
  ],
  ['one trained timestep', { ...SD, num_train_timesteps: 1 }, 'bad_checkpoint', 'trains 1 timesteps'],
];
test.each(CONFIGS)('settings of a schedule are refused: %s', (_, config, code, message) => {
  expect(() => openSchedule(config)).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(message) }),
  );
});

const euler = { ...SD, _class_name: 'EulerDiscreteScheduler' };
const REQUESTS: [what: string, config: Record<string, unknown>, request: StepPlanRequest, message: string][] =
  [
    [
      'betas so large that no signal is left',
      { ...SD, _class_name: 'DDIMScheduler', beta_start: 0.5 },
      { steps: 4 },
      'DDIMScheduler cannot compute step 1 at timestep',
    ],
    [
      'no step',
      euler,
      { steps: 0 },
      'steps is 0; EulerDiscreteScheduler takes a whole number from 1 to 1000.',
    ],
    ['half a step', euler, { steps: 2.5 }, 'steps is 2.5'],
    ['too many steps', euler, { steps: 1001 }, 'steps is 1001'],
    ['all steps left out', euler, { steps: 4, first: 4 }, 'first is 4; of 4 steps fewer are left out'],
    ['a share of the distillation elsewhere', euler, { steps: 4, reach: 0.5 }, 'takes no reach (0.5)'],
    [
      'more steps than a share of the distillation has',
      { ...SD, _class_name: 'LCMScheduler' },
      { steps: 4, reach: 0.07 },
      'takes at most 3, the share 0.07 of the 50 steps',
    ],
    ['eta beyond 1', { ...SD, _class_name: 'DDIMScheduler' }, { steps: 4, eta: 2 }, 'eta is 2'],
    ['eta elsewhere', euler, { steps: 4, eta: 0.5 }, 'EulerDiscreteScheduler takes no eta (0.5)'],
    ['no size', SIZED, { steps: 2 }, 'give imageTokens or mu'],
    [
      'more steps than were distilled',
      { ...SD, _class_name: 'TCDScheduler' },
      { steps: 60 },
      'takes at most 50',
    ],
    ['Runge-Kutta in 3 steps', { ...SD, skip_prk_steps: false }, { steps: 3 }, 'takes at least 4'],
    [
      'Runge-Kutta from an image',
      { ...SD, skip_prk_steps: false },
      { steps: 9, first: 4 },
      'cannot start from an image',
    ],
  ];
test.each(REQUESTS)('settings of a schedule are refused: %s', (_, config, request, message) => {
  expect(() => openSchedule(config).plan(request)).toThrow(
    expect.objectContaining({ code: 'bad_request', message: expect.stringContaining(message) }),
  );
});

test('a noise prediction is refused where latents are all noise', () => {
  const zero = {
    ...SD,
    _class_name: 'DDIMScheduler',
    rescale_betas_zero_snr: true,
    timestep_spacing: 'trailing',
  };
  expect(() => openSchedule(zero).plan({ steps: 4 })).toThrow(
    expect.objectContaining({
      code: 'bad_request',
      message: expect.stringContaining('step 1 at timestep 999'),
    }),
  );
  expect(openSchedule({ ...zero, prediction_type: 'v_prediction' }).plan({ steps: 4 }).steps.length).toBe(4);
});
