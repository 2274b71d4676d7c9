// Heads by their gates against f64: gates far below and above zero, columns behind the gates, more quads than a workgroup.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { gateHeads } from '../../src/kernels/gate-heads.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const ROWS = 3;

it.each([
  { heads: 1, dims: 4, more: 0 },
  { heads: 3, dims: 20, more: 7 },
  { heads: 2, dims: 68, more: 136 },
])('$heads heads of $dims', async ({ heads, dims, more }) => {
  const random = new Random(dims);
  const columns = 2 * heads * dims + more;
  const x = random.floats(ROWS * heads * dims);
  const gates = random.floats(ROWS * columns).map((gate) => 8 * gate);
  gates[dims] = -200;
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => gateHeads(input([ROWS, heads * dims], x), input([ROWS, columns], gates), dims),
  });
  expect(y).toHaveLength(ROWS);
  for (const [row, values] of y.entries()) {
    for (const [column, value] of [...values].entries()) {
      const [head, d] = [Math.floor(column / dims), column % dims];
      const wanted =
        x[row * heads * dims + column]! / (1 + Math.exp(-gates[row * columns + (2 * head + 1) * dims + d]!));
      expectBelow(Math.abs(value - wanted), 1e-6);
    }
  }
});

it('gates of fewer columns are a mistake of the caller', async () => {
  const record = { device, capacity: {}, sizes: {} };
  const made = compute({
    ...record,
    record: (_, input) =>
      gateHeads(input([1, 8], new Float32Array(8)), input([1, 12], new Float32Array(12)), 4),
  });
  await expect(made).rejects.toThrow('gateHeads: heads of 4 in 8 columns, gates in 12');
});
