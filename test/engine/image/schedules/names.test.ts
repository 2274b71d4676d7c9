// Values of --scheduler: names, the settings that they keep from the checkpoint, and the messages of refusals.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openSchedule, SCHEDULE_CLASSES } from '../../../../src/engine/image/schedules/classes.ts';
import { chooseSchedule, scheduleName, scheduleNames } from '../../../../src/engine/image/schedules/names.ts';
import type { ScheduleFamily } from '../../../../src/engine/image/schedules/schedule.ts';
import { EDM, FLOW, SD } from './published.ts';

test('every class of a schedule has a name, and every name of a family opens on its checkpoint', () => {
  const families = { diffusion: SD, flow: FLOW, edm: EDM };
  const all = Object.entries(families).flatMap(([family, config]) =>
    scheduleNames(family as ScheduleFamily).map((name) => ({
      name,
      family,
      schedule: chooseSchedule(name, config),
    })),
  );
  expect(new Set(all.map(({ schedule }) => schedule.className))).toEqual(new Set(SCHEDULE_CLASSES));
  for (const { name, family, schedule } of all) expect(schedule.family, name).toBe(family);
});

test('a name of a schedule sets its method and leaves the checkpoint its betas, prediction and shift', () => {
  const karras = { ...SD, use_karras_sigmas: true };
  const request = { steps: 6 };
  expect(chooseSchedule('euler', karras).plan(request)).toEqual(
    openSchedule({ ...SD, _class_name: 'EulerDiscreteScheduler' }).plan(request),
  );
  expect(chooseSchedule('EulerDiscreteScheduler', karras).plan(request)).toEqual(
    chooseSchedule('euler-karras', SD).plan(request),
  );
  expect(chooseSchedule(null, SD).className).toBe('PNDMScheduler');
  const unipc = {
    ...FLOW,
    _class_name: 'UniPCMultistepScheduler',
    use_flow_sigmas: true,
    prediction_type: 'flow_prediction',
    flow_shift: 3,
  };
  expect(chooseSchedule('flow-unipc', FLOW).plan(request)).toEqual(openSchedule(unipc).plan(request));
  expect(chooseSchedule('flow-euler', unipc).plan(request)).toEqual(openSchedule(FLOW).plan(request));
});

test('a spacing of steps is not confused with a method', () => {
  for (const name of ['karras', 'sgm_uniform', 'normal'])
    expect(() => scheduleName(name, SD)).toThrow(
      `scheduler ${name} is a spacing of steps, and goes with a method, as in euler-karras; take one of`,
    );
});

test.each([
  ['dpmpp_2m_sde_gpu', 'dpm++2m-sde'],
  ['uni_pc_bh2', 'unipc'],
])('the schedule %s of ComfyUI is %s', (theirs, ours) => expect(scheduleName(theirs, SD)).toBe(ours));

test('a schedule that is not built in can be replaced by one that is', () => {
  const own = { ...SD, _class_name: 'SASolverScheduler' };
  expect(() => openSchedule(own)).toThrow(
    'There is no schedule SASolverScheduler here; take one of DDIMScheduler',
  );
  expect(() => chooseSchedule(null, own)).toThrow('SASolverScheduler is not here: take unipc.');
  expect(chooseSchedule('dpm++2m', own).className).toBe('DPMSolverMultistepScheduler');
});

const golden = readFileSync(new URL('../../../golden/schedules.json', import.meta.url), 'utf8');
const { compatibles } = JSON.parse(golden) as { compatibles: string[] };
const NOT_HERE: Readonly<Record<string, string>> = {
  DPMSolverSDEScheduler: 'take dpm++2m-sde',
  EDMEulerScheduler: "is for Karras' EDM models, which this is not; take one of euler",
};

test.each(compatibles)('the schedule %s, which diffusers lets Stable Diffusion take', (name) => {
  const open = (): string => chooseSchedule(name, SD).className;
  const remedy = NOT_HERE[name];
  if (remedy === undefined) expect(open()).toBe(name);
  else expect(open).toThrow(remedy);
});

test.each([
  ['dpmpp_2m', 'dpm++2m'],
  ['dpmpp_2m_sde', 'dpm++2m-sde'],
  ['dpmpp_3m_sde', 'dpm++3m-sde'],
  ['DPM++ 2M Karras', 'dpm++2m-karras'],
  ['euler_ancestral', 'euler-a'],
  ['Euler a', 'euler-a'],
  ['k_euler', 'euler'],
  ['dpm_2', 'dpm2'],
  ['dpm_2_ancestral', 'dpm2-a'],
  ['DPM2 a Karras', 'dpm2-a-karras'],
  ['uni_pc', 'unipc'],
  ['PLMS', 'pndm'],
  ['ddimscheduler', 'DDIMScheduler'],
])('the schedule %s of other programs is %s', (theirs, ours) => {
  expect(scheduleName(theirs, SD)).toBe(ours);
  expect(chooseSchedule(theirs, SD).plan({ steps: 6 })).toEqual(chooseSchedule(ours, SD).plan({ steps: 6 }));
});

test.each([
  ['sparkle', SD, 'scheduler sparkle is unknown; take one of euler, euler-karras'],
  ['flow-euler', SD, 'flow-euler is for flow-matching models, which this is not'],
  ['ddim', FLOW, 'ddim is for noise-predicting models, which this is not; take one of flow-euler'],
  [
    'euler',
    EDM,
    'euler is for noise-predicting models, which this is not; take one of edm-euler, edm-dpm++2m',
  ],
  ['EDMEulerScheduler', SD, "EDMEulerScheduler is for Karras' EDM models, which this is not"],
  [
    'UniPCMultistepScheduler',
    EDM,
    'UniPCMultistepScheduler is for noise-predicting and flow-matching models, which this is not',
  ],
  ['dpmpp_sde', SD, 'take dpm++2m-sde'],
  [
    'dpmpp_2s_ancestral',
    SD,
    'scheduler dpmpp_2s_ancestral is not here: diffusers has no class for it; take dpm2-a, or dpm++2s',
  ],
])('the schedule name %s is refused', (name, config, message) => {
  expect(() => chooseSchedule(name, config)).toThrow(message);
});

test('the shipped image model opens with every schedule', () => {
  const file = new URL('../../../../models/svc-scenes-mini/scheduler/scheduler_config.json', import.meta.url);
  const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  for (const name of scheduleNames('diffusion'))
    expect(chooseSchedule(name, config).plan({ steps: 4 }).steps.length, name).toBeGreaterThan(0);
});
