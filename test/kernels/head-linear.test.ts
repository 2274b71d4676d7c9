// Products with a matrix for each head, and with the same from the other side, against sums in f64; and bit by bit against themselves with other
// numbers of rows and in windows that cut through heads.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { FormatName } from '../../src/kernels/formats.ts';
import { headLinear, headLinearAcross } from '../../src/kernels/head-linear.ts';
import { linear } from '../../src/kernels/matmul.ts';
import { sideBySide, type Matrix, type MatrixPart } from '../../src/kernels/matrix.ts';
import { partsOf } from '../../src/models/weight-requests.ts';
import { WeightTable } from '../../src/models/weights.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { compute, differingRows, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { packMatrix, weightsFor } from './packed.ts';

const TOLERANCE = 1e-5;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

interface Shape {
  heads: number;
  /** Columns of a head's matrix: those that are multiplied across, then the others. */
  plain: number;
  values: number;
  k: number;
}

function parts({ heads, plain, values, k }: Shape): MatrixPart[] {
  const table = new WeightTable({ has: () => false });
  table.heads('kv', heads, plain + values, k);
  return partsOf(table.requests[0]!);
}

describe.each<{ name: string; as: Disguise; formats: FormatName[] }>([
  { name: 'the adapter as it is', as: {}, formats: ['f32', 'bf16', 'int4'] },
  {
    name: 'a GPU, in windows that cut through heads',
    as: { profile: 'discrete', bindingLimit: 12 << 10 },
    formats: ['f32'],
  },
])('$name', ({ as, formats }) => {
  it.each(formats)('%s', async (format) => {
    const on = disguise(device, as);
    for (const shape of [
      { heads: 3, plain: 12, values: 8, k: 36 },
      { heads: 2, plain: 36, values: 64, k: 64 },
    ]) {
      const { heads, plain, values, k } = shape;
      const all = plain + values;
      const random = new Random(heads);
      const weights = weightsFor(format, heads * all, k, random);
      const matrix: Matrix = packMatrix(on, format, k, parts(shape), weights, { experts: heads });
      if (as.bindingLimit) expect(matrix.windows.length).toBeGreaterThan(heads);
      const rows = 6;
      const [x, q] = [random.floats(rows * heads * k), random.floats(rows * heads * (plain + 4))];
      const before = random.floats(rows * heads * (k + 8));
      const run = (from: number, to: number, capacity: number, isAcross: boolean): Promise<Float32Array[]> =>
        compute({
          device: on,
          capacity: { rows: capacity },
          sizes: { rows: to - from },
          record(_, input) {
            const cut = (of: Float32Array) => of.subarray((from * of.length) / rows, (to * of.length) / rows);
            if (!isAcross)
              return headLinear(input(['rows', heads * k], cut(x)), matrix, { first: plain, count: values });
            const y = input(['rows', heads * (k + 8)], cut(before));
            const columns = { first: 0, count: plain };
            return headLinearAcross(input(['rows', heads * (plain + 4)], cut(q)), matrix, columns, {
              y,
              scale: 0.5,
            });
          },
        });
      const [forward, across] = [await run(0, rows, 16, false), await run(0, rows, 16, true)];
      for (let row = 0; row < rows; row++) {
        for (let head = 0; head < heads; head++) {
          const weight = (column: number, at: number): number => weights[(head * all + column) * k + at]!;
          for (let j = 0; j < values; j++) {
            let sum = 0;
            for (let at = 0; at < k; at++) sum += x[(row * heads + head) * k + at]! * weight(plain + j, at);
            expectBelow(Math.abs(forward[row]![head * values + j]! - sum), TOLERANCE);
          }
          for (let at = 0; at < k + 8; at++) {
            let sum = 0;
            for (let j = 0; j < plain; j++) sum += q[(row * heads + head) * (plain + 4) + j]! * weight(j, at);
            const wanted = at < k ? 0.5 * sum : before[(row * heads + head) * (k + 8) + at]!;
            expectBelow(Math.abs(across[row]![head * (k + 8) + at]! - wanted), TOLERANCE);
          }
        }
      }
      // The same rows for all heads, from both sides.
      const job = { device: on, capacity: { rows: 16 }, sizes: { rows } };
      const shared = await compute({
        ...job,
        record(_, input) {
          const y = input(['rows', heads * k], new Float32Array(rows * heads * k));
          const own = input(['rows', plain], q.subarray(0, rows * plain));
          const columns = { first: 0, count: plain, isShared: true };
          return headLinearAcross(own, matrix, columns, { y, scale: 1 });
        },
      });
      for (let row = 0; row < rows; row++) {
        for (let head = 0; head < heads; head++) {
          for (let at = 0; at < k; at++) {
            let sum = 0;
            for (let j = 0; j < plain; j++) sum += q[row * plain + j]! * weights[(head * all + j) * k + at]!;
            expectBelow(Math.abs(shared[row]![head * k + at]! - sum), TOLERANCE);
          }
        }
      }
      for (const [from, to, capacity] of [
        [4, 5, 1],
        [1, 4, 4],
      ] as const) {
        expect(differingRows(await run(from, to, capacity, false), forward.slice(from, to))).toEqual([]);
        expect(differingRows(await run(from, to, capacity, true), across.slice(from, to))).toEqual([]);
      }
      if (as.bindingLimit) continue; // which is less than a tile of rows with the columns of all heads
      const together = await compute({
        ...job,
        record: (_, input) => linear(input(['rows', k], x.subarray(0, rows * k)), sideBySide(matrix)),
      });
      const each = together[0]!.length / heads;
      expect(each % 32).toBe(0);
      for (let row = 0; row < rows; row++) {
        for (let column = 0; column < heads * all; column++) {
          let sum = 0;
          for (let at = 0; at < k; at++) sum += x[row * k + at]! * weights[column * k + at]!;
          const place = Math.floor(column / all) * each + (column % all);
          expectBelow(Math.abs(together[row]![place]! - sum), TOLERANCE);
        }
      }
    }
  });
});
