// Compiling tapes before their first run: nothing is computed, as their operands may hold anything by then.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { compileTapes } from '../../../src/engine/tuning/compile.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { Tape } from '../../../src/gpu/tape.ts';
import { Tensor } from '../../../src/gpu/tensor.ts';
import { scale } from '../../../src/kernels/scale.ts';
import { openTestDevice } from '../../gpu/test-device.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it('compiling a list of tapes compiles each kernel once, and runs none', async () => {
  const x = device.tensor('step', 'x', [1, 4], new Float32Array(4).fill(3));
  const tapes = [2, 5].map((factor) => {
    const tape = new Tape(device, {});
    scale(new Tensor(x.shape, 'f32', { tape, region: x.region! }), factor);
    tape.finish();
    return tape;
  });
  const progress: number[][] = [];
  const compile = () => compileTapes(device, tapes, (done, total) => void progress.push([done, total]));
  const values = async () => [...new Float32Array(await device.read(x.region!), 0, 4)];

  await compile();
  expect(await values()).toEqual(Array(4).fill(3));
  expect(progress).toEqual([
    [0, 1],
    [1, 1],
  ]);

  await compile();
  expect(progress).toHaveLength(2);
  for (const tape of tapes) tape.run({});
  expect(await values()).toEqual(Array(4).fill(30));
  for (const tape of tapes) tape.destroy();
});
