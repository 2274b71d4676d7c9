import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { rotate } from '../../src/kernels/rotate.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const EPS = 1e-5;
const TOLERANCE = 2e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const FIRST = 5;
const BEHIND = 2;

/** Heads between columns that must stay as they are. */
async function expectRotated(
  on: Device,
  {
    items,
    tokens,
    heads,
    dims,
    interleaved,
    normed,
    apart = false,
    turns = heads,
    gained = true,
  }: {
    items: number;
    tokens: number;
    heads: number;
    dims: number;
    interleaved: boolean;
    normed: boolean;
    /** Whether each head has angles of its own. */
    apart?: boolean;
    /** Heads of the table where they are apart, which those of x take in turns. */
    turns?: number;
    /** Whether norms have weights. */
    gained?: boolean;
  },
) {
  const random = new Random(tokens * 100 + dims);
  const columns = FIRST + heads * dims + BEHIND;
  const values = random.floats(items * tokens * columns);
  const width = apart ? turns * dims : dims; // of the table
  const angles = Array.from({ length: (tokens * width) / 2 }, () => 6 * random.next());
  const cosSin = Float32Array.from(angles.flatMap((angle) => [Math.cos(angle), Math.sin(angle)]));
  const table = on.tensor('step', 'table', [tokens, width], cosSin);
  const gains = random.floats(dims);
  const weight = on.tensor('weights', 'weight', [dims], gains);
  const y = await compute({
    device: on,
    capacity: {},
    sizes: {},
    record(_, input) {
      const x = input([items, tokens, columns], values);
      rotate({ x, first: FIRST }, table, {
        heads,
        dims,
        layout: interleaved ? 'interleaved' : 'halves',
        norm: normed ? { weight: gained ? weight : null, eps: EPS } : undefined,
      });
      return x;
    },
  });
  y.forEach((row, r) => {
    const right = Array.from(values.subarray(r * columns, (r + 1) * columns));
    for (let head = 0; head < heads; head++) {
      const x0 = FIRST + head * dims;
      let x = right.slice(x0, x0 + dims);
      if (normed) {
        const mean = x.reduce((sum, value) => sum + value * value, 0) / dims;
        x = x.map((value, d) => (value / Math.sqrt(mean + EPS)) * (gained ? gains[d]! : 1));
      }
      for (let i = 0; i < dims / 2; i++) {
        const [a, b] = interleaved ? [2 * i, 2 * i + 1] : [i, i + dims / 2];
        const angle = angles[((r % tokens) * width + (apart ? (head % turns) * dims : 0)) / 2 + i]!;
        right[x0 + a] = x[a]! * Math.cos(angle) - x[b]! * Math.sin(angle);
        right[x0 + b] = x[b]! * Math.cos(angle) + x[a]! * Math.sin(angle);
      }
    }
    row.forEach((value, column) => expectBelow(Math.abs(value - right[column]!), TOLERANCE));
  });
}

describe.each([true, false])('rotated pairs are neighbours: %s', (interleaved) => {
  it.each([true, false])('heads normed: %s', async (normed) => {
    for (const dims of [2, 6, 32, 128])
      await expectRotated(device, { items: 2, tokens: 3, heads: 3, dims, interleaved, normed });
    await expectRotated(device, { items: 1, tokens: 1, heads: 37, dims: 4, interleaved, normed });
  });
});

it('each head is rotated by angles of its own where the table has them', async () => {
  const of = { items: 2, tokens: 3, heads: 3, dims: 20, normed: false, apart: true };
  await expectRotated(device, { ...of, interleaved: true });
  await expectRotated(device, { ...of, interleaved: false });
});

it('heads take those of a table in turns, and norms need no weights', async () => {
  const of = { items: 2, tokens: 3, heads: 6, dims: 12, interleaved: false, apart: true };
  await expectRotated(device, { ...of, normed: false, turns: 2 });
  await expectRotated(device, { ...of, normed: true, gained: false, turns: 3 });
});

it.each([32, 128])('heads of %i columns are normed alone where there is no table', async (dims) => {
  const [rows, heads] = [5, 3];
  const random = new Random(dims);
  const columns = FIRST + heads * dims + BEHIND;
  const values = random.floats(rows * columns);
  const gains = random.floats(dims);
  const weight = device.tensor('weights', 'weight', [dims], gains);
  const changed = (norm?: { weight: typeof weight; eps: number }): Promise<Float32Array[]> =>
    compute({
      device,
      capacity: {},
      sizes: {},
      record(_, input) {
        const x = input([1, rows, columns], values);
        rotate({ x, first: FIRST }, null, { heads, dims, layout: 'interleaved', norm });
        return x;
      },
    });
  (await changed({ weight, eps: EPS })).forEach((row, r) => {
    const right = Array.from(values.subarray(r * columns, (r + 1) * columns));
    for (let first = FIRST; first < FIRST + heads * dims; first += dims) {
      const head = right.slice(first, first + dims);
      const mean = head.reduce((sum, value) => sum + value * value, 0) / dims;
      head.forEach((value, d) => (right[first + d] = (value / Math.sqrt(mean + EPS)) * gains[d]!));
    }
    row.forEach((value, column) => expectBelow(Math.abs(value - right[column]!), TOLERANCE));
  });
  expect((await changed()).flatMap((row) => [...row])).toEqual([...values]);
});

it('heads in strips of 256 KiB', async () => {
  const narrow = disguise(device, { bindingLimit: 256 << 10 });
  const of = { items: 2, tokens: 411, heads: 3, dims: 32, interleaved: true, normed: true };
  await expectRotated(narrow, of);
  // A table that takes several bindings.
  await expectRotated(narrow, { ...of, items: 1, tokens: 2111 });
});
