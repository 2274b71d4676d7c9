// Sampling by many workgroups a row, as GPUs do it, draws the same tokens as the kernel of software adapters, which is the judge.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { MASKED } from '../../src/kernels/sample.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { Random } from './compute.ts';
import { drawAll, type Draw } from './draws.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const TEMPERATURES = [0.01, 0.3, 1, 2, 5];
const SHARES = [1, 0.01, 0.5, 0.95, 0.999];
const RANKS = [0, 0, 1, 40, 1000];

/** Rows as models give them, and such as make cuts hard: shapes of a vocabulary. */
const SHAPES: readonly ((value: number, token: number) => number)[] = [
  (value) => 4 * value,
  (value) => 0.01 * value - 7,
  (value) => Math.round(4 * value),
  () => -2.5,
  (_, token) => (token % 2 === 0 ? 0 : -0),
  (value, token) => (token % 7 === 0 ? NaN : 3 * value),
  (value, token) => (token % 5 === 0 ? -Infinity : token === 77 ? Infinity : 2 * value),
  () => -Infinity,
  () => NaN,
  (value) => 1e4 * value,
];

function randomDraw(i: number, vocabulary: number): Draw {
  const random = new Random(31 * vocabulary + i);
  const shape = SHAPES[i % SHAPES.length]!;
  const token = (): number => random.integer(vocabulary);
  return {
    logits: random.floats(vocabulary).map(shape),
    temperature: i % 11 === 0 ? 0 : TEMPERATURES[random.integer(TEMPERATURES.length)]!,
    topP: SHARES[random.integer(SHARES.length)]!,
    topK: RANKS[random.integer(RANKS.length)]!,
    minP: random.integer(3) === 0 ? 0.05 : 0,
    position: i,
    ...(i % 3 === 0 ? { frequency: 0.5, presence: 0.25, repetition: 1.25, pending: token() } : {}),
    ...(i % 3 === 0 ? { counts: [...new Set([token(), token(), token()])].map((one) => [one, 2]) } : {}),
    ...(i % 4 === 0 ? { biases: [[token(), i % 8 === 0 ? MASKED : 3]] } : {}),
    ...(i % 5 === 0 ? { allowed: [token(), token(), token()] } : {}),
  };
}

async function expectSame(draws: Draw[]): Promise<void> {
  const alone = await drawAll(device, draws);
  const divided = await drawAll(disguise(device, { profile: 'discrete' }), draws);
  expect(divided.ids).toEqual(alone.ids);
  expect(divided.slots).toEqual(alone.slots);
}

it.each([1, 65, 331, 4099])('random rows of %i logits', async (vocabulary) => {
  await expectSame(Array.from({ length: 20 }, (_, i) => randomDraw(i, vocabulary)));
});

it('the cut of top-k and top-p is right where the tokens above it do not fit in lists', async () => {
  const logits = new Random(3).floats(40_009);
  await expectSame([
    { logits, temperature: 2, topP: 0.9 },
    { logits, topK: 30_000 },
    { logits: logits.map((value) => Math.round(value)), topP: 0.6, topK: 35_000 },
    { logits: new Float32Array(40_009), topP: 0.7 },
    { logits, temperature: 0.001, topK: 25_000 },
    // A row whose cut is known before the search, beside those that need it.
    { logits: logits.map((value) => 90 * value), topP: 0.5 },
  ]);
});

it('a vocabulary of 151,936', async () => {
  const logits = new Random(5).floats(151_936).map((value) => 9 * value);
  await expectSame([
    { logits, topP: 0.95, temperature: 0.8 },
    { logits, topK: 1000 },
  ]);
});

it('a row does not depend on the rows beside it', async () => {
  const on = disguise(device, { profile: 'discrete' });
  const draws = Array.from({ length: 6 }, (_, i) => randomDraw(20 * i, 4099));
  const { ids } = await drawAll(on, draws);
  for (const [i, draw] of draws.entries())
    expect((await drawAll(on, [{ ...draw, slot: 0 }])).ids).toEqual([ids[i]]);
});
