// Paged attention over latents, whose values are the first dimensions of the keys: against a softmax in f64, and bit by bit against the same
// row alone. The writing of latents, and products with a matrix for each head.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { KvFormat, KvPages } from '../../src/kernels/batch.ts';
import { latentKv } from '../../src/kernels/latent-kv.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { CAPACITY, LONG_SEQUENCES, problem, reference, run, SEQUENCES } from './attention-problem.ts';
import { compute, differingRows, f16Value, Random, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
let plain: Device;
let hardware: Device;
beforeAll(async () => {
  device = await openTestDevice();
  plain = disguise(device, { portable: true });
  hardware = disguise(device, { profile: 'discrete' });
});
afterAll(() => device.destroy());

/** Values are within ±1, so the tolerance is absolute: a few ulp and the rounding of exp. */
const TOLERANCE = 2e-6;

function worstError(of: ReturnType<typeof problem>, y: Float32Array[], rows: readonly number[]): number {
  return y.reduce((worst, got, i) => {
    const wanted = reference(of, rows[i]!);
    expect(got.length).toBe(wanted.length);
    const errors = wanted.map((value, at) => Math.abs(got[at]! - value));
    return errors.reduce((most, error) => Math.max(most, error), worst);
  }, 0);
}

it('rows of all phases, with subgroups and without', async () => {
  const shape = { heads: 5, kvHeads: 1, dims: 48, valueDims: 32 };
  for (const [on, format] of [
    [device, 'f16'],
    [plain, 'f32'],
  ] as const) {
    const of = problem(on, shape, format, null);
    const rows = of.rows.map((_, i) => i);
    const all = await run(on, of, CAPACITY);
    expect(worstError(of, all, rows)).toBeLessThan(TOLERANCE);
    const alone = await run(on, of, { rows: 1, tiles: 1, tileRows: 1 }, [21]);
    expect(differingRows(alone, [all[21]!])).toEqual([]);
  }
});

it('rows of a prompt and generated rows on GPUs, of 576 dims', async () => {
  const shape = { heads: 2, kvHeads: 1, dims: 576, valueDims: 512 };
  const capacity = { rows: 48, tiles: 34, tileRows: 16, contextPages: 24 };
  const short = problem(hardware, shape, 'f16', null, SEQUENCES);
  const rows = short.rows.map((_, i) => i);
  const all = await run(hardware, short, capacity, rows);
  expect(worstError(short, all, rows)).toBeLessThan(TOLERANCE);
  expect(differingRows(await run(hardware, short, capacity, [21]), [all[21]!])).toEqual([]);
  const long = problem(hardware, shape, 'f16', null, LONG_SEQUENCES);
  const decoded = [0, 13, 34];
  const each = await run(hardware, long, capacity, decoded, true);
  expect(worstError(long, each, decoded)).toBeLessThan(TOLERANCE);
  const single = { rows: 1, tiles: 1, tileRows: 1, contextPages: 24 };
  expect(differingRows(await run(hardware, long, single, [13], true), [each[1]!])).toEqual([]);
});

it('rows see the tokens that were chosen for them, and pages without any change nothing', async () => {
  const shape = { heads: 2, kvHeads: 1, dims: 16, valueDims: 8 };
  const capacity = { ...CAPACITY, tiles: 34, contextPages: 24 };
  // Every 13th token, and the last 40 before a row: none of many pages.
  const sees = (row: number, token: number): boolean =>
    token % 13 === row % 13 || (token > 200 && token < 240);
  for (const on of [device, plain, hardware]) {
    const of = {
      ...problem(on, shape, 'f32', null, LONG_SEQUENCES),
      sees: (row: number, token: number) => sees(row, token) || token === 0,
    };
    const rows = of.rows.map((_, i) => i);
    const all = await run(on, of, capacity);
    expect(worstError(of, all, rows)).toBeLessThan(TOLERANCE);
    if (on !== hardware) continue;
    const decoded = [0, 13, 34];
    expect(worstError(of, await run(on, of, capacity, decoded, true), decoded)).toBeLessThan(TOLERANCE);
  }
  // All tokens chosen: the same bits as without a choice.
  const whole = problem(plain, shape, 'f32', null);
  const open = { ...whole, sees: () => true };
  expect(differingRows(await run(plain, open, capacity), await run(plain, whole, capacity))).toEqual([]);
});

it('keys in codes are refused', async () => {
  const of = problem(device, { heads: 2, kvHeads: 1, dims: 12, valueDims: 8 }, 'int8', null);
  await expect(run(device, of, CAPACITY)).rejects.toThrow(
    'values cannot be the dimensions of keys in codes (int8)',
  );
});

describe.each(['adjacent', 'half'] as const)('latents are written, pairs %s', (pairs) => {
  it.each<KvFormat>(['f32', 'f16'])('%s', async (format) => {
    const shape = { heads: 3, rank: 20, rotated: 8, plain: 12, values: 4, scale: 0.3, pairs };
    const { heads, rank, rotated, plain: fixed, scale } = shape;
    const [rows, width] = [5, rank + rotated];
    const random = new Random(7);
    const latents = random.floats(rows * width);
    const q = random.floats(rows * heads * (fixed + rotated));
    const angles = random.floats((rows * rotated) / 2).map((value) => 3 * value);
    const places = [33, 0, 95, 31, 64];
    const keys = upload(device, new Uint32Array(3 * 32 * width));
    const region = upload(device, Uint32Array.from(places));
    const kv: KvPages = { kind: 'kv', format, table: { pages: region, places: region }, keys, values: null };
    const rope = Float32Array.from(angles).reduce<number[]>(
      (all, angle) => [...all, Math.cos(angle), Math.sin(angle)],
      [],
    );
    const y = await compute({
      device,
      capacity: { rows: 16 },
      sizes: { rows },
      record: (_, input) =>
        latentKv(
          input(['rows', width], latents),
          input(['rows', heads * (fixed + rotated)], q),
          input(['rows', rotated], Float32Array.from(rope)),
          shape,
          kv,
        ),
    });
    const turned = (x: Float32Array, row: number): number[] =>
      Array.from(x, (value, d) => {
        const other = pairs === 'half' ? (d + rotated / 2) % rotated : d ^ 1;
        const isFirst = pairs === 'half' ? d < rotated / 2 : d % 2 === 0;
        const angle = angles[(row * rotated) / 2 + (pairs === 'half' ? d % (rotated / 2) : d >> 1)]!;
        return value * Math.cos(angle) + (isFirst ? -1 : 1) * x[other]! * Math.sin(angle);
      });
    const words = new Uint32Array(await device.read(keys));
    const floats = new Float32Array(words.buffer);
    const tolerance = format === 'f32' ? 2e-6 : 2 ** -10;
    places.forEach((place, row) => {
      const own = latents.subarray(row * width, (row + 1) * width);
      const wanted = [...own.subarray(0, rank), ...turned(own.slice(rank), row)];
      const [page, token] = [Math.floor(place / 32), place % 32];
      wanted.forEach((value, d) => {
        const found =
          format === 'f32'
            ? floats[(page * width + d) * 32 + token]!
            : f16Value((words[(page * width + d - (d % 2)) * 16 + token]! >>> (16 * (d % 2))) & 0xffff);
        expectBelow(Math.abs(found - value), tolerance);
      });
      for (let head = 0; head < heads; head++) {
        const from = row * heads * (fixed + rotated) + head * (fixed + rotated) + fixed;
        turned(q.slice(from, from + rotated), row).forEach((value, d) =>
          expectBelow(Math.abs(y[row]![head * width + rank + d]! - scale * value), 2e-6),
        );
      }
    });
  });
});
