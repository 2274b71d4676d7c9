// Rows of the embedding in every format: of given tokens and of those last sampled, from one window and from several.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { FROM_INPUT, FROM_SLOT, ROW_WORDS, TOKEN_TYPE } from '../../src/kernels/batch.ts';
import { embed } from '../../src/kernels/embed.ts';
import { type FormatName as Format } from '../../src/kernels/formats.ts';
import { stacked } from '../../src/kernels/matrix.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { batchOf, compute, Random, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { packMatrix, weightsFor } from './packed.ts';

const VOCABULARY = 401;
/** Slots and the tokens that were last sampled in them. */
const SAMPLED = [400, 3, 127];
/** First and last tokens of groups of 32, and one token from each slot. */
const SOURCES = [
  0,
  400,
  31,
  32,
  63,
  64,
  127,
  128,
  129,
  255,
  256,
  3,
  131,
  FROM_SLOT + 2,
  FROM_SLOT,
  FROM_SLOT + 1,
];
const TOKENS = SOURCES.map((source) => (source >= FROM_SLOT ? SAMPLED[source - FROM_SLOT]! : source));

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

async function embedded(on: Device, format: Format, k: number, scale: number) {
  const values = weightsFor(format, VOCABULARY, k, new Random(k));
  const matrix = packMatrix(on, format, k, stacked([{ name: 'embedding', rows: VOCABULARY }]), values);
  const rows = new Uint32Array(SOURCES.length * ROW_WORDS);
  SOURCES.forEach((source, i) => rows.set([source, 0, 0, 0], i * ROW_WORDS));
  const batch = batchOf(on, { rows: upload(on, rows), sampled: upload(on, Uint32Array.from(SAMPLED)) });
  const y = await compute({
    device: on,
    capacity: { rows: 16 },
    sizes: { rows: SOURCES.length },
    record: (tape) => embed(tape, batch, matrix, { scale }),
  });
  return { y, values, windows: matrix.windows.length };
}

for (const format of ['f32', 'f16', 'bf16', 'int8', 'int4'] as const) {
  it.each([1, 31, 32, 33, 131])(`${format}, %i columns`, async (k) => {
    const { y, values } = await embedded(device, format, k, 0.5);
    y.forEach((row, i) => {
      const wanted = Array.from(values.subarray(TOKENS[i]! * k, (TOKENS[i]! + 1) * k), (value) => value / 2);
      if (format !== 'int8') return expect(Array.from(row)).toEqual(wanted);
      // A scale of 1/127 of the extreme is exact except for its division.
      wanted.forEach((value, d) => expectBelow(Math.abs(row[d]! - value), 1e-6));
    });
  });

  it(`${format} in windows`, async () => {
    const k = format === 'int4' ? 1280 : 320;
    const limit = format === 'int8' ? 64 << 10 : 256 << 10;
    const { y, values, windows } = await embedded(disguise(device, { bindingLimit: limit }), format, k, 1);
    expect(windows).toBeGreaterThan(1);
    const error = y.map((row, i) =>
      row.reduce((most, got, d) => Math.max(most, Math.abs(got - values[TOKENS[i]! * k + d]!)), 0),
    );
    expect(Math.max(...error)).toBeLessThan(format === 'int8' ? 1e-6 : 1e-30);
  });
}

it.each([
  { k: 33, typed: false },
  { k: 64, typed: true },
  { k: 131, typed: true },
  { k: 36, typed: true, placed: false },
])(
  'rows of an input buffer beside tokens, with learned positions and types: %j',
  async ({ k, typed, placed = true }) => {
    const narrow = disguise(device, { bindingLimit: 64 << 10 });
    const random = new Random(k);
    const values = weightsFor('f32', VOCABULARY, k, random);
    const matrix = packMatrix(narrow, 'f32', k, stacked([{ name: 'embedding', rows: VOCABULARY }]), values);
    expect(matrix.windows.length).toBeGreaterThan(1);
    const stride = Math.ceil(k / 32) * 32;
    const inputs = new Float32Array(3 * stride);
    const given = Array.from({ length: 3 }, (_, i) => {
      const row = random.floats(k);
      inputs.set(row, i * stride);
      return row;
    });
    const [learned, types] = [random.floats(9 * k), random.floats(2 * k)];
    // Source, position and token type of each row.
    const entries = [
      [400, 0, 0],
      [FROM_INPUT + 2, 1, 0],
      [FROM_INPUT, 2, 1],
      [FROM_SLOT + 1, 6, 1],
      [FROM_INPUT + 1, 6, 0],
    ] as const;
    const rows = Uint32Array.from(
      entries.flatMap(([source, position, type]) => [source, position, 5 + type * TOKEN_TYPE, 0]),
    );
    const batch = batchOf(narrow, {
      rows: upload(narrow, rows),
      sampled: upload(narrow, Uint32Array.from(SAMPLED)),
      inputs: upload(narrow, inputs),
    });
    const positions = narrow.tensor('weights', 'positions', [9, k], learned);
    const y = await compute({
      device: narrow,
      capacity: { rows: 16 },
      sizes: { rows: entries.length },
      record: (tape) =>
        embed(tape, batch, matrix, {
          scale: 0.5,
          places: {
            ...(placed && { positions, first: 2 }),
            ...(typed && { types: narrow.tensor('weights', 'types', [2, k], types) }),
          },
        }),
    });
    const token = (id: number): Float32Array =>
      values.subarray(id * k, (id + 1) * k).map((value) => value / 2);
    const wanted = [token(400), given[2]!, given[0]!, token(SAMPLED[1]!), given[1]!];
    y.forEach((row, i) =>
      row.forEach((value, d) => {
        const learnt = !placed ? 0 : learned[(2 + entries[i]![1]) * k + d]!;
        const place = typed ? Math.fround(learnt + types[entries[i]![2] * k + d]!) : learnt;
        expect(value).toBe(Math.fround(wanted[i]![d]! + place));
      }),
    );
  },
);
