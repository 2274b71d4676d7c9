// What ranks give each other by way of host memory.

import { expect, it } from 'vitest';
import { HostGroup } from '../../../src/engine/async/exchange.ts';

const bytes = (...values: number[]): ArrayBuffer => Uint8Array.from(values).buffer;

it('all ranks get the bytes of all in their order, round by round', async () => {
  const { ranks } = new HostGroup(3);
  const run = async (rank: number): Promise<number[][]> => {
    const seen: number[][] = [];
    for (let round = 0; round < 3; round++) {
      await new Promise((resolve) => setTimeout(resolve, (3 - rank) * round));
      const all = await ranks[rank]!.allGather(bytes(10 * round + rank, rank));
      seen.push(all.map((one) => new Uint8Array(one)[0]!));
    }
    return seen;
  };
  const all = await Promise.all([0, 1, 2].map(run));
  const rounds = [
    [0, 1, 2],
    [10, 11, 12],
    [20, 21, 22],
  ];
  expect(all).toEqual([rounds, rounds, rounds]);
  // Two bytes of two others, three times.
  expect(ranks[0]!.spent).toMatchObject({ calls: 3, bytes: 12 });
});

it('ranks agree on the least number', async () => {
  const { ranks } = new HostGroup(2);
  expect(await Promise.all([ranks[0]!.least(4), ranks[1]!.least(3)])).toEqual([3, 3]);
});

it('a rank that leaves ends the waiting of the others, and what they ask later', async () => {
  const group = new HostGroup(2);
  const waiting = group.ranks[0]!.allGather(bytes(1));
  group.fail(new Error('its device is lost'));
  await expect(waiting).rejects.toThrow('its device is lost');
  await expect(group.ranks[0]!.least(1)).rejects.toThrow('its device is lost');
});
