// The selective scan against its recurrence in f64: ragged batches, steps of any length, states from earlier steps.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { StateSlots } from '../../src/kernels/batch.ts';
import { scanState, selectiveScan, type ScanHeads } from '../../src/kernels/selective-scan.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { batchOf, compute, differingRows, poison, Random, upload } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const SLOTS = 6;
/** Values of a slot before and behind the states of the heads. */
const [BEFORE, BEHIND] = [8, 4];
/** Columns of the steps' tensor before the steps. */
const FIRST = 3;
const TOLERANCE = 2e-5;

interface Form extends Partial<ScanHeads> {
  logarithms?: boolean;
  factor?: number;
  limits?: [number, number];
  /** Steps before softplus lie between its negative and it; left out: 6. */
  spread?: number;
}

type Problem = ScanHeads &
  Required<Form> & {
    /** [text][token][columns], [text][token][FIRST + heads] */
    texts: { x: Float32Array[]; steps: Float32Array[] }[];
    rates: Float32Array;
    offsets: Float32Array;
    skips: Float32Array;
  };

function problem(lengths: number[], form: Form = {}): Problem {
  const standard = { heads: 4, dims: 16, groups: 2, stateDims: 32, logarithms: true, factor: 1, spread: 6 };
  const shape = { ...standard, limits: [0, Infinity] as [number, number], ...form };
  const { heads, dims, groups, stateDims } = shape;
  const random = new Random(stateDims * 100 + dims + lengths.length);
  const rates = Float32Array.from({ length: heads }, () => -(0.02 + 3 * random.next() ** 2));
  return {
    ...shape,
    texts: lengths.map((tokens) => ({
      x: Array.from({ length: tokens }, () => random.floats(heads * dims + 2 * groups * stateDims)),
      // Steps from almost none to forgetting at once.
      steps: Array.from({ length: tokens }, () =>
        random.floats(FIRST + heads).map((step) => shape.spread * step),
      ),
    })),
    rates: shape.logarithms ? rates.map((rate) => Math.log(-rate)) : rates,
    offsets: random.floats(heads),
    skips: random.floats(heads),
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
  texts.map(({ x }, text) => ({ text, slot: SLOTS - 1 - text, first: 0, end: x.length }));

function slotsFor(on: Device, of: ScanHeads): StateSlots {
  const values = upload(on, new Float32Array(SLOTS * (BEFORE + scanState(of) + BEHIND)));
  poison(on, values);
  return { kind: 'slot', values };
}

interface Step {
  on: Device;
  of: Problem;
  store: StateSlots;
  /** Whether the rows are decode rows. */
  decodes?: boolean;
}

async function step({ on, of, store, decodes = false }: Step, parts: Part[]): Promise<Float32Array[]> {
  let row = 0;
  const sequences = parts.flatMap(({ first, end, slot }) => {
    row += end - first;
    return [row - (end - first), end - first, first, slot];
  });
  const rows = parts.flatMap(({ first, end }, i) =>
    Array.from({ length: end - first }, (_, nth) => [0, first + nth, 0, i]).flat(),
  );
  const batch = batchOf(on, {
    sequences: upload(on, Uint32Array.from(sequences)),
    rows: upload(on, Uint32Array.from(rows)),
  });
  const flat = (member: 'x' | 'steps'): Float32Array =>
    Float32Array.from(
      parts.flatMap(({ text, first, end }) =>
        of.texts[text]![member].slice(first, end).flatMap((one) => [...one]),
      ),
    );
  const { heads, logarithms, factor, limits } = of;
  const slots = { store, first: BEFORE, stride: BEFORE + scanState(of) + BEHIND };
  return compute({
    device: on,
    decodes: decodes ? ['rows'] : [],
    capacity: { rows: row, sequences: SLOTS },
    sizes: { rows: row, sequences: parts.length },
    record: (_, input) => {
      const vector = (name: 'rates' | 'offsets' | 'skips') => on.tensor('weights', name, [heads], of[name]);
      return selectiveScan(
        input(['rows', flat('x').length / row], flat('x')),
        {
          raw: input(['rows', FIRST + heads], flat('steps')),
          first: FIRST,
          factor,
          limits,
          logarithms,
          rates: vector('rates'),
          offsets: vector('offsets'),
          skips: vector('skips'),
        },
        of,
        batch,
        slots,
      );
    },
  });
}

/** Outputs of every token of a text. */
function reference(of: Problem, text: number): number[][] {
  const { heads, dims, groups, stateDims, logarithms, factor, limits } = of;
  const states = Array.from({ length: heads }, () => new Float64Array(stateDims * dims));
  const { x, steps } = of.texts[text]!;
  return x.map((row, token) =>
    states.flatMap((state, head) => {
      const b = heads * dims + Math.floor(head / (heads / groups)) * stateDims;
      const c = b + groups * stateDims;
      const raw = factor * steps[token]![FIRST + head]! + of.offsets[head]!;
      const size = Math.min(Math.max(Math.log1p(Math.exp(raw)), limits[0]), limits[1]);
      const fade = Math.exp(size * (logarithms ? -Math.exp(of.rates[head]!) : of.rates[head]!));
      return Array.from({ length: dims }, (_, column) => {
        const value = row[head * dims + column]!;
        let out = of.skips[head]! * value;
        for (let d = 0; d < stateDims; d++) {
          const at = d * dims + column;
          state[at] = fade * state[at]! + row[b + d]! * size * value;
          out += row[c + d]! * state[at];
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
    { stateDims: 136, dims: 36, heads: 2, groups: 1 },
    { stateDims: 12, dims: 20, heads: 3, groups: 3, logarithms: false },
    { stateDims: 16, dims: 4, heads: 6, groups: 3, factor: 0.5, limits: [0.3, 1.5] },
  ])('prompts of 1 to 17 tokens, %o', async (form) => {
    const of = problem([1, 7, 8, 9, 17], form);
    const on = disguise(device, { profile });
    const parts = whole(of);
    expectRows(of, parts, await step({ on, of, store: slotsFor(on, of) }, parts));
  });

  it('a long prompt in pieces beside others that begin, go on and end', async () => {
    const of = problem([90, 20, 3]);
    const on = disguise(device, { profile });
    const store = slotsFor(on, of);
    const steps: Part[][] = [
      [
        { text: 0, slot: 4, first: 0, end: 31 },
        { text: 1, slot: 0, first: 0, end: 1 },
      ],
      [
        { text: 1, slot: 0, first: 1, end: 2 },
        { text: 2, slot: 2, first: 0, end: 3 },
        { text: 0, slot: 4, first: 31, end: 60 },
      ],
      [
        { text: 0, slot: 4, first: 60, end: 90 },
        { text: 1, slot: 0, first: 2, end: 20 },
      ],
    ];
    for (const parts of steps) expectRows(of, parts, await step({ on, of, store }, parts));
  });

  it('steps of any length and batches give the bits of one step', async () => {
    const of = problem([27, 1, 30]);
    const on = disguise(device, { profile });
    const together = await step({ on, of, store: slotsFor(on, of) }, whole(of));
    const atOnce = together.slice(0, 27);
    for (const length of [1, 3, 13]) {
      const store = slotsFor(on, of);
      const pieces = [];
      for (let first = 0; first < 27; first += length) {
        const end = Math.min(27, first + length);
        pieces.push(...(await step({ on, of, store }, [{ text: 0, slot: 3, first, end }])));
      }
      expect(differingRows(pieces, atOnce)).toEqual([]);
    }
  });
});

/** A shape that prompts on GPUs compute in chunks of 32 rows. */
const CHUNKED = { heads: 2, dims: 36, groups: 1, stateDims: 136 };

describe('prompts in chunks', () => {
  it.each<Form>([
    CHUNKED,
    { ...CHUNKED, heads: 6, dims: 68, groups: 2, logarithms: false, limits: [0.3, 1.5] },
    { ...CHUNKED, spread: 100 },
    { ...CHUNKED, spread: 1e-3, factor: 1e-3 },
  ])('texts of 1 to 97 tokens beside each other, %o', async (form) => {
    const of = problem([33, 1, 97, 31, 64], form);
    const on = disguise(device, { profile: 'discrete' });
    const parts = whole(of);
    expectRows(of, parts, await step({ on, of, store: slotsFor(on, of) }, parts));
  });

  it('steps that are cut between chunks, and other texts beside them, give the bits of one step', async () => {
    const of = problem([100, 45], CHUNKED);
    const on = disguise(device, { profile: 'discrete' });
    const atOnce = await step({ on, of, store: slotsFor(on, of) }, whole(of));
    for (const cuts of [[64], [32, 96]]) {
      const store = slotsFor(on, of);
      const pieces = [];
      for (const [i, end] of [...cuts, 100].entries()) {
        const other = { text: 1, slot: 2, first: 0, end: 33 };
        const parts = [...(i === 0 ? [other] : []), { text: 0, slot: 3, first: cuts[i - 1] ?? 0, end }];
        pieces.push(...(await step({ on, of, store }, parts)).slice(i === 0 ? 33 : 0));
      }
      expect(differingRows(pieces, atOnce.slice(0, 100))).toEqual([]);
    }
  });

  it('decode rows and steps that begin within a chunk go on from its states', async () => {
    const of = problem([120], CHUNKED);
    const on = disguise(device, { profile: 'discrete' });
    const store = slotsFor(on, of);
    for (const [first, end] of [
      [0, 40],
      [40, 80],
      [80, 120],
    ] as const) {
      const parts = [{ text: 0, slot: 1, first, end }];
      expectRows(of, parts, await step({ on, of, store, decodes: first === 80 }, parts));
    }
  });

  it('are scanned row by row where their states are above the binding limit', async () => {
    const of = problem([224], { ...CHUNKED, heads: 6 });
    const on = disguise(device, { profile: 'discrete', bindingLimit: 800_000 });
    const rows = await step({ on, of, store: slotsFor(on, of) }, whole(of));
    const decoded = await step({ on, of, store: slotsFor(on, of), decodes: true }, whole(of));
    expect(differingRows(rows, decoded)).toEqual([]);
  });
});

it('heads that groups do not divide are a mistake of the caller', async () => {
  const of = problem([2]);
  const wrong = { on: device, of: { ...of, groups: 3 }, store: slotsFor(device, of) };
  await expect(step(wrong, whole(of))).rejects.toThrow(
    'selectiveScan: 4 heads of 16 and 3 groups of 32 in 192 columns, steps from 3 on of 7',
  );
});
