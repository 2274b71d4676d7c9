// The search for the fastest variants, on matmuls of two shapes.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { tune } from '../../src/engine/tune.ts';
import type { Device } from '../../src/gpu/device.ts';
import { dispatchTimes } from '../../src/gpu/kernel-times.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { linear } from '../../src/kernels/matmul.ts';
import { FORMATS } from '../../src/kernels/formats.ts';
import { allocateMatrix, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { openTestDevice } from '../gpu/test-device.ts';

let device: Device;
let up: Matrix;
let down: Matrix;
beforeAll(async () => {
  device = await openTestDevice();
  up = allocateMatrix(device, FORMATS.f32, 64, stacked([{ name: 'up', rows: 128 }]));
  down = allocateMatrix(device, FORMATS.f32, 128, stacked([{ name: 'down', rows: 64 }]));
});
afterAll(() => device.destroy());

const record = (tape: Tape): Tensor[] => {
  const x = tape.tensor([32, 64]);
  return [linear(linear(x, up), down)];
};

/** Returns the keys of a tape's products. */
async function productsOf(): Promise<string[]> {
  const tape = new Tape(device, {});
  for (const result of record(tape)) tape.keep(result);
  tape.finish();
  const times = await dispatchTimes(device, tape, {});
  tape.destroy();
  return times.flatMap(({ step }) => step.tuned ?? []);
}

it('times every variant of every product once, and asks no second time', async ({ skip }) => {
  if (!device.capabilities.timestamps) skip('the adapter has no timestamps');
  let compiled = 0;
  const found = await tune(device, record, () => void compiled++);
  expect(Object.keys(found!.variants).toSorted()).toEqual((await productsOf()).toSorted());
  expect(Object.keys(found!.variants)).toHaveLength(2);
  expect(found!.after).toBeLessThanOrEqual(found!.before);
  expect(found!.before).toBeGreaterThan(0);
  expect(found!.changed).toBeLessThanOrEqual(2);
  // At least the first variant and two others of the one kernel.
  expect(compiled).toBeGreaterThanOrEqual(3);
  expect(await tune(device, record)).toBeNull();
  expect(device.takeError()).toBeNull();
});

it('ends where its listener does, and leaves the choice as it was', async ({ skip }) => {
  if (!device.capabilities.timestamps) skip('the adapter has no timestamps');
  const other = await openTestDevice();
  const matrix = allocateMatrix(other, FORMATS.f32, 64, stacked([{ name: 'w', rows: 96 }]));
  const one = (tape: Tape): Tensor[] => [linear(tape.tensor([32, 64]), matrix)];
  const enough = () => {
    throw new Error('cancelled');
  };
  await expect(tune(other, one, enough)).rejects.toThrow('cancelled');
  expect((await tune(other, one))!.changed).toBeLessThanOrEqual(1);
  other.destroy();
});
