// Formats of GGUF's blocks: values against gguf-py's, and matmuls of their own codes against sums of these values.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { PackedName } from '../../src/kernels/formats.ts';
import { linear, linearSwiglu } from '../../src/kernels/matmul.ts';
import { interleaved, stacked } from '../../src/kernels/matrix.ts';
import { STORED_BLOCKS } from '../../src/kernels/stored-blocks.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, differingRows, Random } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';
import { columnsOf, golden, packStored, randomBlocks, STORED } from './stored.ts';
import { worstOfColumns } from './worst-error.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** The distance of two numbers in representable f32 steps. */
function ulps(a: number, b: number): number {
  const order = new Int32Array(new Float32Array([a, b]).buffer).map((bits) =>
    bits < 0 ? -2147483648 - bits : bits,
  );
  return Math.abs(order[0]! - order[1]!);
}

describe.each(STORED)('%s', (name) => {
  it('values are those of gguf-py within one ulp, in its own codes and as f32', async () => {
    const of = await golden(name);
    for (const form of [{}, { format: 'f32' }] as const) {
      const columns = await columnsOf(device, packStored(device, name, of, form));
      expect(columns.length).toBe(of.rows);
      let worst = 0;
      columns.forEach((column, row) =>
        column.forEach((value, i) => (worst = Math.max(worst, ulps(value, of.values[row * of.k + i]!)))),
      );
      expect(worst).toBeLessThanOrEqual(1);
    }
  });

  it('matmuls of many rows and of few agree with sums', async () => {
    const k = 2 * STORED_BLOCKS[name].values + (STORED_BLOCKS[name].values === 32 ? 32 : 0);
    const random = new Random(k + name.length);
    const of = randomBlocks(name, 67, k, random);
    const x = random.floats(40 * k);
    const weights = await columnsOf(device, packStored(device, name, of));
    let all: Float32Array[] | null = null;
    for (const [on, rows] of [[device, 40], [device, 3], ...othersFor(name)] as const) {
      const matrix = packStored(on, name, of);
      const y = await compute({
        device: on,
        capacity: { rows },
        sizes: { rows },
        record: (_, input) => linear(input(['rows', k], x.subarray(0, rows * k)), matrix),
      });
      expect(worstOfColumns(y, x, weights, 0.01)).toBeLessThan(2e-6);
      // A row sums alike beside many others and beside few.
      if (on === device && all) expect(differingRows(y, all.slice(0, rows))).toEqual([]);
      if (on === device) all ??= y;
    }
  });
});

/** One format for each way of packing codes also runs in the other variants: one row, K split among lanes, and without subgroups. */
function othersFor(name: PackedName): [Device, number][] {
  if (name === 'q4_k') return [[disguise(device, { profile: 'discrete' }), 3]];
  if (name === 'iq1_s') return [[disguise(device, { profile: 'discrete' }), 40]];
  if (name === 'q8_0') return [[device, 1]];
  return ['q6_k', 'q3_k', 'mxfp4'].includes(name) ? [[disguise(device, { portable: true }), 17]] : [];
}

it.each(['q4_0', 'q6_k'] as const satisfies PackedName[])(
  '%s: gate and up interleaved, columns that begin within a word of scales, and windows',
  async (name) => {
    const random = new Random(5);
    const of = randomBlocks(name, 2 * 33, 256, random);
    const x = random.floats(2 * 256);
    const narrow = disguise(device, { bindingLimit: 16 << 10 });
    const parts = interleaved('gate', 'up', 33);
    const run = (on: Device, format: PackedName | 'f32') =>
      compute({
        device: on,
        capacity: { rows: 2 },
        sizes: { rows: 2 },
        record: (_, input) =>
          linearSwiglu(input(['rows', 256], x), packStored(on, name, of, { format, parts })),
      });
    const [own, inWindows, wide] = [
      await run(device, name),
      await run(narrow, name),
      await run(device, 'f32'),
    ];
    expect(differingRows(own, inWindows)).toEqual([]);
    own.forEach((row, i) => row.forEach((value, at) => expectCloseTo(value, wide[i]![at]!, 3)));
    const odd = stacked([1, 2, 30].map((rows, i) => ({ name: `p${i}`, rows })));
    const rowsOf = { ...of, rows: 33, blocks: of.blocks.subarray(0, of.blocks.length / 2) };
    const columns = await columnsOf(device, packStored(device, name, rowsOf, { parts: odd }));
    const whole = await columnsOf(device, packStored(device, name, rowsOf));
    expect(differingRows(columns, whole)).toEqual([]);
  },
);
