// Attention among tokens that are divided between two devices.

import { expect, it } from 'vitest';
import { HostGroup } from '../../src/engine/image/ranks/exchange.ts';
import { openDevice } from '../../src/gpu/node.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { attend } from '../../src/kernels/attend.ts';
import { takeTokens } from '../../src/kernels/copy-rows.ts';
import { gatherTokens } from '../../src/kernels/gather-tokens.ts';

const [ITEMS, TOKENS, HEADS, DIMS] = [2, 7, 3, 12];
const COLUMNS = HEADS * DIMS;

it('queries of each device see the keys of both, and the results of both are gathered', async () => {
  const values = Float32Array.from({ length: ITEMS * TOKENS * 3 * COLUMNS }, (_, i) => Math.sin(i * i));
  const group = new HostGroup(2);
  const counts = [3, 4];
  const compute = async (rank: number | null): Promise<Float32Array> => {
    const device = await openDevice();
    try {
      const qkv = device.tensor('step', 'qkv', [ITEMS, TOKENS, 3 * COLUMNS], values);
      const tape = new Tape(device, {}, { plain: true });
      const first = rank === 1 ? counts[0]! : 0;
      const x = rank === null ? qkv.on(tape) : takeTokens(qkv.on(tape), first, counts[rank]!);
      const { allGather } = group.ranks[rank ?? 0]!;
      const split = rank === null ? null : { rank, counts, allGather };
      tape.split = split;
      const [q, k, v] = [0, 1, 2].map((i) => ({ x, first: i * COLUMNS }));
      const y = attend(q!, k!, v!, { heads: HEADS, dims: DIMS });
      const all = split ? gatherTokens(y, split) : y;
      const last = takeTokens(all, 0, TOKENS);
      tape.keep(last);
      tape.finish();
      await tape.replay({});
      const rows = new Float32Array(await device.read(tape.region(last)));
      const { stride } = last;
      return Float32Array.from({ length: ITEMS * TOKENS * COLUMNS }, (_, i) => {
        return rows[Math.floor(i / COLUMNS) * stride + (i % COLUMNS)]!;
      });
    } finally {
      device.destroy();
    }
  };
  const whole = await compute(null);
  const parts = await Promise.all([compute(0), compute(1)]);
  expect(whole.some((value) => Math.abs(value) > 0.1)).toBe(true);
  for (const part of parts) for (const [i, value] of part.entries()) expect(value).toBeCloseTo(whole[i]!, 5);
});
