// Single runs on the device: a cancelled caller waits only for the submitted segments.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { compute, freeTensors } from '../../../../src/engine/image/recording/compute.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type { Tape } from '../../../../src/gpu/tape.ts';
import type { Tensor } from '../../../../src/gpu/tensor.ts';
import { linearCombination } from '../../../../src/kernels/linear-combination.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';

const SEGMENTS = 8;

let device: Device;
let given: { x: Tensor; two: Tensor; flag: Tensor };
beforeAll(async () => {
  device = await openModelTestDevice();
  given = {
    x: device.tensor('step', 'x', [4], Float32Array.of(1, 2, 3, 4)),
    two: device.tensor('step', 'two', [1], Float32Array.of(2)),
    flag: device.tensor('step', 'finite check', [1], new Uint32Array(1)),
  };
});
afterAll(() => device.destroy());

/** Doubles the value in every segment. */
function doubled(tape: Tape): Tensor[] {
  let y = given.x.on(tape);
  for (let i = 0; i < SEGMENTS; i++) {
    y = linearCombination([y], given.two.region!, given.flag.region!);
    tape.cut();
  }
  return [y];
}

/** Returns a signal that is aborted after it has been read `times` times. */
function abortedAfter(times: number): AbortSignal {
  const { signal } = new AbortController();
  let asked = 0;
  return Object.defineProperty(signal, 'aborted', { get: () => ++asked > times });
}

it('compute() ends if its signal aborts, and the next call has the same result', async () => {
  const encoder = vi.spyOn(device.gpu, 'createCommandEncoder');
  const run = (signal: AbortSignal): Promise<Tensor[]> => compute(device, { plain: false, signal }, doubled);
  freeTensors(device, await run(abortedAfter(100))); // finds its place in the arena
  encoder.mockClear();
  const made = await run(abortedAfter(100));
  expect(encoder).toHaveBeenCalledTimes(SEGMENTS);
  const values = new Float32Array(await device.read(made[0]!.region!));
  expect(Array.from(values.subarray(0, 4))).toEqual([1, 2, 3, 4].map((x) => x * 2 ** SEGMENTS));
  freeTensors(device, made);

  const used = device.memoryUsed;
  encoder.mockClear();
  await expect(run(abortedAfter(2))).rejects.toMatchObject({ code: 'cancelled' });
  expect(encoder).toHaveBeenCalledTimes(3);
  expect(device.memoryUsed).toBe(used);
  expect(device.takeError()).toBeNull();
});
