// Queries that rope-kv.wgsl and grow-rows.wgsl multiply by a factor that grows with their position.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Region } from '../../src/gpu/tensor.ts';
import {
  PAGE_TOKENS,
  type HeadNorms,
  type HeadShape,
  type KvPages,
  type TextBatch,
} from '../../src/kernels/batch.ts';
import { growRows } from '../../src/kernels/grow-rows.ts';
import { ropeKv } from '../../src/kernels/rope-kv.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it('queries grow with the logarithm of their position in steps, keys and values do not', async () => {
  const growth = { beta: 0.5, length: 16, first: 1 };
  const shape: HeadShape = { heads: 2, kvHeads: 1, dims: 8 };
  const positions = [0, 15, 16, 47, 48, 1000, 131071];
  const width = 32;
  const qkv = new Random(5).floats(positions.length * width);
  const run = async (of: HeadShape) => {
    const [keys, values] = [0, 1].map(() => upload(device, new Uint8Array(PAGE_TOKENS * 8 * 4))) as [
      Region,
      Region,
    ];
    const rows = upload(device, Uint32Array.from(positions.flatMap((position) => [0, position, 0, 0])));
    const places = upload(device, Uint32Array.from(positions.keys()));
    const table = { pages: places, places };
    const q = await compute({
      device,
      capacity: { rows: 8 },
      sizes: { rows: positions.length },
      record: (_, input) => {
        const pages = { kind: 'kv', table, format: 'f32', keys, values } as const;
        return ropeKv(input(['rows', width], qkv), null, of, pages, null, { rows });
      },
    });
    const written = await Promise.all(
      [keys, values].map(async (one) => new Uint8Array(await device.read(one))),
    );
    return { q, written };
  };
  const [plain, grown] = [await run(shape), await run({ ...shape, growth })];
  expect(grown.written).toEqual(plain.written);
  positions.forEach((position, row) => {
    const factor = 1 + growth.beta * Math.log(1 + Math.floor((position + growth.first) / growth.length));
    plain.q[row]!.forEach((value, i) =>
      expectBelow(Math.abs(grown.q[row]![i]! - value * factor), 1e-5 * Math.abs(factor)),
    );
  });
});

it.each([5, 301])('rows of %i columns grow by their positions', async (columns) => {
  const growth = { beta: 0.25, length: 8 };
  const positions = [0, 7, 8, 1000, 3];
  const x = new Random(columns).floats(positions.length * columns);
  const rows = upload(device, Uint32Array.from(positions.flatMap((position) => [0, position, 0, 0])));
  const y = await compute({
    device,
    capacity: { rows: 8 },
    sizes: { rows: positions.length },
    record: (_, input) => growRows(input(['rows', columns], x), growth, rows),
  });
  expect(y).toHaveLength(positions.length);
  positions.forEach((position, row) => {
    const factor = 1 + growth.beta * Math.log(1 + Math.floor(position / growth.length));
    y[row]!.forEach((value, i) =>
      expectBelow(Math.abs(value - x[row * columns + i]! * factor), 1e-5 * factor),
    );
  });
});

it('queries that grow need the positions of the rows, and have no norms', () => {
  const tape = new Tape(device, { rows: 1 });
  const shape: HeadShape = { heads: 1, kvHeads: 1, dims: 8, growth: { beta: 1, length: 1 } };
  const grow = (norms: HeadNorms | null, batch: Partial<TextBatch>) =>
    ropeKv(tape.tensor(['rows', 24]), null, shape, {} as KvPages, norms, batch);
  expect(() => grow(null, {})).toThrow('there are no rows');
  expect(() => grow({} as HeadNorms, { rows: {} as Region })).toThrow('have no norms');
});
