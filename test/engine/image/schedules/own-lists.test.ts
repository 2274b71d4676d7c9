// Timesteps and sigmas that a request lists, and the messages of refusals.

import { expect, test } from 'vitest';
import { openSchedule } from '../../../../src/engine/image/schedules/classes.ts';
import type { StepPlanRequest } from '../../../../src/engine/image/schedules/schedule.ts';

const SD = { beta_start: 0.00085, beta_end: 0.012, beta_schedule: 'scaled_linear', skip_prk_steps: true };
const euler = { ...SD, _class_name: 'EulerDiscreteScheduler' };
const pndm = { ...SD, _class_name: 'PNDMScheduler' };
const dpm = { ...SD, _class_name: 'DPMSolverMultistepScheduler' };
const FLOW = { _class_name: 'FlowMatchEulerDiscreteScheduler', shift: 3 };

const REQUESTS: [what: string, config: Record<string, unknown>, request: StepPlanRequest, message: string][] =
  [
    ['sigmas elsewhere', pndm, { steps: 2, sigmas: [1, 0.5] }, "takes no sigmas of one's own"],
    [
      'sigmas without flow',
      { ...SD, _class_name: 'UniPCMultistepScheduler' },
      { steps: 2, sigmas: [1, 0.5] },
      'only as plain flow sigmas',
    ],
    [
      'too few sigmas',
      FLOW,
      { steps: 3, sigmas: [1, 0.5] },
      'sigmas is [1, 0.5]; FlowMatchEulerDiscreteScheduler takes 3 numbers',
    ],
    [
      'timesteps elsewhere',
      pndm,
      { steps: 2, timesteps: [9, 5] },
      "PNDMScheduler takes no timesteps of one's own",
    ],
    [
      'timesteps beside a spacing',
      { ...euler, use_karras_sigmas: true },
      { steps: 2, timesteps: [9, 5] },
      `with "use_karras_sigmas" takes no timesteps of one's own`,
    ],
    [
      'timesteps beside flow sigmas',
      { ...dpm, use_flow_sigmas: true },
      { steps: 2, timesteps: [9, 5] },
      '"use_flow_sigmas" takes no timesteps',
    ],
    [
      'timesteps where the model is fed noise levels',
      { ...euler, timestep_type: 'continuous', prediction_type: 'v_prediction' },
      { steps: 2, timesteps: [9, 5] },
      "with continuous timesteps takes no timesteps of one's own",
    ],
    ['rising timesteps', euler, { steps: 2, timesteps: [5, 9] }, 'timesteps is [5, 9]; Euler'],
    ['a timestep never trained', euler, { steps: 1, timesteps: [1000] }, 'from at most 999 down'],
    ['too few timesteps', euler, { steps: 3, timesteps: [9, 5] }, 'takes 3 whole numbers'],
    [
      'sigmas without their end',
      euler,
      { steps: 2, sigmas: [14, 3] },
      'sigmas is [14, 3]; EulerDiscreteScheduler takes 3',
    ],
    [
      'sigmas that stay at zero',
      euler,
      { steps: 2, sigmas: [14, 0, 0] },
      'falling and above 0, but for the last',
    ],
    ['rising sigmas', FLOW, { steps: 2, sigmas: [0.5, 1] }, 'falling'],
  ];
test.each(REQUESTS)('own lists of steps are refused: %s', (_, config, request, message) => {
  const param = request.sigmas ? 'sigmas' : 'timesteps';
  expect(() => openSchedule(config).plan(request)).toThrow(
    expect.objectContaining({ code: 'bad_request', param, message: expect.stringContaining(message) }),
  );
});

test('listed sigmas precede the spacing of the configuration, and timesteps precede its offset', () => {
  const sigmas = [14, 3, 0];
  const karras = openSchedule({ ...euler, use_karras_sigmas: true }).plan({ steps: 2, sigmas });
  expect(karras).toEqual(openSchedule(euler).plan({ steps: 2, sigmas }));
  const timesteps = [999, 250, 3];
  const plan = openSchedule({ ...dpm, steps_offset: 1 }).plan({ steps: 3, timesteps });
  expect(plan.steps.map(({ timestep }) => timestep)).toEqual(timesteps);
});
