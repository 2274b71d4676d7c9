// The search for the fastest variants, on matmuls of two shapes.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { SearchTime } from '../../../src/engine/tuning/search-time.ts';
import { tune } from '../../../src/engine/tuning/tune.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { dispatchTimes } from '../../../src/gpu/kernel-times.ts';
import { Tape } from '../../../src/gpu/tape.ts';
import type { Tensor } from '../../../src/gpu/tensor.ts';
import { linear } from '../../../src/kernels/matmul.ts';
import { FORMATS } from '../../../src/kernels/formats.ts';
import { allocateMatrix, stacked, type Matrix } from '../../../src/kernels/matrix.ts';
import { openTestDevice } from '../../gpu/test-device.ts';
import { compute, differingRows } from '../../kernels/compute.ts';
import { packMatrix } from '../../kernels/packed.ts';

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

it('tune() times every variant of every product once, and does not ask twice', async ({ skip }) => {
  if (!device.capabilities.timestamps) skip('the adapter has no timestamps');
  let compiled = 0;
  const told: [number, number][] = [];
  const found = await tune(device, record, {
    onKernels: () => void compiled++,
    onTrials: (...trials) => void told.push(trials),
  });
  expect(Object.keys(found!.variants).toSorted()).toEqual((await productsOf()).toSorted());
  expect(Object.keys(found!.variants)).toHaveLength(2);
  expect(found!.after).toBeLessThanOrEqual(found!.before);
  expect(found!.before).toBeGreaterThan(0);
  expect(found!.changed).toBeLessThanOrEqual(2);
  expect(compiled).toBeGreaterThan(0);
  const { done, total } = found!.trials;
  expect([done, total % 4]).toEqual([total, 0]);
  expect(told[0]).toEqual([0, total]);
  expect(told.at(-1)).toEqual([total, total]);
  expect(told.every(([after], i) => i === 0 || after >= told[i - 1]![0])).toBe(true);
  expect(await tune(device, record)).toBeNull();
  expect(device.takeError()).toBeNull();
});

it('tune() ends if its listener throws, and leaves the choice as it was', async ({ skip }) => {
  if (!device.capabilities.timestamps) skip('the adapter has no timestamps');
  const other = await openTestDevice();
  const matrix = allocateMatrix(other, FORMATS.f32, 64, stacked([{ name: 'w', rows: 96 }]));
  const one = (tape: Tape): Tensor[] => [linear(tape.tensor([32, 64]), matrix)];
  const enough = () => {
    throw new Error('cancelled');
  };
  await expect(tune(other, one, { onKernels: enough })).rejects.toThrow('cancelled');
  await expect(tune(other, one, { onTrials: enough })).rejects.toThrow('cancelled');
  expect((await tune(other, one))!.changed).toBeLessThanOrEqual(1);
  other.destroy();
});

it('tune() times one variant of each product once, if there is one', async ({ skip }) => {
  if (!device.capabilities.timestamps) skip('the adapter has no timestamps');
  const other = await openTestDevice();
  const matrix = allocateMatrix(other, FORMATS.f32, 64, stacked([{ name: 'w', rows: 96 }]));
  const choose = other.tuning.choose.bind(other.tuning);
  vi.spyOn(other.tuning, 'choose').mockImplementation((key, [first]) => choose(key, [first]));
  const found = await tune(other, (tape) => [linear(tape.tensor([32, 64]), matrix)]);
  expect(found).toMatchObject({ changed: 0, trials: { done: 1, total: 1 } });
  expect(Object.keys(found!.variants)).toHaveLength(1);
  other.destroy();
});

describe('a search whose time is over', () => {
  const [ROWS, K, COLUMNS] = [32, 64, 96];
  const x = Float32Array.from({ length: ROWS * K }, (_, i) => Math.sin(i));
  const weights = Float32Array.from({ length: COLUMNS * K }, (_, i) => Math.cos(3 * i));
  let other: Device;
  let matrix: Matrix;
  beforeEach(async ({ skip }) => {
    if (!device.capabilities.timestamps) skip('the adapter has no timestamps');
    other = await openTestDevice();
    matrix = packMatrix(other, 'f32', K, stacked([{ name: 'w', rows: COLUMNS }]), weights);
  });
  afterEach(() => other?.destroy());

  const one = (tape: Tape): Tensor[] => [linear(tape.tensor([ROWS, K]), matrix)];
  const product = () =>
    compute({
      device: other,
      capacity: {},
      sizes: {},
      record: (_, input) => linear(input([ROWS, K], x), matrix),
    });

  it('keeps the fastest of those that were compiled, each timed in all rounds, and the bits of the product', async () => {
    const before = await product();
    const told: string[] = [];
    let now = 0;
    // A trial takes 10 ms, from the fifth on nothing; of 36 ms, the first round may take 27.
    const onTrials = (done: number, total: number) => {
      now = Math.min(10 * done, 40);
      told.push(`${done} of ${total}`);
    };
    const time = new SearchTime(36, () => now);
    const found = await tune(other, one, { onTrials, time });
    const { done, total } = found!.trials;
    expect([done, total > 16]).toEqual([16, true]);
    expect(told.at(-1)).toBe('16 of 16');
    expect(Object.keys(found!.variants)).toHaveLength(1);
    expect(differingRows(await product(), before)).toEqual([]);
    expect(await tune(other, one)).toBeNull();
    expect(other.takeError()).toBeNull();
  });

  it('ends after any trial of a later round', async () => {
    let [now, last] = [0, 0];
    const onTrials = (done: number, total: number) => {
      last = total / 4 + 1;
      if (done >= last) now = 1;
    };
    const found = await tune(other, one, { onTrials, time: new SearchTime(1, () => now) });
    expect(found!.trials).toEqual({ done: last, total: 4 * (last - 1) });
    expect(Object.keys(found!.variants)).toHaveLength(1);
  });

  it('stops in the middle of a trial whose kernels take too long', async () => {
    let calls = 0;
    const found = await tune(other, one, { time: new SearchTime(3, () => ++calls) });
    expect(found!.trials.done).toBe(1);
    expect(other.takeError()).toBeNull();
  });

  it('keeps nothing if only the default was timed, so that a later search begins anew', async () => {
    const found = await tune(other, one, { time: new SearchTime(0, () => 0) });
    expect(found).toMatchObject({ variants: {}, changed: 0, trials: { done: 1 } });
    expect((await tune(other, one))!.trials.done).toBe(found!.trials.total);
  });
});
