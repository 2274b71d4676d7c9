// Kernels with the traits of a family of GPUs: pinned subgroups, tiles without loads ahead, fewer sums a lane. Products stand in gemm.test.ts.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { problem, reference, run, SEQUENCES } from './attention-problem.ts';
import { problem as convolution, run as convolve, worstError } from './conv-problem.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
let family: Device;
beforeAll(async () => {
  device = await openTestDevice();
  family = disguise(device, { profile: 'discrete', family: 'intel-xe-hpg', sharedTiles: 1 });
});
afterAll(() => device.destroy());

it('a convolution is right', async () => {
  expect(family.profile.loadsAhead).toBe(false);
  const shape = { batch: 2, height: 7, width: 5, channels: 40, out: 37, hasBias: false };
  const of = convolution(family, { format: 'f16', ...shape });
  expect(worstError(of, await convolve(family, of))).toBeLessThan(1);
});

it("attention of a prompt's rows is right", async () => {
  expect(family.profile.promptSums).toBe(8);
  const of = problem(family, { heads: 4, kvHeads: 1, dims: 128 }, 'f16', null, SEQUENCES);
  const y = await run(family, of, { rows: 48, tiles: 34, tileRows: 16, contextPages: 4 });
  y.forEach((got, row) =>
    reference(of, row).forEach((wanted, at) => expectBelow(Math.abs(got[at]! - wanted), 2e-6)),
  );
});
