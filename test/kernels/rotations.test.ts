// cos and sin against f64, and against transformers where that is exact: any position, any frequency, several sets in a step.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { ROW_WORDS } from '../../src/kernels/batch.ts';
import { rotations } from '../../src/kernels/rotations.ts';
import { readConfig } from '../../src/models/config-values.ts';
import { readRope } from '../../src/models/text/blocks/rope-config.ts';
import { inverseFrequencies, ropeSets, ropeWords } from '../../src/models/text/blocks/rope.ts';
import { batchOf, compute, upload } from './compute.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

interface RopeCase {
  name: string;
  config: Record<string, unknown> & { head_dim: number };
  length: number;
  angles?: Record<string, { cos: number[]; sin: number[] }>;
}

const { cases } = JSON.parse(readFileSync(new URL('../golden/rope.json', import.meta.url), 'utf8')) as {
  cases: RopeCase[];
};

/** cos, sin pairs of each row, for (position, length) pairs. */
async function rotate(
  config: RopeCase['config'],
  places: readonly (readonly [number, number])[],
): Promise<Float32Array[]> {
  const rope = readRope(readConfig('config.json', config), config.head_dim);
  const turns = new Uint32Array(rope.dims * places.length);
  const sets = ropeSets([rope], turns);
  const rows = new Uint32Array(places.length * ROW_WORDS);
  places.forEach(([position, length], i) => rows.set([0, position, sets.of(length), 0], i * ROW_WORDS));
  return compute({
    device,
    capacity: { rows: places.length },
    sizes: { rows: places.length },
    record: (tape) =>
      rotations(
        tape,
        batchOf(device, { rows: upload(device, rows), turns: upload(device, turns) }),
        [rope],
        0,
      ),
  });
}

it.each(cases)('$name: every quarter of a turn, near and far', async ({ config, length }) => {
  const rope = readRope(readConfig('config.json', config), config.head_dim);
  const positions = [0, 1, 2, 3, 5, 7, 100, 4095, 65537, 131071, 1048575];
  const y = await rotate(
    config,
    positions.map((position) => [position, length]),
  );
  const frequencies = inverseFrequencies(rope, length);
  let worst = 0;
  positions.forEach((position, row) =>
    frequencies.forEach((frequency, i) => {
      const angle = position * frequency;
      worst = Math.max(
        worst,
        Math.abs(y[row]![2 * i]! - Math.cos(angle) * rope.attentionFactor),
        Math.abs(y[row]![2 * i + 1]! - Math.sin(angle) * rope.attentionFactor),
      );
    }),
  );
  expect(worst).toBeLessThan(4e-7);
});

it.each(cases.filter((of) => of.angles))(
  '$name: as transformers has it',
  async ({ config, length, angles }) => {
    const entries = Object.entries(angles!);
    const y = await rotate(
      config,
      entries.map(([position]) => [Number(position), length]),
    );
    entries.forEach(([position, { cos, sin }], row) => {
      // transformers multiplies in f32: its angle is off by the rounding, which grows with the position.
      const tolerance = 1e-6 + Number(position) * 2 ** -24;
      cos.forEach((wanted, i) => {
        expectBelow(Math.abs(y[row]![2 * i]! - wanted), tolerance);
        expectBelow(Math.abs(y[row]![2 * i + 1]! - sin[i]!), tolerance);
      });
    });
  },
);

it('rows of one step go by the set that their length asks for', async () => {
  const { config } = cases.find(({ name }) => /dynamic/.test(name))!;
  const rope = readRope(readConfig('config.json', config), config.head_dim);
  const lengths = [3, 2 * rope.originalContext, 3 * rope.originalContext, 2 * rope.originalContext];
  const together = await rotate(
    config,
    lengths.map((length) => [5, length]),
  );
  for (const [i, length] of lengths.entries())
    expect(together[i]).toEqual((await rotate(config, [[5, length]]))[0]);
  expect(together[1]).not.toEqual(together[2]);
});

it('sections of the frequencies go by time, height and width, and each table by its own frequencies', async () => {
  const first = {
    ...readRope(readConfig('config.json', { rope_theta: 10000 }), 20),
    sections: [4, 3, 3] as const,
  };
  const second = { ...readRope(readConfig('config.json', { rope_theta: 500 }), 12), attentionFactor: 0.5 };
  // Sections that take turns: time, height, width, time, height, width, then time alone.
  const third = {
    ...readRope(readConfig('config.json', { rope_theta: 2000 }), 16),
    sections: [4, 2, 2] as const,
    interleaved: true,
  };
  const ropes = [first, second, third];
  const places = [
    [0, 0, 0],
    [7, 7, 7],
    [5, 9, 2],
    [4095, 12, 70001],
    [3, 0, 1],
  ] as const;
  const turns = new Uint32Array(ropeWords(ropes));
  expect(ropeSets(ropes, turns).of(10)).toBe(0);
  const batch = batchOf(device, {
    rows: upload(device, Uint32Array.from(places.flatMap(([time]) => [0, time, 0, 0]))),
    planes: upload(device, Uint32Array.from(places.flatMap(([, height, width]) => [height, width]))),
    turns: upload(device, turns),
  });
  const both = await Promise.all(
    [0, 1, 2].map((index) =>
      compute({
        device,
        capacity: { rows: 8 },
        sizes: { rows: places.length },
        record: (tape) => rotations(tape, batch, ropes, index),
      }),
    ),
  );
  ropes.forEach((rope, table) =>
    inverseFrequencies(rope, 10).forEach((frequency, i) =>
      places.forEach(([time, height, width], row) => {
        const parts = [time, height, width] as const;
        const inSections = i < 4 ? time : i < 7 ? height : width;
        const position = [inSections, time, i < 6 ? parts[i % 3]! : time][table]!;
        const [cos, sin] = [2 * i, 2 * i + 1].map((at) => both[table]![row]![at]! / rope.attentionFactor);
        expectBelow(Math.abs(cos! - Math.cos(position * frequency)), 1e-6);
        expectBelow(Math.abs(sin! - Math.sin(position * frequency)), 1e-6);
      }),
    ),
  );
});

it('sections that do not add up, or rows without heights and widths, are a mistake of the caller', () => {
  const tape = new Tape(device, { rows: 1 });
  const table = { dims: 8, attentionFactor: 1, sections: [2, 1, 1] as const };
  expect(() => rotations(tape, batchOf(device, {}), [table], 0)).toThrow('heights and widths');
  const wrong = { ...table, sections: [2, 1, 2] as const };
  expect(() => rotations(tape, batchOf(device, {}), [wrong], 0)).toThrow('sections of 2, 1 and 2 for 4');
});
