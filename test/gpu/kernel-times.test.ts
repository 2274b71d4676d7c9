import { expect, it } from 'vitest';
import { profile } from '../../src/gpu/kernel-times.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { rmsnorm } from '../../src/kernels/rmsnorm.ts';
import { openTestDevice } from './test-device.ts';

it('kernel times count and time each kernel of a replay, those of no rows left out', async () => {
  const device = await openTestDevice();
  const tape = new Tape(device, { rows: 4, sampled: 4 });
  const weight = device.tensor('weights', 'weight', [32], new Float32Array(32).fill(1));
  let x = tape.tensor(['rows', 32]);
  for (let i = 0; i < 3; i++) x = rmsnorm(x, weight, 1e-5);
  rmsnorm(tape.tensor(['sampled', 32]), weight, 1e-5);
  tape.finish();
  if (device.capabilities.timestamps) {
    const kernels = await profile(device, tape, { rows: 4, sampled: 0 });
    expect(kernels).toEqual([{ name: 'rmsnorm.wgsl', dispatches: 3, ms: expect.any(Number) as number }]);
    expect(kernels[0]!.ms).toBeGreaterThan(0);
  } else {
    await expect(profile(device, tape, { rows: 4, sampled: 0 })).rejects.toThrow('has no timestamps');
  }
  expect(device.takeError()).toBeNull();
  device.destroy();
});
