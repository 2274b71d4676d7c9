import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { rmsnorm, rmsnormRows } from '../../src/kernels/rmsnorm.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, differingRows, Random, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const EPS = 1e-5;
const TOLERANCE = 2e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

function reference(x: Float32Array, weight: Float32Array): number[] {
  const mean = x.reduce((sum, value) => sum + value * value, 0) / x.length;
  return Array.from(x, (value, i) => (value / Math.sqrt(mean + EPS)) * weight[i]!);
}

function expectNear(y: Float32Array, wanted: number[]): void {
  wanted.forEach((value, i) => expectBelow(Math.abs(y[i]! - value), TOLERANCE * Math.abs(value)));
}

/** Widths with the kernels of software adapters, and with those of GPUs: 32, 64 and 128 lanes that hold a row, and 256 that read it again. */
const WIDTHS = [
  ...[1, 31, 32, 33, 127, 128, 131, 1027].map((columns) => ['cpu', columns] as const),
  ...[128, 131, 1027, 4099].map((columns) => ['discrete', columns] as const),
];

for (const [profile, columns] of WIDTHS) {
  it(`${columns} columns, profile ${profile}`, async () => {
    const on = disguise(device, { profile });
    const random = new Random(columns);
    const values = random.floats(5 * columns);
    const weight = random.floats(columns);
    const gain = on.tensor('weights', 'gain', [columns], weight);
    const y = await compute({
      device: on,
      capacity: { rows: 16 },
      sizes: { rows: 5 },
      record: (_, input) => rmsnorm(input(['rows', columns], values), gain, EPS),
    });
    expect(y.length).toBe(5);
    y.forEach((row, i) =>
      expectNear(row, reference(values.subarray(i * columns, (i + 1) * columns), weight)),
    );

    const ones = new Float32Array(columns).fill(1);
    const plain = await compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) => rmsnorm(input([1, columns], values.slice(0, columns)), null, EPS),
    });
    expectNear(plain[0]!, reference(values.subarray(0, columns), ones));

    // Each chosen row equals the same row computed among all.
    const chosen = [4, 0, 4];
    const index = upload(on, Uint32Array.from(chosen));
    const picked = await compute({
      device: on,
      capacity: { rows: 16, sampled: 4 },
      sizes: { rows: 5, sampled: 3 },
      record: (_, input) => rmsnormRows(input(['rows', columns], values), gain, EPS, index, 'sampled'),
    });
    expect(
      differingRows(
        picked,
        chosen.map((row) => y[row]!),
      ),
    ).toEqual([]);
  });
}

it('values near the ends of f32 that squares still hold', async () => {
  const values = Float32Array.from([1e-12, -3e-13, 2e-12, 5e-13, 1e15, -2e15, 3e14, 1e14]);
  const gain = device.tensor('weights', 'gain', [4], Float32Array.from([1, 2, -1, 0.5]));
  const y = await compute({
    device,
    capacity: { rows: 2 },
    sizes: { rows: 2 },
    record: (_, input) => rmsnorm(input(['rows', 4], values), gain, EPS),
  });
  expectNear(y[0]!, reference(values.subarray(0, 4), Float32Array.from([1, 2, -1, 0.5])));
  expectNear(y[1]!, reference(values.subarray(4), Float32Array.from([1, 2, -1, 0.5])));
});

it('rows are chosen among several bindings of 256 KiB, for several others', async () => {
  const narrow = disguise(device, { bindingLimit: 256 << 10 });
  const [rows, columns] = [2111, 40];
  const random = new Random(9);
  const values = random.floats(rows * columns);
  const weight = random.floats(columns);
  const gain = narrow.tensor('weights', 'gain', [columns], weight);
  const chosen = Uint32Array.from({ length: rows }, (_, i) => (i * 1009) % rows);
  const index = upload(narrow, chosen);
  const y = await compute({
    device: narrow,
    capacity: { rows, sampled: rows },
    sizes: { rows, sampled: rows },
    record: (_, input) => rmsnormRows(input(['rows', columns], values), gain, EPS, index, 'sampled'),
  });
  expect(y.length).toBe(rows);
  y.forEach((row, i) =>
    expectNear(row, reference(values.subarray(chosen[i]! * columns, (chosen[i]! + 1) * columns), weight)),
  );
});
