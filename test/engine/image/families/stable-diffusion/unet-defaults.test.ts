// Checkpoints as published in 2022 and 2023, with the corrections of diffusers' pipelines.

import { describe, expect, it } from 'vitest';
import { pipelineEntry } from '../../../../../src/engine/image/families/registry.ts';
import { sampleSizeOf } from '../../../../../src/engine/image/families/stable-diffusion/unet-defaults.ts';
import { StepPlanner } from '../../../../../src/engine/image/stages/step-planner.ts';
import type { Resolved } from '../../../../../src/engine/image/stages/resolved.ts';
import type { SchedulePlan } from '../../../../../src/engine/image/schedules/schedule.ts';
import { changed, open, REQUEST } from '../../open-model.ts';

const SD = { beta_start: 0.00085, beta_end: 0.012, beta_schedule: 'scaled_linear' };

function planOf(schedulerClass: string, config: object, pipeline: string): SchedulePlan {
  const { family, set, task } = pipelineEntry(pipeline);
  const latents = { ...family.latents, channels: 4, factor: 8 };
  const options = { sigmas: family.sigmas, strength: set.strength, latents, path: '' };
  const json = { ...config, _class_name: schedulerClass };
  const planner = new StepPlanner(set.correctScheduler?.(json, task) ?? json, options);
  const values = { scheduler: planner.names[0], steps: 4, strength: null, width: 64, height: 64 };
  return planner.plan({ event: { values }, request: {}, call: {} } as unknown as Resolved);
}

describe('the schedule of a UNet', () => {
  it.each([
    ['DDIMScheduler', SD, 'StableDiffusionPipeline', [751, 501, 251, 1]],
    [
      'DDIMScheduler',
      { ...SD, clip_sample: true, steps_offset: 0 },
      'StableDiffusionPipeline',
      [751, 501, 251, 1],
    ],
    [
      'PNDMScheduler',
      { ...SD, skip_prk_steps: false },
      'StableDiffusionInpaintPipeline',
      [751, 501, 501, 251, 1],
    ],
    ['DDIMScheduler', { ...SD, clip_sample: false }, 'StableDiffusionXLPipeline', [750, 500, 250, 0]],
  ])('of class %s with %j in a %s visits %j', (schedulerClass, config, pipeline, wanted) => {
    const { steps } = planOf(schedulerClass, config, pipeline);
    expect(steps.map(({ timestep }) => timestep)).toEqual(wanted);
  });

  it.each([
    [{ clip_sample: true }, 'StableDiffusionXLPipeline', { kind: 'clip', range: 1 }],
    [{}, 'StableDiffusionXLPipeline', { kind: 'clip', range: 1 }],
    [{ clip_sample: true }, 'StableDiffusionPipeline', undefined],
    [{ thresholding: true }, 'StableDiffusionPipeline', { kind: 'threshold', ratio: 0.995, most: 1 }],
  ])('with %j in a %s limits clean latents by %j', (settings, pipeline, limit) => {
    const { steps } = planOf('DDIMScheduler', { ...SD, ...settings }, pipeline);
    expect(steps.map(({ limits }) => limits?.by)).toEqual(steps.map(() => limit));
  });
});

it.each([
  ['0.6.0.dev0', 32, 64],
  ['0.8.1', 96, 96],
  ['0.10.2', 32, 32],
  ['0.42.1', 16, 16],
  [undefined, 32, 32],
  ['0.7.2', null, null],
])(
  'a UNet saved by diffusers %s with a sample size of %s draws %s latents a side',
  (version, given, wanted) => {
    const square = (side: number | null) => (side === null ? null : { height: side, width: side });
    const json = { _diffusers_version: version, sample_size: given };
    expect(sampleSizeOf(json, square(given))).toEqual(square(wanted));
  },
);

it('an old checkpoint draws in the size, and by the schedule, that its pipeline corrects it to', async () => {
  const named = changed('model_index.json', { scheduler: ['diffusers', 'DDIMScheduler'] });
  const clipping = changed('scheduler/scheduler_config.json', { clip_sample: true }, named);
  const drawn = await open({ model: clipping });
  expect((await drawn.model.resolve(REQUEST)).values.scheduler).toBe('DDIMScheduler');
  await drawn.model.close();
  const { model } = await open({ model: changed('unet/config.json', { _diffusers_version: '0.8.0.dev0' }) });
  expect(model.info.defaults.width).toBe(64 * 4);
  await model.close();
});

it('a tokenizer that does not name its class is of the class in model_index.json', async () => {
  const { model } = await open({
    model: changed('tokenizer/tokenizer_config.json', { tokenizer_class: null }),
  });
  const heard: string[] = [];
  for await (const event of model.generate({ ...REQUEST, steps: 1 })) heard.push(event.type);
  expect(heard).toContain('image');
  await model.close();
});
