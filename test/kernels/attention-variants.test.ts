// The variants of attention that tuning may choose on GPUs compute the same bits.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { attention } from '../../src/kernels/attention.ts';
import { disguise, openModelTestDevice } from '../gpu/test-device.ts';
import { LONG_SEQUENCES, problem, run } from './attention-problem.ts';
import { batchOf, differingRows } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

/** Kernels with lanes of a page need eight of them. */
const hasLanes = (): boolean => device.capabilities.lanes >= 8;

it('a workgroup of fewer queries', async ({ skip }) => {
  if (!hasLanes()) skip('subgroups are too small');
  const on = disguise(device, { profile: 'discrete' });
  const asked = vi.spyOn(on.tuning, 'choose');
  const of = problem(on, { heads: 2, kvHeads: 1, dims: 8 }, 'f32', null, LONG_SEQUENCES);
  const capacity = { rows: 48, tiles: 34, tileRows: 16, contextPages: 24 };
  const rows = [0, 5, 14, 34];
  const both = async (): Promise<Float32Array[]> => [
    ...(await run(on, of, capacity, rows)),
    ...(await run(on, of, capacity, rows, true)),
  ];
  const usual = await both();
  const offered = new Map(asked.mock.calls.map(([key, variants]) => [key, variants]));
  expect([...offered.values()]).toEqual([
    [{ each: 2 }, { each: 1 }],
    [{ queries: 2 }, { queries: 1 }],
  ]);
  on.tuning.learn(Object.fromEntries([...offered].map(([key, [, fewer]]) => [key, fewer!])));
  expect(differingRows(await both(), usual)).toEqual([]);
});

it('four queries may become two or one; eight have sums of their own', ({ skip }) => {
  if (!hasLanes()) skip('subgroups are too small');
  const on = disguise(device, { profile: 'discrete', sharedTiles: 2 });
  const asked = vi.spyOn(on.tuning, 'choose');
  for (const heads of [8, 4]) {
    const shape = { heads, kvHeads: 1, dims: 16 };
    const tape = new Tape(on, { rows: 1, tiles: 1, tileRows: 1, contextPages: 4 }, { decodes: ['rows'] });
    const { kv } = problem(on, shape, 'f16', null, LONG_SEQUENCES);
    attention(tape.tensor(['rows', 16 * heads]), batchOf(on, {}), shape, kv, { window: null });
  }
  expect(asked.mock.calls.map(([, variants]) => variants)).toEqual([
    [{ queries: 8 }],
    [{ queries: 4 }, { queries: 2 }, { queries: 1 }],
  ]);
});
