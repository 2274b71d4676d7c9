import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { scaleShift, softClamp } from '../../src/kernels/scale-shift.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const TOLERANCE = 1e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

for (const bindingLimit of [undefined, 16 << 10]) {
  it.each([1, 31, 64, 131])(`%i columns in bindings of ${bindingLimit ?? 'any size'}`, async (columns) => {
    const rows = 67;
    const values = new Random(columns).floats(rows * columns).map((value) => 9 * value);
    const job = {
      device: bindingLimit === undefined ? device : disguise(device, { bindingLimit }),
      capacity: {},
      sizes: {},
    };
    const expectNear = (found: Float32Array[], wanted: (value: number) => number): void =>
      found.forEach((row, i) =>
        row.forEach((value, k) =>
          expectBelow(Math.abs(value - wanted(values[i * columns + k]!)), 10 * TOLERANCE),
        ),
      );
    const moved = await compute({
      ...job,
      record: (_, input) => scaleShift(input([rows, columns], values), 0.5, -2),
    });
    expect(moved.length).toBe(rows);
    expectNear(moved, (value) => 0.5 * value - 2);
    const clamped = await compute({
      ...job,
      record: (_, input) => softClamp(input([rows, columns], values), 3),
    });
    expectNear(clamped, (value) => 3 * Math.tanh(value / 3));
  });
}
