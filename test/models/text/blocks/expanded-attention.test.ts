// Prompts over expanded keys and values: the logits of transformers, as the absorbed form has them, and the same bits in segments of any size.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../../../src/gpu/device.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import { openForward, type ForwardOptions } from '../../forward.ts';
import { openGolden, ropeLength, type Golden, type GoldenCase } from '../../golden.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

/** Logits of all rows, `rows` per step. */
async function logitsOf(
  on: Device,
  { folder }: Golden,
  of: GoldenCase,
  options: ForwardOptions,
): Promise<Float32Array[]> {
  const forward = await openForward(on, folder, { ...options, overrides: of.config });
  const logits: Float32Array[] = [];
  while (logits.length < of.input_ids.length) {
    const ids = of.input_ids.slice(logits.length, logits.length + (options.rows ?? 64));
    logits.push(...(await forward.step(ids, (position) => ropeLength(of, position))));
  }
  forward.close();
  return logits;
}

async function worstError(golden: Golden, of: GoldenCase, logits: Float32Array[]): Promise<number> {
  const wanted = await golden.logits(of.name);
  return of.positions.reduce((worst, position, i) => {
    const row = wanted[i]!;
    const scale = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const errors = row.map((value, token) => Math.abs(value - logits[position]![token]!) / scale);
    return errors.reduce((most, error) => Math.max(most, error), worst);
  }, 0);
}

// Keys and values as one matrix, with queries projected at once, and with a norm between.
it.each(['deepseek-v2', 'deepseek-v3'])(
  '%s: chunks of a prompt in segments of one page to four',
  async (checkpoint) => {
    const golden = openGolden(checkpoint);
    const of = golden.cases[0]!;
    const whole = await logitsOf(device, golden, of, { segmentPages: 4 });
    expect(await worstError(golden, of, whole)).toBeLessThan(1e-4);
    const absorbed = await logitsOf(device, golden, of, {});
    expect(absorbed).not.toEqual(whole); // sums in other orders
    for (const segmentPages of [1, 3])
      expect(await logitsOf(device, golden, of, { segmentPages })).toEqual(whole);
    const chunks = await logitsOf(device, golden, of, { rows: 19, segmentPages: 1 });
    expect(await worstError(golden, of, chunks)).toBeLessThan(1e-4);
  },
);
