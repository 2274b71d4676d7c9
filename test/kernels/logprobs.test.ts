// Log probabilities against plain arithmetic, of the original logits and of the logits after sampling's changes.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { Random } from './compute.ts';
import { drawAll, type Draw, type RowLogprobs } from './draws.ts';
import { expectCloseTo } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

function logSoftmax(values: number[]): number[] {
  const largest = values.reduce((most, value) => Math.max(most, value), -Infinity);
  const total = Math.log(values.reduce((sum, value) => sum + Math.exp(value - largest), 0));
  return values.map((value) => value - largest - total);
}

function expectLogprobs(row: RowLogprobs, values: number[], id: number, count: number): void {
  const wanted = logSoftmax(values);
  const order = values.map((_, token) => token).sort((a, b) => values[b]! - values[a]! || a - b);
  expect(row.drawn).toBeCloseTo(wanted[id]!, 3);
  expect(row.best.map(([token]) => token)).toEqual(order.slice(0, count));
  row.best.forEach(([token, logprob]) => expectCloseTo(logprob, wanted[token]!, 3));
}

describe('log probabilities of the logits as they came', () => {
  it.each([
    [21, 20, 4],
    [331, 5, 4],
    [513, 0, 12],
    [4099, 20, 0.01],
    [151936, 20, 9],
  ])('with a vocabulary of %i and %i of the best', async (vocabulary, best, spread) => {
    const logits = new Random(vocabulary).floats(vocabulary).map((value) => value * spread);
    const draw: Draw = {
      logits,
      temperature: 1.7,
      topK: 3,
      allowed: [2, 5, 7],
      biases: [[5, 3]],
      logprobs: best,
    };
    const { ids, logprobs } = await drawAll(device, [draw, { ...draw, position: 1, allowed: [9] }]);
    expect(ids[1]).toBe(9);
    logprobs.forEach((row, i) => expectLogprobs(row, [...logits], ids[i]!, best));
  });

  it('with many equal logits: lowest tokens first', async () => {
    const logits = Array.from({ length: 1200 }, (_, token) => (token % 2 ? 1 : 2));
    const { ids, logprobs } = await drawAll(device, [{ logits, logprobs: 20 }]);
    expectLogprobs(logprobs[0]!, logits, ids[0]!, 20);
  });

  it('in the rows that ask, whatever the others do', async () => {
    const rows = Array.from({ length: 9 }, (_, i) => [...new Random(i + 1).floats(131)]);
    const draws = rows.map((logits, i): Draw => ({ logits, ...(i % 2 ? { logprobs: i } : {}) }));
    const { ids, logprobs } = await drawAll(device, draws);
    rows.forEach((logits, i) => {
      if (i % 2) expectLogprobs(logprobs[i]!, logits, ids[i]!, i);
      else expect(logprobs[i]!.drawn).toBe(0);
    });
  });

  it('where some are no numbers', async () => {
    const logits = [...new Random(2).floats(200)].map((value, token) => (token % 7 === 0 ? NaN : value));
    const { ids, logprobs } = await drawAll(device, [{ logits, logprobs: 4 }]);
    const seen = logits.map((value) => (Number.isNaN(value) ? -3.4e38 : value));
    expectLogprobs(logprobs[0]!, seen, ids[0]!, 4);
  });
});

describe('log probabilities of the distribution that is sampled from', () => {
  it('all that changes logits counts, then the temperature', async () => {
    const logits = [...new Random(5).floats(331)].map((value) => 3 * value);
    const draw: Draw = {
      logits,
      temperature: 1.7,
      presence: 1,
      counts: [[4, 2]],
      biases: [[17, 2]],
      logprobs: 8,
    };
    const { ids, logprobs } = await drawAll(device, [draw], 1, { tempered: true });
    const changed = logits.map((value, token) => value + (token === 17 ? 2 : 0) - (token === 4 ? 1 : 0));
    expectLogprobs(
      logprobs[0]!,
      changed.map((value) => value / 1.7),
      ids[0]!,
      8,
    );
  });

  it('greedy is temperature 1', async () => {
    const logits = [...new Random(6).floats(331)];
    const { ids, logprobs } = await drawAll(device, [{ logits, temperature: 0, logprobs: 3 }], 1, {
      tempered: true,
    });
    expectLogprobs(logprobs[0]!, logits, ids[0]!, 3);
  });
});

it.each([21, 4099])(
  'many workgroups a row find the same to the bit among %i, as GPUs do',
  async (vocabulary) => {
    const logits = [...new Random(7).floats(vocabulary)].map((value, token) =>
      token % 9 === 0 ? NaN : 4 * value,
    );
    const flat = logits.map((value) => Math.round(value));
    const draws = [logits, flat, logits.map(() => -Infinity)].map((row, i): Draw => {
      return { logits: row, temperature: 0.7 * i, logprobs: 20 - i };
    });
    draws.splice(1, 0, { logits });
    for (const tempered of [false, true]) {
      const alone = await drawAll(device, draws, draws.length, { tempered });
      const divided = await drawAll(disguise(device, { profile: 'discrete' }), draws, draws.length, {
        tempered,
      });
      expect(divided.logprobs).toEqual(alone.logprobs);
      expect(divided.logprobs[0]!.best.length).toBe(20);
    }
  },
);
