import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { linearAttend } from '../../src/kernels/linear-attend.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { differingRows, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { computeImages } from './images.ts';

const EPS = 1e-15;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** `apart`: queries, keys and values of each head side by side, as in DC-AE; otherwise those of all heads. */
const SHAPES = [
  { items: 1, tokens: 1, heads: 1, dims: 4, apart: false },
  { items: 2, tokens: 37, heads: 3, dims: 12, apart: false },
  { items: 1, tokens: 29, heads: 5, dims: 32, apart: true },
  { items: 2, tokens: 601, heads: 2, dims: 20, apart: true },
];

describe.each(SHAPES)('$items × $tokens tokens, $heads heads of $dims', (of) => {
  const { items, tokens, heads, dims, apart } = of;
  const columns = 3 * heads * dims;
  const random = new Random(tokens);
  const x = random.floats(items * tokens * columns);
  const headStride = apart ? 3 * dims : dims;
  const partStride = apart ? dims : heads * dims;
  const run = (on: Device) =>
    computeImages(on, (input) => {
      const qkv = input([items, tokens, columns], x);
      const [q, k, v] = [0, 1, 2].map((part) => ({ x: qkv, first: part * partStride }));
      return linearAttend(q!, k!, v!, { heads, dims, headStride, eps: EPS });
    });
  const value = (part: number, item: number, token: number, head: number, i: number) =>
    x[(item * tokens + token) * columns + part * partStride + head * headStride + i]!;

  it('weighs values by products of queries and keys above zero', async () => {
    const found = await run(device);
    expect(found.length).toBe(items * tokens);
    for (const row of [0, tokens >> 1, items * tokens - 1]) {
      const [item, token] = [Math.floor(row / tokens), row % tokens];
      for (let head = 0; head < heads; head++) {
        const sums = new Float64Array(dims);
        let total = EPS;
        for (let other = 0; other < tokens; other++) {
          let score = 0;
          for (let i = 0; i < dims; i++) {
            const query = Math.max(0, value(0, item, token, head, i));
            score += query * Math.max(0, value(1, item, other, head, i));
          }
          total += score;
          for (let i = 0; i < dims; i++) sums[i]! += score * value(2, item, other, head, i);
        }
        for (let i = 0; i < dims; i++)
          expectBelow(Math.abs(found[row]![head * dims + i]! - sums[i]! / total), 1e-5);
      }
    }
  });

  it('gives equal bits in windows of tokens and in few workgroups', async () => {
    const whole = await run(device);
    for (const as of [{ bindingLimit: 64 << 10 }, { maxWorkgroups: 24 }])
      expect(differingRows(await run(disguise(device, as)), whole)).toEqual([]);
  });
});

it('a query without a product above zero gives zeros', async () => {
  const [found] = await computeImages(device, (input) => {
    const qkv = input([1, 1, 12], Float32Array.of(-1, -2, -3, -4, 1, 2, 3, 4, 5, 6, 7, 8));
    const [q, k, v] = [0, 4, 8].map((first) => ({ x: qkv, first }));
    return linearAttend(q!, k!, v!, { heads: 1, dims: 4, eps: EPS });
  });
  expect([...found!]).toEqual([0, 0, 0, 0]);
});

it('heads beyond the columns are refused with the numbers', async () => {
  const record = computeImages(device, (input) => {
    const x = input([1, 2, 8], new Float32Array(16));
    return linearAttend({ x, first: 0 }, { x, first: 4 }, { x, first: 4 }, { heads: 2, dims: 4, eps: EPS });
  });
  await expect(record).rejects.toThrow('2 heads of 4, 4 apart');
});
