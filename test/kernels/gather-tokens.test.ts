// Attention among tokens that are divided between devices.

import { expect, it } from 'vitest';
import { tokenRanks } from '../../src/engine/image/blocks/token-parts.ts';
import { exchangesOf, spentBy } from '../../src/engine/image/ranks/exchange.ts';
import { openDevice } from '../../src/gpu/node.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { attend } from '../../src/kernels/attend.ts';
import { takeTokens } from '../../src/kernels/copy-rows.ts';
import { divideTokens } from '../../src/kernels/gather-tokens.ts';
import { expectCloseTo } from './expect-each.ts';

const [ITEMS, TEXT, IMAGE, HEADS, KEY_HEADS] = [2, 5, 9, 4, 2];
const TOKENS = TEXT + IMAGE;

it.each([
  ['gather keys', { sp: 2, ulysses: 1, ring: 1 }, 12],
  ['divide heads', { sp: 2, ulysses: 2, ring: 1 }, 12],
  ['let keys go around', { sp: 3, ulysses: 1, ring: 3 }, 8],
  ['let keys go around in heads with zeros behind', { sp: 2, ulysses: 1, ring: 2 }, 10],
  ['divide heads, and let keys go around', { sp: 4, ulysses: 2, ring: 2 }, 8],
])('devices that %s see the keys of all, and their results are gathered', async (_, degrees, dims) => {
  const columns = [HEADS, KEY_HEADS, KEY_HEADS].map((heads) => heads * dims) as [number, number, number];
  const width = columns[0] + columns[1] + columns[2];
  const values = Float32Array.from({ length: ITEMS * TOKENS * width }, (_value, i) => Math.sin(i * i));
  const { ranks } = exchangesOf({ cfg: 1, tp: 1, ...degrees });
  const compute = async (rank: number | null): Promise<Float32Array> => {
    const device = await openDevice();
    try {
      const qkv = device.tensor('step', 'qkv', [ITEMS, TOKENS, width], values);
      const tape = new Tape(device, {}, { plain: true });
      const exchange = rank === null ? undefined : ranks[rank]!;
      if (exchange) tape.split = { ...tokenRanks(exchange)!, counts: [] };
      const whole = qkv.on(tape);
      const divided = divideTokens(whole, [TEXT, IMAGE]);
      const x = divided.own(whole);
      const [q, k, v] = [0, columns[0], columns[0] + columns[1]].map((first) => ({ x, first }));
      const shape = { heads: HEADS, kvHeads: KEY_HEADS, dims };
      const seen = divided.all(attend(q!, k!, v!, shape));
      // The image alone attends to both.
      const image = takeTokens(x, divided.count(0), divided.count(1));
      const sequences = { queries: [1], keys: [0, 1] };
      const part = divided.all(attend({ x: image, first: 0 }, k!, v!, { ...shape, sequences }), 1);
      const results = [seen, part].map((y) => takeTokens(y, 0, y.shape[1] as number));
      results.forEach((y) => tape.keep(y));
      tape.finish();
      await tape.replay({});
      const read: number[] = [];
      for (const y of results) {
        const rows = new Float32Array(await device.read(tape.region(y)));
        for (let row = 0; row < y.rows({}); row++)
          read.push(...rows.subarray(row * y.stride, row * y.stride + y.columns));
      }
      return Float32Array.from(read);
    } finally {
      device.destroy();
    }
  };
  const whole = await compute(null);
  expect(whole).toHaveLength(ITEMS * (TOKENS + IMAGE) * columns[0]);
  expect(whole.some((value) => Math.abs(value) > 0.1)).toBe(true);
  const parts = await Promise.all(ranks.map((__, rank) => compute(rank)));
  for (const part of parts) for (const [i, value] of part.entries()) expectCloseTo(value, whole[i]!, 5);
  for (const rank of ranks) expect(spentBy(rank).bytes).toBeGreaterThan(0);
});
