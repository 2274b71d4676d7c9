// Blocks of keys and values in f16 and their exponents, against rounding in JavaScript.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { halveKeys } from '../../src/kernels/halve-keys.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, f16Value, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const [ITEMS, KEYS, HEADS, DIMS, PADDED] = [2, 35, 2, 12, 16];
const BLOCKS = 2;
const COUNTS = [35, 3];
const COLUMNS = 4 + 2 * HEADS * DIMS;

it('keys and values are scaled to 2¹⁴ or more at the largest of a block, and rounded to f16', async () => {
  const random = new Random(11);
  const x = random.floats(ITEMS * KEYS * COLUMNS).map((value, i) => {
    const column = i % COLUMNS;
    if (column < 4) return NaN;
    const key = Math.floor(i / COLUMNS) % KEYS;
    if (key >= COUNTS[Math.floor(i / COLUMNS / KEYS)]!) return 1e30;
    return value * (column < 4 + HEADS * DIMS ? 2 ** -110 : key < 32 ? 2 ** 100 : 2 ** -80);
  });
  const at = (item: number, key: number, column: number) => x[(item * KEYS + key) * COLUMNS + column]!;
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record(_, input) {
      const kv = input([ITEMS, KEYS, COLUMNS], x);
      const keyCounts = device.tensor('step', 'counts', [ITEMS], Uint32Array.from(COUNTS));
      const [k, v] = [4, 4 + HEADS * DIMS].map((first) => ({ x: kv, first }));
      return halveKeys(k!, v!, { heads: HEADS, dims: DIMS, padded: PADDED, keyCounts });
    },
  });
  expect(y.length).toBe(ITEMS * HEADS * BLOCKS);
  y.forEach((words, row) => {
    const [item, head, block] = [row >> 2, (row >> 1) & 1, row & 1];
    const halves = Array.from(new Uint16Array(words.buffer, 0, 64 * PADDED), (bits) => f16Value(bits));
    const exponents = new Int32Array(words.buffer, 4 * 32 * PADDED, 2);
    const own = Math.max(0, Math.min(32, COUNTS[item]! - 32 * block));
    [0, 1].forEach((kind) => {
      const least = kind === 0 ? -126 : -40;
      if (exponents[kind]! > least) {
        const largest = Math.max(...halves.slice(kind * 32 * PADDED, (kind + 1) * 32 * PADDED).map(Math.abs));
        expect(largest >= 2 ** 14 && largest <= 2 ** 15).toBe(true);
      } else expect(exponents[kind]).toBe(least);
      for (let key = 0; key < 32; key++)
        for (let d = 0; d < PADDED; d++) {
          const half = halves[kind === 0 ? key * PADDED + d : (PADDED + d) * 32 + key]!;
          const column = 4 + (kind * HEADS + head) * DIMS + d;
          const exact = d < DIMS && key < own ? at(item, 32 * block + key, column) : 0;
          const lost = exponents[kind] === least ? 2 ** (least - 24) : 0;
          const error = Math.abs(half * 2 ** exponents[kind]! - exact);
          expect(error <= Math.abs(exact) * 2 ** -10 + lost).toBe(true);
        }
    });
  });
});
