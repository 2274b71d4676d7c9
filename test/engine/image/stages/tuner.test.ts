// Tuning of an image model: reported in a note, stored for the next device, and skipped if the adapter cannot measure.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTuner } from '../../../../src/engine/image/stages/tuner.ts';
import { IMAGE } from '../../../../src/host/kinds/image.ts';
import { openInline } from '../../../../src/host/open.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import type { Platform } from '../../../../src/engine/platform/platform.ts';
import { SearchTime } from '../../../../src/engine/tuning/search-time.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type { Tape } from '../../../../src/gpu/tape.ts';
import type { TunedVariants } from '../../../../src/gpu/tuning.ts';
import { linear } from '../../../../src/kernels/matmul.ts';
import { FORMATS } from '../../../../src/kernels/formats.ts';
import { allocateMatrix, stacked } from '../../../../src/kernels/matrix.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import { REQUEST } from '../open-model.ts';
import { tinyPipeline } from '../pipeline-golden.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

const SILENT = { note: () => {}, onKernels: () => {}, onTrials: () => {} };

it('tuning an image model reports the fastest variants, and keeps them for the adapter', async ({ skip }) => {
  if (!device.capabilities.timestamps) skip('the adapter has no timestamps');
  const matrix = allocateMatrix(device, FORMATS.f32, 64, stacked([{ name: 'w', rows: 64 }]));
  const record = (tape: Tape) => [linear(tape.tensor([32, 64]), matrix)];
  const kept: { adapter: string; tuned: TunedVariants }[] = [];
  const platform: Platform = {
    ...nodePlatform,
    keepTuned: async ({ description }, tuned) => void kept.push({ adapter: description, tuned }),
  };
  const notes: string[] = [];
  const tune = createTuner(device, platform, { ...SILENT, note: (note) => notes.push(note) });
  await tune!(record);
  expect(notes).toEqual([
    expect.stringMatching(
      /^tuned: of 1 products of a step [01] are faster in other tiles, [\d.]+ instead of/,
    ),
  ]);
  const variant = { rows: expect.any(Number) as number, columnLanes: expect.any(Number) as number };
  expect(kept).toEqual([
    {
      adapter: device.summary.description,
      tuned: { 'matmul f32, 32 rows, 64 columns, 1 x 64': variant },
    },
  ]);
  await tune!(record);
  expect(notes).toHaveLength(1);
});

it('tuning an image model reports that its time was over, and keeps no untimed variant', async ({ skip }) => {
  if (!device.capabilities.timestamps) skip('the adapter has no timestamps');
  const matrix = allocateMatrix(device, FORMATS.f32, 32, stacked([{ name: 'w', rows: 64 }]));
  const record = (tape: Tape) => [linear(tape.tensor([32, 32]), matrix)];
  const kept: TunedVariants[] = [];
  const platform = { keepTuned: async (_: unknown, tuned: TunedVariants) => void kept.push(tuned) };
  const notes: string[] = [];
  const trials: number[] = [];
  let now = 0;
  const listener = { ...SILENT, note: (note: string) => void notes.push(note) };
  await createTuner(device, platform, listener, new SearchTime(0, () => 0))!(record);
  expect(notes).toEqual(['nothing is tuned: the 0 s for it were over before a second variant was timed']);
  expect(kept).toEqual([]);
  const onTrials = (done: number) => {
    trials.push(done);
    now = done * 1000;
  };
  await createTuner(device, platform, { ...listener, onTrials }, new SearchTime(2000, () => now))!(record);
  expect(notes[1]).toMatch(
    /^tuned: of 1 products of a step [01] .* for all of them; the search ended after 2 s, with 3 of \d+ trials$/,
  );
  expect(kept).toHaveLength(1);
  expect(new Set(trials)).toEqual(new Set([0, 1, 2, 3]));
});

it('tuning an image model reports that generic kernels are not tuned', { timeout: 300_000 }, async () => {
  const notes: string[] = [];
  const options = { model: tinyPipeline('sd1'), backend: 'generic' } as const;
  await using model = await openInline(IMAGE, nodePlatform, options, (event) => {
    if (event.type === 'note') notes.push(event.message);
  });
  await model.warmUp(REQUEST, 0, { tune: true });
  expect(notes).toEqual([
    'nothing is tuned: the generic backend has one kernel of each kind, and they are compiled',
  ]);
});

it('tuning an image model reports missing timestamps, and compiles', { timeout: 300_000 }, async () => {
  const platform: Platform = {
    ...nodePlatform,
    async openDevice(options) {
      const opened = await nodePlatform.openDevice(options);
      opened.capabilities.timestamps = false;
      return opened;
    },
  };
  const notes: string[] = [];
  await using model = await openInline(IMAGE, platform, { model: tinyPipeline('sd1') }, (event) => {
    if (event.type === 'note') notes.push(event.message);
  });
  await model.warmUp(REQUEST, 0, { tune: true });
  expect(notes).toEqual([
    'nothing is tuned: the adapter has no timestamps to tell fast kernels from slow ones',
  ]);
});
