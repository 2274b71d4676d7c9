import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { linearCombination } from '../../src/kernels/linear-combination.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, upload } from './compute.ts';

/** Tolerance relative to the sum of the terms' magnitudes. */
const TOLERANCE = 5e-7;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

async function run(on: Device, terms: Float32Array[], shape: number[], coefficients: number[]) {
  const flag = upload(on, new Uint32Array(1));
  const numbers = upload(on, Float32Array.from(coefficients));
  const held = terms.map((values) => on.tensor('step', 'term', shape, values));
  const y = await compute({
    device: on,
    capacity: {},
    sizes: {},
    record: (tape) =>
      linearCombination(
        held.map((term) => term.on(tape)),
        numbers,
        flag,
      ),
  });
  const [notFinite] = new Uint32Array(await on.read(flag));
  return { y: y.flatMap((row) => [...row]), notFinite };
}

async function expectSum(on: Device, count: number, shape: number[]) {
  const random = new Random(count);
  const size = shape.reduce((product, extent) => product * extent, 1);
  const terms = Array.from({ length: count }, () => random.floats(size));
  const coefficients = Array.from(random.floats(count));
  const { y, notFinite } = await run(on, terms, shape, coefficients);
  expect(y.length).toBe(size);
  y.forEach((value, i) => {
    const products = terms.map((values, t) => values[i]! * coefficients[t]!);
    const error = Math.abs(value - products.reduce((sum, product) => sum + product, 0));
    expect(error).toBeLessThan(TOLERANCE * products.reduce((sum, product) => sum + Math.abs(product), 0));
  });
  expect(notFinite).toBe(0);
}

it.each([1, 2, 3, 4, 5, 6, 11])('%i terms', async (count) => {
  await expectSum(device, count, [1, 7, 5, 4]);
});

it('sums in strips of 256 KiB', async () => {
  await expectSum(disguise(device, { bindingLimit: 256 << 10 }), 6, [1, 67, 41, 4]);
});

describe('a result that is not finite', () => {
  it.each([
    ['infinity', [1, Infinity, 2], [1]],
    ['NaN', [1, NaN, 2], [1]],
    ['too large a product', [1, 3e38, 2], [-10]],
  ] as const)('%s', async (_, values, coefficients) => {
    const { notFinite } = await run(device, [Float32Array.from(values)], [1, 3], [...coefficients]);
    expect(notFinite).toBe(1);
  });

  it('the largest numbers are finite', async () => {
    const largest = Float32Array.of(3.4028234e38, -3.4028234e38, 1e-45);
    const { y, notFinite } = await run(device, [largest], [1, 3], [1]);
    expect(y.slice(0, 2)).toEqual([...largest.subarray(0, 2)]);
    expect(notFinite).toBe(0);
  });
});

it('terms of different shapes are refused with the shapes', async () => {
  const region = upload(device, new Uint32Array(4));
  const record = compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      linearCombination(
        [input([1, 3], new Float32Array(3)), input([1, 4], new Float32Array(4))],
        region,
        region,
      ),
  });
  await expect(record).rejects.toThrow(/\[1,3\], \[1,4\]/);
});
