// The gated delta rule against its recurrence in f64: ragged batches, steps of any length, states from earlier steps.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { StateSlots } from '../../src/kernels/batch.ts';
import { deltaState, gatedDelta, type DeltaHeads } from '../../src/kernels/gated-delta.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { batchOf, compute, differingRows, poison, Random, upload } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const SLOTS = 6;
/** Values of a slot before and behind the states of the heads. */
const [BEFORE, BEHIND] = [8, 4];
const TOLERANCE = 2e-5;

interface Problem extends DeltaHeads {
  run: number;
  logarithms: boolean;
  /** [text][token][columns], [text][token][2 · heads] */
  texts: { qkv: Float32Array[]; gates: Float32Array[] }[];
  rates: Float32Array;
  offsets: Float32Array;
}

type Form = Partial<DeltaHeads> & { run?: number; logarithms?: boolean };

function problem(lengths: number[], form: Form = {}): Problem {
  const shape = { keyHeads: 2, keyDims: 32, heads: 4, dims: 16, tiled: false, logarithms: true, ...form };
  const { keyHeads, keyDims, heads, dims, logarithms } = shape;
  const random = new Random(keyDims * 100 + dims + lengths.length);
  const columns = 2 * keyHeads * keyDims + heads * dims;
  const rates = Float32Array.from({ length: heads }, () => -(0.02 + 3 * random.next() ** 2));
  return {
    run: heads,
    ...shape,
    texts: lengths.map((tokens) => ({
      qkv: Array.from({ length: tokens }, () => random.floats(columns)),
      // Gates from closed to open, and decays from almost none to forgetting at once.
      gates: Array.from({ length: tokens }, () => random.floats(2 * heads).map((gate) => 6 * gate)),
    })),
    rates: logarithms ? rates.map((rate) => Math.log(-rate)) : rates,
    offsets: random.floats(heads),
  };
}

/** Tokens `first` to `end` - 1 of a text, in a slot. */
interface Part {
  text: number;
  slot: number;
  first: number;
  end: number;
}

const whole = ({ texts }: Problem): Part[] =>
  texts.map(({ qkv }, text) => ({ text, slot: SLOTS - 1 - text, first: 0, end: qkv.length }));

function slotsFor(on: Device, of: DeltaHeads): StateSlots {
  const values = upload(on, new Float32Array(SLOTS * (BEFORE + deltaState(of) + BEHIND)));
  poison(on, values);
  return { kind: 'slot', values };
}

async function step(on: Device, of: Problem, store: StateSlots, parts: Part[]): Promise<Float32Array[]> {
  const rows = parts.flatMap(({ first, end }, sequence) =>
    Array.from({ length: end - first }, (_, i) => [0, first + i, 0, sequence]).flat(),
  );
  let row = 0;
  const sequences = parts.flatMap(({ first, end, slot }) => {
    row += end - first;
    return [row - (end - first), end - first, first, slot];
  });
  const batch = batchOf(on, {
    rows: upload(on, Uint32Array.from(rows)),
    sequences: upload(on, Uint32Array.from(sequences)),
  });
  const flat = (member: 'qkv' | 'gates'): Float32Array =>
    Float32Array.from(
      parts.flatMap(({ text, first, end }) =>
        of.texts[text]![member].slice(first, end).flatMap((one) => [...one]),
      ),
    );
  const { heads, run, logarithms } = of;
  const slots = { store, first: BEFORE, stride: BEFORE + deltaState(of) + BEHIND };
  return compute({
    device: on,
    capacity: { rows: row, sequences: SLOTS },
    sizes: { rows: row, sequences: parts.length },
    record: (_, input) => {
      const qkv = input(['rows', flat('qkv').length / row], flat('qkv'));
      const raw = input(['rows', 2 * heads], flat('gates'));
      const rates = on.tensor('weights', 'rates', [heads], of.rates);
      const offsets = on.tensor('weights', 'offsets', [heads], of.offsets);
      return gatedDelta(qkv, { raw, run, rates, logarithms, offsets }, of, batch, slots);
    },
  });
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** Outputs of every token of a text. */
function reference(of: Problem, text: number): number[][] {
  const { keyHeads, keyDims, heads, dims, tiled, run, logarithms } = of;
  const states = Array.from({ length: heads }, () => new Float64Array(keyDims * dims));
  const { qkv, gates } = of.texts[text]!;
  return qkv.map((x, token) =>
    states.flatMap((state, head) => {
      const keyHead = tiled ? head % keyHeads : Math.floor(head / (heads / keyHeads));
      const [q, k] = [0, keyHeads].map((before) => {
        const own = x.subarray((before + keyHead) * keyDims, (before + keyHead + 1) * keyDims);
        const length = Math.sqrt(own.reduce((sum, one) => sum + one * one, 1e-6));
        return Float64Array.from(own, (one) => one / length);
      });
      const v = x.subarray(2 * keyHeads * keyDims + head * dims);
      const gate = Math.floor(head / run) * 2 * run + (head % run);
      const beta = sigmoid(gates[token]![gate]!);
      const rate = logarithms ? -Math.exp(of.rates[head]!) : of.rates[head]!;
      const fade = Math.exp(rate * Math.log1p(Math.exp(gates[token]![gate + run]! + of.offsets[head]!)));
      return Array.from({ length: dims }, (_, column) => {
        let stored = 0;
        for (let d = 0; d < keyDims; d++) stored += k![d]! * (state[d * dims + column]! *= fade);
        let out = 0;
        for (let d = 0; d < keyDims; d++) {
          state[d * dims + column]! += k![d]! * beta * (v[column]! - stored);
          out += (q![d]! / Math.sqrt(keyDims)) * state[d * dims + column]!;
        }
        return out;
      });
    }),
  );
}

function expectRows(of: Problem, parts: Part[], y: Float32Array[]): void {
  const wanted = parts.flatMap(({ text, first, end }) => reference(of, text).slice(first, end));
  expect(y.length).toBe(wanted.length);
  const largest = Math.max(...wanted.flat().map(Math.abs));
  const errors = wanted.map((row, i) =>
    Math.max(...row.map((value, column) => Math.abs(y[i]![column]! - value))),
  );
  expect(errors.findIndex((error) => !(error < TOLERANCE * largest))).toBe(-1);
}

describe.each(['cpu', 'discrete'] as const)('the scan on the profile %s', (profile) => {
  it.each<Form>([
    { keyDims: 128, dims: 36, heads: 2 },
    { keyDims: 12, dims: 20, keyHeads: 1, heads: 3 },
    { keyDims: 12, dims: 4, keyHeads: 3, heads: 6, tiled: true, logarithms: false },
    { keyDims: 32, dims: 8, heads: 8, run: 4 },
  ])('prompts of 1 to 65 tokens, %o', async (form) => {
    const of = problem([1, 63, 64, 65, 8, 9], form);
    const on = disguise(device, { profile });
    const parts = whole(of);
    expectRows(of, parts, await step(on, of, slotsFor(on, of), parts));
  });

  it('a long prompt, at once and in pieces beside others that begin, go on and end', async () => {
    const of = problem([200, 40, 3]);
    const on = disguise(device, { profile });
    const store = slotsFor(on, of);
    const steps: Part[][] = [
      [
        { text: 0, slot: 4, first: 0, end: 61 },
        { text: 1, slot: 0, first: 0, end: 1 },
      ],
      [
        { text: 1, slot: 0, first: 1, end: 2 },
        { text: 2, slot: 2, first: 0, end: 3 },
        { text: 0, slot: 4, first: 61, end: 130 },
      ],
      [
        { text: 0, slot: 4, first: 130, end: 200 },
        { text: 1, slot: 0, first: 2, end: 40 },
      ],
    ];
    for (const parts of steps) expectRows(of, parts, await step(on, of, store, parts));
    const alone = [{ text: 0, slot: 1, first: 0, end: 200 }];
    expectRows(of, alone, await step(on, of, slotsFor(on, of), alone));
  });

  it('a batch gives the bits of its sequences alone', async () => {
    const of = problem([17, 1, 30]);
    const on = disguise(device, { profile });
    const together = await step(on, of, slotsFor(on, of), whole(of));
    const each = [];
    for (const part of whole(of)) each.push(...(await step(on, of, slotsFor(on, of), [part])));
    expect(differingRows(together, each)).toEqual([]);
  });

  it('steps of any length give the bits of one step', async () => {
    const of = problem([43]);
    const on = disguise(device, { profile });
    const atOnce = await step(on, of, slotsFor(on, of), whole(of));
    for (const length of [1, 3, 13]) {
      const store = slotsFor(on, of);
      const pieces = [];
      for (let first = 0; first < 43; first += length) {
        const end = Math.min(43, first + length);
        pieces.push(...(await step(on, of, store, [{ text: 0, slot: 3, first, end }])));
      }
      expect(differingRows(pieces, atOnce)).toEqual([]);
    }
  });
});

it('the state stays in registers on every profile without subgroups', async () => {
  const of = problem([21, 2]);
  const on = disguise(device, { profile: 'cpu', portable: true });
  const [own, registers] = [on, disguise(device, { profile: 'discrete' })].map((one) =>
    step(one, of, slotsFor(one, of), whole(of)),
  );
  expect(differingRows(await own!, await registers!)).toEqual([]);
});

it('heads that do not divide the columns are a mistake of the caller', async () => {
  const of = problem([2]);
  await expect(step(device, { ...of, keyHeads: 3 }, slotsFor(device, of), whole(of))).rejects.toThrow(
    'gatedDelta: 3 key heads of 32 and 4 value heads of 16 in 192 columns',
  );
});
