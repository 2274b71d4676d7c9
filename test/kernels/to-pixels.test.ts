// Conversion between colours and bytes, in both directions.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { fromPixels } from '../../src/kernels/from-pixels.ts';
import { toPixels } from '../../src/kernels/to-pixels.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

async function bytesOf(on: Device, values: Float32Array, shape: [number, number, number]): Promise<number[]> {
  const flag = on.tensor('step', 'finite check', [1], new Uint32Array(1));
  const y = await compute({
    device: on,
    capacity: {},
    sizes: {},
    record: (_, input) => toPixels(input([...shape, 3], values), flag.region!),
  });
  const [raised] = new Uint32Array(await on.read(flag.region!));
  expect(raised).toBe(Number(!values.every(Number.isFinite)));
  return y.flatMap((row) => [...new Uint8Array(row.buffer)]);
}

it.each([NaN, Infinity, -Infinity])('the flag is raised for a colour of %s', async (value) => {
  const values = new Random(7).floats(5 * 33 * 3);
  values[4 * 33 * 3 + 2] = value;
  await bytesOf(device, values, [1, 5, 33]);
});

describe.each([
  { name: 'whole', limit: undefined },
  { name: 'in strips', limit: 8 << 10 },
])('$name', ({ limit }) => {
  it.each([
    [1, 1, 1],
    [2, 5, 33],
    [1, 61, 64],
  ] as const)('%i × %i × %i', async (items, height, width) => {
    const on = limit === undefined ? device : disguise(device, { bindingLimit: limit });
    const random = new Random(width);
    const values = random.floats(items * height * width * 3).map((value) => 1.2 * value);
    const bytes = await bytesOf(on, values, [items, height, width]);
    expect(bytes.length).toBe((values.length / 3) * 4);
    bytes.forEach((byte, i) => {
      if (i % 4 === 3) return expect(byte).toBe(255);
      const exact = Math.min(Math.max(values[Math.floor(i / 4) * 3 + (i % 4)]! * 0.5 + 0.5, 0), 1) * 255;
      return expectBelow(Math.abs(byte - exact), 0.5001);
    });

    const words = new Uint32Array(Uint8Array.from(bytes).buffer);
    const pixels = on.tensor('step', 'pixels', [items, height, width], words);
    const back = await compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (tape) => fromPixels(pixels.on(tape)),
    });
    const colours = back.flatMap((pixel) => [...pixel]);
    expect(colours.length).toBe(values.length);
    colours.forEach((value, i) => {
      const byte = bytes[Math.floor(i / 3) * 4 + (i % 3)]!;
      expectBelow(Math.abs(value - (byte / 127.5 - 1)), 2e-7);
    });
  });
});

it('every byte survives there and back', async () => {
  const colours = Float32Array.from({ length: 768 }, (_, i) => (i % 256) / 127.5 - 1);
  const bytes = await bytesOf(device, colours, [1, 16, 16]);
  bytes.forEach((byte, i) => {
    if (i % 4 < 3) expect(byte).toBe((Math.floor(i / 4) * 3 + (i % 4)) % 256);
  });
});
