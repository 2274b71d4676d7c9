// The short convolution against sums in f64: sequences that begin, that go on from their slots, and steps shorter than the taps.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { StateMover } from '../../src/engine/text/kv/state-mover.ts';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { paddedColumns } from '../../src/gpu/tensor.ts';
import type { StateSlots } from '../../src/kernels/batch.ts';
import { shortConv, shortConvState } from '../../src/kernels/short-conv.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { batchOf, compute, POISON, poison, Random, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const SLOTS = 5;
const TOLERANCE = 1e-6;

interface Problem {
  columns: number;
  taps: number;
  /** [columns][taps] */
  weight: Float32Array;
  /** [sequence][token][columns] */
  texts: Float32Array[][];
  slots: StateSlots;
}

function problem(columns: number, taps: number): Problem {
  const random = new Random(columns * 10 + taps);
  const texts = [9, 4, 12].map((tokens) => Array.from({ length: tokens }, () => random.floats(columns)));
  const values = upload(device, new Float32Array(SLOTS * shortConvState(taps, columns)));
  poison(device, values);
  return { columns, taps, weight: random.floats(taps * columns), texts, slots: { kind: 'slot', values } };
}

/** Tokens `first` to `end` - 1 of a text, in a slot. */
interface Part {
  text: number;
  slot: number;
  first: number;
  end: number;
}

async function step(
  { columns, weight, taps, texts, slots }: Problem,
  parts: Part[],
): Promise<Float32Array[]> {
  let row = 0;
  const rows: number[] = [];
  const sequences = parts.flatMap(({ first, end, slot }, sequence) => {
    for (let token = first; token < end; token++) rows.push(0, token, 0, sequence);
    row += end - first;
    return [row - (end - first), end - first, first, slot];
  });
  const batch = batchOf(device, {
    rows: upload(device, Uint32Array.from(rows)),
    sequences: upload(device, Uint32Array.from(sequences)),
  });
  const x = Float32Array.from(
    parts.flatMap(({ text, first, end }) => texts[text]!.slice(first, end).flatMap((of) => [...of])),
  );
  return compute({
    device,
    capacity: { rows: 32, sequences: SLOTS },
    sizes: { rows: row, sequences: parts.length },
    record: (_, input) =>
      shortConv(
        input(['rows', columns], x),
        device.tensor('weights', 'taps', [columns, taps], weight),
        batch,
        slots,
      ),
  });
}

function reference({ columns, taps, weight, texts }: Problem, text: number, token: number): number[] {
  return Array.from({ length: columns }, (_, column) => {
    let sum = 0;
    for (let j = 0; j < taps; j++) {
      const at = token - taps + 1 + j;
      if (at >= 0) sum += weight[column * taps + j]! * texts[text]![at]![column]!;
    }
    return sum;
  });
}

function expectRows(of: Problem, parts: Part[], y: Float32Array[]): void {
  const tokens = parts.flatMap(({ text, first, end }) =>
    Array.from({ length: end - first }, (_, i) => [text, first + i] as const),
  );
  expect(y.length).toBe(tokens.length);
  tokens.forEach(([text, token], row) =>
    reference(of, text, token).forEach((wanted, column) =>
      expectBelow(Math.abs(y[row]![column]! - wanted), TOLERANCE),
    ),
  );
}

it.each([
  { columns: 1, taps: 2 },
  { columns: 33, taps: 3 },
  { columns: 131, taps: 4 },
])('$columns columns, $taps taps', async ({ columns, taps }) => {
  const of = problem(columns, taps);
  const steps: Part[][] = [
    [
      { text: 0, slot: 4, first: 0, end: 5 },
      { text: 1, slot: 0, first: 0, end: 1 },
    ],
    [
      { text: 1, slot: 0, first: 1, end: 2 },
      { text: 2, slot: 2, first: 0, end: 10 },
      { text: 0, slot: 4, first: 5, end: 7 },
    ],
    [
      { text: 2, slot: 2, first: 10, end: 11 },
      { text: 0, slot: 4, first: 7, end: 9 },
      { text: 1, slot: 0, first: 2, end: 4 },
    ],
  ];
  for (const parts of steps) expectRows(of, parts, await step(of, parts));
});

it('a sum begins with the bias of its column', async () => {
  const of = problem(33, 3);
  const bias = new Random(5).floats(33);
  const x = Float32Array.from(of.texts[1]!.flatMap((row) => [...row]));
  const y = await compute({
    device,
    capacity: { rows: 4, sequences: 1 },
    sizes: { rows: 4, sequences: 1 },
    record: (_, input) =>
      shortConv(
        input(['rows', 33], x),
        device.tensor('weights', 'taps', [33, 3], of.weight),
        batchOf(device, {
          rows: upload(device, new Uint32Array(16)),
          sequences: upload(device, Uint32Array.of(0, 4, 0, 0)),
        }),
        of.slots,
        { bias: device.tensor('weights', 'bias', [33], bias) },
      ),
  });
  y.forEach((row, token) =>
    reference(of, 1, token).forEach((sum, column) =>
      expectBelow(Math.abs(row[column]! - sum - bias[column]!), TOLERANCE),
    ),
  );
});

it('a sequence goes back to a copy of its state, in another slot too', async () => {
  const of = problem(40, 4);
  const states = new StateMover(device, [of.slots], SLOTS, 2);
  expect(states.bytes).toBe(4 * 3 * paddedColumns(40));
  await step(of, [{ text: 2, slot: 1, first: 0, end: 6 }]);
  states.move([{ from: { slot: 1 }, to: { copy: 1 } }]);
  const parts: Part[] = [{ text: 2, slot: 1, first: 6, end: 9 }];
  const once = await step(of, parts);
  expectRows(of, parts, once);
  for (const slot of [1, 3]) {
    states.move([{ from: { copy: 1 }, to: { slot } }]);
    expect(await step(of, [{ ...parts[0]!, slot }])).toEqual(once);
  }
});

it('columns in groups, an activation, a slot with another state behind', async () => {
  const [groups, runs, gap, taps] = [2, [8, 4, 12] as const, 4, 4];
  const stride = 24 + gap;
  const columns = groups * 24;
  const random = new Random(7);
  const weight = random.floats(taps * columns);
  const x = Array.from({ length: 5 }, () => random.floats(groups * stride));
  const slotValues = shortConvState(taps, columns) + 16;
  const values = upload(device, new Float32Array(3 * slotValues));
  poison(device, values);
  const run = (first: number, end: number): Promise<Float32Array[]> =>
    compute({
      device,
      capacity: { rows: 8, sequences: 1 },
      sizes: { rows: end - first, sequences: 1 },
      record: (_, input) =>
        shortConv(
          input(['rows', groups * stride], Float32Array.from(x.slice(first, end).flatMap((row) => [...row]))),
          device.tensor('weights', 'taps', [columns, taps], weight),
          batchOf(device, {
            rows: upload(device, new Uint32Array(4 * (end - first))),
            sequences: upload(device, Uint32Array.of(0, end - first, first, 2)),
          }),
          { kind: 'slot', values },
          { activation: 'silu', slotValues, grouped: { groups, stride, runs } },
        ),
    });
  const y = [...(await run(0, 2)), ...(await run(2, 5))];
  // Columns of x in the order of the result's.
  const firsts = [0, runs[0], runs[0] + runs[1]];
  const order = runs.flatMap((length, nth) =>
    Array.from(
      { length: groups * length },
      (_, i) => Math.floor(i / length) * stride + firsts[nth]! + (i % length),
    ),
  );
  const of = { columns, taps, weight, texts: [x.map((row) => Float32Array.from(order, (at) => row[at]!))] };
  y.forEach((row, token) =>
    reference({ ...of, slots: { kind: 'slot', values } }, 0, token).forEach((sum, column) =>
      expectBelow(Math.abs(row[column]! - sum / (1 + Math.exp(-sum))), TOLERANCE),
    ),
  );
  const slots = new Uint32Array(await device.read(values));
  const isPoison = (word: number): boolean => word === POISON;
  expect(slots.subarray(0, 2 * slotValues).every(isPoison)).toBe(true);
  expect(slots.subarray(3 * slotValues - 16).every(isPoison)).toBe(true);
});

it('weights of other columns are a mistake of the caller', () => {
  const x = new Tape(device, { rows: 1 }).tensor(['rows', 8]);
  const weight = device.tensor('weights', 'taps', [9, 4], new Float32Array(36));
  const { slots } = problem(8, 3);
  expect(() => shortConv(x, weight, batchOf(device, {}), slots)).toThrow('weights of [9, 4] for 8 columns');
});
