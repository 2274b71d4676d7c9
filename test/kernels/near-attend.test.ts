import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { nearAttend } from '../../src/kernels/near-attend.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  { items: 1, rows: 1, heads: 1, dims: 3, before: 2, after: 0 },
  { items: 2, rows: 19, heads: 3, dims: 20, before: 4, after: 0 },
  { items: 1, rows: 41, heads: 2, dims: 67, before: 35, after: 3 },
])('rows see those near them: %o', async ({ items, rows, heads, dims, before, after }) => {
  const random = new Random(dims);
  const width = heads * dims;
  const near = before + 1 + after;
  const [q, k, v] = [0, 1, 2].map(() => random.floats(items * rows * width));
  const [places, spread] = [random.floats(near * width), random.floats(dims)];
  const [cap, gains] = [1.5, { q: 0.7, k: 1.9 }];
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      nearAttend(
        [input([items, rows, width], q!), input([items, rows, width], k!), input([items, rows, width], v!)],
        input([near, width], places),
        input([dims], spread),
        { heads, dims, before, after, cap, gains },
      ),
  });
  expect(y.length).toBe(items * rows);
  y.forEach((found, row) => {
    const item0 = Math.floor(row / rows) * rows;
    for (let head = 0; head < heads; head++) {
      const seen = Array.from({ length: near }, (_, i) => ({ i, key: row - before + i })).filter(
        ({ key }) => key >= item0 && key < item0 + rows,
      );
      const column = head * dims;
      const weights = seen.map(({ i, key }) => {
        let sum = 0;
        for (let d = 0; d < dims; d++) {
          const query = q![row * width + column + d]! * gains.q * Math.log(1 + Math.exp(spread[d]!));
          sum += query * (gains.k * k![key * width + column + d]! + places[i * width + column + d]!);
        }
        return Math.exp(cap * Math.tanh(sum / cap));
      });
      const total = weights.reduce((a, b) => a + b);
      for (let d = 0; d < dims; d++) {
        const right = seen.reduce(
          (sum, { key }, i) => sum + (weights[i]! / total) * v![key * width + column + d]!,
          0,
        );
        expectCloseTo(found[column + d], right, 5);
      }
    }
  });
});
