// Low-rank adapters beside a matmul, against sums in f64: parts with ranks of their own, rows of several adapters and of none; and
// bit by bit against each other, since a request's tokens must not depend on who runs beside it.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { linear } from '../../src/kernels/matmul.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { compute, differingRows, Random, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { expectRight, problem, run, type Wanted } from './lora-problem.ts';
import { activations, roundedRows } from './rounded-rows.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** Rows of three adapters and without one, in mixed order. */
const ROWS = [2, null, 0, 0, 1, null, 2, 1, 1, 0, null, null, 2, 0, 1, 2, 0, null, 1];

/** Sizes: one, primes, just over a quad and a workgroup; one adapter leaves a part unchanged. */
const PROBLEMS: Record<string, Omit<Wanted, 'adapterOf'>> = {
  'one part': { parts: [7], k: 33, ranks: [[1], [5], [4]] },
  'a single output of a single input': { parts: [1], k: 1, ranks: [[3], [1], [8]] },
  'three parts': {
    parts: [67, 13, 5],
    k: 97,
    ranks: [
      [4, 8, 33],
      [0, 3, 0],
      [16, 0, 1],
    ],
  },
  'into a residual': { store: 'add', parts: [129], k: 61, ranks: [[33], [2], [0]] },
  'before an activation': { store: 'gelu', parts: [34], k: 61, ranks: [[9], [2], [0]] },
  'gate and up': {
    store: 'swiglu',
    parts: [66, 66],
    k: 35,
    ranks: [
      [8, 0],
      [5, 7],
      [0, 12],
    ],
  },
  'beside int8': {
    format: 'int8',
    parts: [40, 24],
    k: 64,
    ranks: [
      [8, 8],
      [3, 9],
      [0, 16],
    ],
  },
};

const VARIANTS: { name: string; as: Disguise }[] = [
  { name: 'the adapter as it is', as: {} },
  { name: 'without subgroups', as: { portable: true } },
  { name: 'rows of a decode step on a GPU', as: { profile: 'discrete', matvecRows: 2 } },
];

for (const { name, as } of VARIANTS) {
  it.each(Object.entries(PROBLEMS))(`${name}: %s`, async (_, wanted) => {
    const on = disguise(device, as);
    const of = problem(on, { ...wanted, adapterOf: ROWS });
    const all = await run(on, of, 48);
    expectRight(of, all);
    // The results are the same in any batch.
    for (const [from, to, capacity] of [
      [0, 1, 1],
      [4, 8, 4],
      [3, 19, 16],
    ] as const)
      expect(differingRows(await run(on, of, capacity, from, to), all.slice(from, to))).toEqual([]);
  });
}

it('factors multiply rows as they are where products round them to 8 bits', async () => {
  const on = disguise(device, { profile: 'discrete', matvecRows: 2, activations: 'int8' });
  const of = problem(on, { ...PROBLEMS['beside int8']!, adapterOf: ROWS });
  const rows = activations(ROWS.length, of.k, new Random(5));
  // Rounding does not change these.
  const exact = Float32Array.from(roundedRows(rows, of.k));
  expectRight({ ...of, x: exact }, await run(on, { ...of, x: exact }, 48));
  // The parts that adapters make up are those of floats.
  const lora = of.matrix.lora;
  const adapted = await run(on, { ...of, x: rows }, 48);
  of.matrix.lora = null;
  const plain = await run(on, { ...of, x: rows }, 48);
  const floats = disguise(device, { profile: 'discrete', matvecRows: 2 });
  const zeros = problem(floats, { ...PROBLEMS['beside int8']!, adapterOf: ROWS });
  const byFloats = await run(floats, { ...zeros, x: rows }, 48);
  zeros.matrix.lora = null;
  const plainFloats = await run(floats, { ...zeros, x: rows }, 48);
  of.matrix.lora = lora;
  adapted.forEach((row, i) =>
    row.forEach((value, at) => {
      const part = byFloats[i]![at]! - plainFloats[i]![at]!;
      expectBelow(Math.abs(value - plain[i]![at]! - part), 1e-4 * (1 + Math.abs(value)));
    }),
  );
  expect(differingRows(plain, plainFloats)).toHaveLength(ROWS.length);
});

it('rows beyond one binding are walked in strips', async () => {
  const wanted: Wanted = {
    format: 'bf16',
    parts: [7],
    k: 400,
    ranks: [[1], [5], [4]],
    adapterOf: ROWS,
  };
  const narrow = disguise(device, { bindingLimit: 32 << 10 });
  const y = await run(narrow, problem(narrow, wanted), 48);
  expectRight(problem(narrow, wanted), y);
  expect(differingRows(y, await run(device, problem(device, wanted), 48))).toEqual([]);
});

it('rows without an adapter are what they are without any', async () => {
  const of = problem(device, { ...PROBLEMS['three parts']!, adapterOf: ROWS });
  const all = await run(device, of, 32);
  of.matrix.lora = null;
  const plain = await run(device, of, 32);
  const none = ROWS.flatMap((adapter, row) => (adapter === null ? [row] : []));
  expect(differingRows(all, plain)).toEqual(ROWS.flatMap((_, row) => (none.includes(row) ? [] : [row])));
});

it('rows must be those that adapters are told of', async () => {
  const of = problem(device, { ...PROBLEMS['one part']!, adapterOf: [0] });
  await expect(
    compute({
      device,
      capacity: { others: 1 },
      sizes: { others: 1 },
      adapters: upload(device, new Uint32Array(1)),
      record: (_, input) => linear(input(['others', of.k], of.x), of.matrix),
    }),
  ).rejects.toThrow('[others, 33]');
});
