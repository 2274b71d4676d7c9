// Changes of logits before sampling: penalties, masks and biases in order, against plain arithmetic; and values that are not
// numbers.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { MASKED, NO_TOKEN_ALLOWED, NOT_A_TOKEN } from '../../src/kernels/sample.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { Random } from './compute.ts';
import { count, distribution, drawAll, expectDistributed, type Draw } from './draws.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const VOCABULARY = 131;

function randomLogits(seed: number, spread = 3): number[] {
  return [...new Random(seed).floats(VOCABULARY)].map((value) => value * spread);
}

/** The order of the contract: additive penalties, repetition penalty, mask, bias. */
function edited(draw: Draw): number[] {
  const { frequency = 0, presence = 0, repetition = 1, counts = [], pending, allowed, biases = [] } = draw;
  const generated = new Map(counts);
  if (pending !== undefined) generated.set(pending, (generated.get(pending) ?? 0) + 1);
  const values = Array.from(draw.logits);
  for (const [token, times] of generated) {
    const lowered = values[token]! - frequency * times - presence;
    values[token] = lowered < 0 ? lowered * repetition : lowered / repetition;
  }
  if (allowed) values.forEach((_, token) => !allowed.includes(token) && (values[token] = -Infinity));
  for (const [token, value] of biases) values[token]! += value;
  return values;
}

function best(values: number[]): number {
  return values.indexOf(Math.max(...values));
}

/** Returns a draw with one seed at every position. */
function many(draw: Draw, draws = 3000): Draw[] {
  return Array.from({ length: draws }, (_, position) => ({ ...draw, seed: 11n, position }));
}

const counts: [number, number][] = [
  [3, 1],
  [64, 5],
  [65, 2],
  [130, 1],
];

describe('penalties', () => {
  it.each([
    ['frequency', { frequency: 0.7 }],
    ['presence', { presence: 1.3 }],
    ['repetition', { repetition: 1.8 }],
    ['negative ones', { frequency: -0.4, presence: -1, repetition: 0.6 }],
    ['all three', { frequency: 0.3, presence: 0.5, repetition: 1.4 }],
    ['all three, with a token that is counted and on its way', { frequency: 1, presence: 1, pending: 65 }],
    ['all three, with a token that is new and on its way', { frequency: 1, repetition: 2, pending: 7 }],
    ['with a first token on its way', { counts: [], presence: 2, pending: 9 }],
  ])('%s change what is drawn as plain arithmetic does', async (_, penalties) => {
    const draw: Draw = { logits: randomLogits(3, 1.5), counts, ...penalties };
    const { ids } = await drawAll(device, many(draw));
    expectDistributed(count(ids, VOCABULARY), distribution(edited(draw), {}));
  });

  it('are of their own row', async () => {
    const draws = Array.from({ length: 12 }, (_, i): Draw => ({
      logits: randomLogits(i + 1),
      temperature: 0,
      counts: i % 2 ? [[best(randomLogits(i + 1)), 2]] : [],
      frequency: i % 3,
      presence: i % 4,
    }));
    expect((await drawAll(device, draws)).ids).toEqual(draws.map((draw) => best(edited(draw))));
  });
});

describe('masks', () => {
  it('leave what they allow as it is', async () => {
    const draw: Draw = { logits: randomLogits(5), allowed: [0, 31, 32, 63, 64, 130], temperature: 1.4 };
    const { ids } = await drawAll(device, many(draw));
    expectDistributed(count(ids, VOCABULARY), distribution(edited(draw), { temperature: 1.4 }));
  });

  it('are of their own row, and hold against any bias and penalty', async () => {
    const draws = Array.from({ length: 20 }, (_, i): Draw => ({
      logits: randomLogits(i + 1),
      temperature: i % 3 === 0 ? 0 : 2,
      ...(i % 4 === 0 ? {} : { allowed: [i, i + 40, i + 80] }),
      biases: [[100, 100]],
      counts: [[100, 9]],
      frequency: -2,
      repetition: 0.1,
      ...(i % 5 === 0 ? { topK: 90, topP: 0.99 } : {}),
    }));
    const { ids } = await drawAll(device, draws);
    ids.forEach((id, i) => {
      const { allowed, temperature } = draws[i]!;
      if (allowed) expect(allowed).toContain(id);
      if (temperature === 0) expect(id).toBe(best(edited(draws[i]!)));
    });
  });

  it('of one token draw it, however unlikely', async () => {
    const logits = randomLogits(9);
    logits[77] = -80;
    const { ids } = await drawAll(
      device,
      [0, 1, 2].map((temperature) => ({ logits, temperature, allowed: [77], topP: 0.5, minP: 0.3, topK: 5 })),
    );
    expect(ids).toEqual([77, 77, 77]);
  });

  it('of none say so', async () => {
    const draws: Draw[] = [0, 1].map((temperature) => ({
      logits: randomLogits(1),
      temperature,
      allowed: [],
    }));
    const biases = Array.from({ length: VOCABULARY }, (_, token): [number, number] => [token, MASKED]);
    draws.push({ logits: randomLogits(1), biases });
    expect((await drawAll(device, draws)).ids).toEqual(Array(3).fill(NO_TOKEN_ALLOWED));
  });
});

describe('logits that are no number', () => {
  it('are never drawn', async () => {
    const logits = randomLogits(4);
    const holes = logits.map((value, token) => (token % 3 === 0 ? NaN : value));
    const draw: Draw = { logits: holes, topP: 0.95 };
    const { ids } = await drawAll(device, many(draw));
    const without = logits.map((value, token) => (token % 3 === 0 ? -Infinity : value));
    expectDistributed(count(ids, VOCABULARY), distribution(without, { topP: 0.95 }));
  });

  it('leave no token where there is nothing else', async () => {
    const logits = Array<number>(VOCABULARY).fill(NaN);
    const { ids } = await drawAll(device, [
      { logits },
      { logits, temperature: 0 },
      { logits, temperature: 0, allowed: [3] },
    ]);
    expect(ids).toEqual(Array(3).fill(NOT_A_TOKEN));
  });

  it('count as very likely where they are infinite', async () => {
    const logits = randomLogits(6);
    logits[40] = Infinity;
    logits[41] = -Infinity;
    const { ids } = await drawAll(device, many({ logits }, 50));
    expect(new Set(ids)).toEqual(new Set([40]));
  });
});

it('a batch of everything at once is drawn as each row alone', async () => {
  const random = new Random(8);
  const draws = Array.from({ length: 24 }, (_, i): Draw => ({
    logits: randomLogits(i + 1),
    temperature: i % 4 === 0 ? 0 : 0.4 + random.next(),
    seed: BigInt(random.integer(2 ** 31)),
    position: random.integer(1000),
    frequency: random.next(),
    presence: random.next(),
    repetition: 1 + random.next(),
    counts: Array.from({ length: i }, (_, k) => [k * 5, 1 + random.integer(4)]),
    ...(i % 3 === 0 ? { pending: random.integer(VOCABULARY) } : {}),
    ...(i % 2 === 0 ? { allowed: Array.from({ length: 60 }, (_, k) => 2 * k) } : {}),
    ...(i % 5 === 0 ? { logprobs: 5 } : {}),
    biases: [[i, 2]],
    topP: i % 3 === 1 ? 0.8 : 1,
  }));
  const together = await drawAll(device, draws);
  for (const [i, draw] of draws.entries()) {
    const alone = await drawAll(device, [draw]);
    expect(alone.ids[0]).toBe(together.ids[i]);
    expect(alone.logprobs[0]).toEqual(together.logprobs[i]);
  }
});
