// The sampler against exact distributions, and its rules for ties, seeds, slots and biases.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { Random } from './compute.ts';
import { count, distribution, drawAll, expectDistributed, type Draw, type Settings } from './draws.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

function randomLogits(vocabulary: number, spread: number, seed = vocabulary): Float32Array {
  return new Random(seed).floats(vocabulary).map((value) => value * spread);
}

/**
 * Numbers of seeds and positions: of a usual grid; of one for rare tokens and pairs of draws; and of a small one that tests only
 * which tokens can occur. The second driver computes them ten times as slowly, so that it draws fewer.
 */
const isSlow = process.env['SVC_VULKAN_DRIVER'] === 'swiftshader';
const SIDE = isSlow ? 40 : 71;
const LONG_SIDE = isSlow ? 80 : 142;
const FEW = isSlow ? 1000 : 3000;

/** `side` squared draws: every seed at every position, neither of them starting at zero. */
function grid(logits: ArrayLike<number>, settings: Settings, side: number = SIDE): Draw[] {
  return Array.from({ length: side * side }, (_, i) => ({
    logits,
    ...settings,
    seed: 7n + BigInt(Math.floor(i / side)),
    position: 40 + (i % side),
  }));
}

describe('greedy', () => {
  it.each([1, 2, 63, 64, 65, 331])('takes the largest of %i', async (vocabulary) => {
    const logits = Array.from({ length: 20 }, (_, i) => randomLogits(vocabulary, 5, i + 1));
    const { ids } = await drawAll(
      device,
      logits.map((row) => ({ logits: row, temperature: 0 })),
    );
    expect(ids).toEqual(logits.map((row) => row.indexOf(Math.max(...row))));
  });

  it('takes the lowest of equal tokens, in whatever lane they lie', async () => {
    const ties = [
      [0, 330],
      [63, 64],
      [5, 69, 133],
      [1, 64],
      [200, 199],
      [330, 0],
    ];
    const draws = ties.map((tokens) => {
      const logits = new Float32Array(331).fill(-3);
      for (const token of tokens) logits[token] = 2.5;
      return { logits, temperature: 0 };
    });
    expect((await drawAll(device, draws)).ids).toEqual(ties.map((tokens) => Math.min(...tokens)));
  });

  it('takes the largest where all are far below zero', async () => {
    const logits = new Float32Array(100).fill(-1e30);
    logits[77] = -9e29;
    expect((await drawAll(device, [{ logits, temperature: 0 }])).ids).toEqual([77]);
  });
});

describe('random draws follow the distribution', () => {
  const cases: { name: string; vocabulary: number; spread: number; settings: Settings; few?: boolean }[] = [
    { name: 'temperature 1', vocabulary: 37, spread: 3, settings: {} },
    { name: 'temperature 0.6', vocabulary: 37, spread: 3, settings: { temperature: 0.6 } },
    { name: 'temperature 2', vocabulary: 331, spread: 2, settings: { temperature: 2 } },
    { name: 'top-k 1', vocabulary: 37, spread: 3, settings: { topK: 1 }, few: true },
    { name: 'top-k 7', vocabulary: 67, spread: 2, settings: { topK: 7 } },
    { name: 'top-k beyond the vocabulary', vocabulary: 37, spread: 2, settings: { topK: 1000 }, few: true },
    { name: 'top-p 0.8', vocabulary: 67, spread: 3, settings: { topP: 0.8 } },
    { name: 'top-p 0', vocabulary: 37, spread: 3, settings: { topP: 0 }, few: true },
    { name: 'min-p 0.2', vocabulary: 67, spread: 3, settings: { minP: 0.2 } },
    {
      name: 'all together',
      vocabulary: 67,
      spread: 3,
      settings: { temperature: 1.3, topK: 20, topP: 0.9, minP: 0.05 },
    },
    { name: 'one token', vocabulary: 1, spread: 3, settings: { topP: 0.5, topK: 3, minP: 0.1 }, few: true },
  ];
  for (const { name, vocabulary, spread, settings, few } of cases) {
    it(name, async () => {
      const logits = randomLogits(vocabulary, spread);
      const draws = grid(logits, settings);
      const { ids } = await drawAll(device, few ? draws.slice(0, FEW) : draws);
      expectDistributed(count(ids, vocabulary), distribution(logits, settings));
    });
  }

  it('tokens drawn once in a thousand and in eight thousand', async () => {
    const logits = [0, -7, -9];
    const { ids } = await drawAll(device, grid(logits, {}, LONG_SIDE));
    expectDistributed(count(ids, 3), distribution(logits, {}));
  });

  it('independently from position to position and from seed to seed', async () => {
    const logits = randomLogits(5, 1);
    const { ids } = await drawAll(device, grid(logits, {}, LONG_SIDE));
    const single = distribution(logits, {});
    const pairs = single.flatMap((a) => single.map((b) => a * b));
    for (const step of [1, LONG_SIDE]) {
      const cells: number[] = [];
      for (let i = 0; i + step < ids.length; i++) {
        if (step === LONG_SIDE || i % LONG_SIDE < LONG_SIDE - 1) cells.push(ids[i]! * 5 + ids[i + step]!);
      }
      expectDistributed(count(cells, 25), pairs);
    }
  });

  it('with all 64 bits of the seed', async () => {
    const logits = randomLogits(67, 1);
    const draws = Array.from({ length: 64 }, (_, bit) => ({ logits, seed: 1n << BigInt(bit) }));
    const { ids } = await drawAll(device, draws);
    // If half the bits were ignored, half of the draws would be equal.
    expect(Math.max(...count(ids, 67))).toBeLessThan(12);
  });
});

describe('ties at the cut', () => {
  const logits = Float32Array.from({ length: 131 }, (_, i) => [1, 3, 2, 3][i % 4]!);

  it.each([
    { name: 'top-k cuts among equals', settings: { topK: 70 } },
    { name: 'top-k cuts among the largest', settings: { topK: 5 } },
    { name: 'top-p cuts among equals', settings: { topP: 0.31 } },
    { name: 'whichever rule is stricter', settings: { topP: 0.31, topK: 15 } },
  ])('$name: the lowest tokens stay', async ({ settings }) => {
    const { ids } = await drawAll(device, grid(logits, settings).slice(0, FEW));
    const wanted = distribution(logits, settings);
    expectDistributed(count(ids, 131), wanted);
    expect(wanted.filter((probability) => probability > 0).length).toBeLessThan(131);
  });

  it('equal logits throughout', async () => {
    const flat = new Float32Array(67).fill(-2);
    const { ids } = await drawAll(device, grid(flat, { topK: 9 }).slice(0, FEW));
    expectDistributed(count(ids, 67), distribution(flat, { topK: 9 }));
  });
});

describe('temperature', () => {
  it('near zero is greedy', async () => {
    const logits = randomLogits(331, 4);
    const { ids } = await drawAll(
      device,
      Array.from({ length: 50 }, (_, position) => ({ logits, temperature: 1e-5, position })),
    );
    expect(new Set(ids)).toEqual(new Set([logits.indexOf(Math.max(...logits))]));
  });
});

describe('biases', () => {
  const logits = randomLogits(131, 3);
  const best = logits.indexOf(Math.max(...logits));

  it('are of their own row, and add to the logits', async () => {
    const draws: Draw[] = [
      { logits, temperature: 0, biases: [[17, 100]] },
      { logits, temperature: 0 },
      {
        logits,
        temperature: 0,
        biases: [
          [best, -100],
          [130, 50],
          [0, 40],
        ],
      },
    ];
    expect((await drawAll(device, draws)).ids).toEqual([17, best, 130]);
  });

  it('count before the cuts', async () => {
    const biases = Array.from({ length: 100 }, (_, token): [number, number] => [
      token,
      token % 2 ? -200 : 1.5,
    ]);
    const biased = logits.map((value, token) => value + (biases[token]?.[1] ?? 0));
    const settings = { topK: 11, temperature: 1.5 };
    const draws = grid(logits, settings).slice(0, FEW);
    const { ids } = await drawAll(
      device,
      draws.map((draw) => ({ ...draw, biases })),
    );
    expectDistributed(count(ids, 131), distribution(biased, settings));
  });
});

describe('a draw', () => {
  it('is the same alone and in company, and lands in its slot only', async () => {
    const random = new Random(5);
    const draws = Array.from({ length: 16 }, (_, i): Draw => ({
      logits: randomLogits(331, 3, i + 1),
      temperature: 0.5 + random.next(),
      topK: i % 3 === 0 ? 20 : 0,
      topP: i % 2 === 0 ? 0.9 : 1,
      minP: i % 5 === 0 ? 0.01 : 0,
      seed: BigInt(random.integer(2 ** 31)) << 20n,
      position: random.integer(4096),
    }));
    const places = random.permutation(24);
    const together = await drawAll(
      device,
      draws.map((draw, i) => ({ ...draw, slot: places[i]! })),
      24,
    );
    for (const [i, draw] of draws.entries()) {
      expect((await drawAll(device, [draw])).ids).toEqual([together.ids[i]]);
    }
    const held = new Array<number | null>(24).fill(null);
    together.ids.forEach((id, i) => (held[places[i]!] = id));
    expect(together.slots).toEqual(held);
  });
});

it('a vocabulary of 151,936', async () => {
  const logits = randomLogits(151936, 9);
  const top = (k: number) => distribution(logits, { topK: k });
  const draws: Draw[] = [
    { logits, temperature: 0 },
    { logits, topK: 3 },
    { logits, topK: 3, position: 1 },
    { logits, topP: 0.5 },
    { logits, minP: 0.5 },
    { logits },
  ];
  const { ids } = await drawAll(device, draws);
  expect(ids[0]).toBe(top(1).indexOf(1));
  for (const i of [1, 2]) expect(top(3)[ids[i]!]).toBeGreaterThan(0);
  // An f32 sum of this many terms may end a few tokens later than in f64.
  expect(distribution(logits, { topP: 0.5001 })[ids[3]!]).toBeGreaterThan(0);
  expect(distribution(logits, { minP: 0.5 })[ids[4]!]).toBeGreaterThan(0);
  expect(ids[5]).toBeLessThan(151936);
});
