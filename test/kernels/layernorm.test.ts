import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { layernorm, layernormRows } from '../../src/kernels/layernorm.ts';
import { rmsnorm } from '../../src/kernels/rmsnorm.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, differingRows, Random } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';

const EPS = 1e-5;
/** Tolerance for values around 1. */
const TOLERANCE = 4e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

interface Problem {
  items: number;
  tokens: number;
  columns: number;
  x: Float32Array;
  weight: Float32Array;
  bias: Float32Array;
  /** Rows of [shift, scale], each padded to quads. */
  modulation: Float32Array;
  chunk: number;
}

function problem(items: number, tokens: number, columns: number): Problem {
  const random = new Random(items * 10000 + columns);
  const chunk = Math.ceil(columns / 4) * 4;
  return {
    items,
    tokens,
    columns,
    chunk,
    x: random.floats(items * tokens * columns).map((value) => value + 0.5),
    weight: random.floats(columns),
    bias: random.floats(columns),
    modulation: random.floats(items * 2 * chunk),
  };
}

type Kind = 'rms' | 'layer';

interface Wanted {
  kind: Kind;
  affine: boolean;
  shift: boolean;
  scale: boolean;
}

function reference(of: Problem, row: number, { kind, affine, shift, scale }: Wanted): number[] {
  const { columns, chunk } = of;
  const x = Array.from(of.x.subarray(row * columns, (row + 1) * columns));
  const mean = kind === 'rms' ? 0 : x.reduce((sum, value) => sum + value, 0) / columns;
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / columns;
  const item0 = Math.floor(row / of.tokens) * 2 * chunk;
  return x.map((value, i) => {
    let y = (value - mean) / Math.sqrt(variance + EPS);
    if (affine) y = y * of.weight[i]! + (kind === 'rms' ? 0 : of.bias[i]!);
    if (scale) y *= 1 + of.modulation[item0 + chunk + i]!;
    return shift ? y + of.modulation[item0 + i]! : y;
  });
}

function run(on: Device, of: Problem, { kind, affine, shift, scale }: Wanted): Promise<Float32Array[]> {
  const weight = on.tensor('weights', 'weight', [of.columns], of.weight);
  const bias = on.tensor('weights', 'bias', [of.columns], of.bias);
  return compute({
    device: on,
    capacity: {},
    sizes: {},
    record(_, input) {
      const x = input([of.items, of.tokens, of.columns], of.x);
      const both = scale ? input([of.items, 2 * of.chunk], of.modulation) : null;
      const modulation = both && {
        shift: shift ? { x: both, first: 0 } : null,
        scale: { x: both, first: of.chunk },
      };
      if (kind === 'rms') return rmsnorm(x, weight, EPS, modulation);
      return layernorm(x, affine ? { weight, bias } : null, EPS, modulation);
    },
  });
}

function expectRight(of: Problem, wanted: Wanted, y: Float32Array[]): void {
  expect(y.length).toBe(of.items * of.tokens);
  const worst = y.map((row, i) => {
    const right = reference(of, i, wanted);
    return row.reduce((most, value, d) => {
      const error = Math.abs(value - right[d]!) / (1 + Math.abs(right[d]!));
      return Math.max(most, error);
    }, 0);
  });
  expect(worst.filter((error) => !(error < TOLERANCE))).toEqual([]);
}

const COLUMNS = [1, 3, 31, 32, 33, 128, 131, 1027];

describe.each([
  { kind: 'layer', affine: true, shift: false, scale: false },
  { kind: 'layer', affine: false, shift: false, scale: false },
  { kind: 'layer', affine: true, shift: false, scale: true },
  { kind: 'layer', affine: false, shift: true, scale: true },
  { kind: 'rms', affine: true, shift: false, scale: true },
  { kind: 'rms', affine: true, shift: true, scale: true },
] as const)('$kind norm, weights $affine, shift $shift, scale $scale', (wanted) => {
  it.each(COLUMNS)('%i columns', async (columns) => {
    const of = problem(2, 5, columns);
    expectRight(of, wanted, await run(device, of, wanted));
  });

  // A row that 64 lanes of a GPU hold, and one that 256 lanes read again.
  it.each([131, 4099])('%i columns over the lanes of GPUs', async (columns) => {
    const of = problem(2, 2, columns);
    expectRight(of, wanted, await run(disguise(device, { profile: 'discrete' }), of, wanted));
  });

  it('in strips of 256 KiB', async () => {
    const of = problem(3, 301, 97);
    const narrow = disguise(device, { bindingLimit: 256 << 10 });
    const y = await run(narrow, of, wanted);
    expectRight(of, wanted, y);
    expect(differingRows(y, await run(device, of, wanted))).toEqual([]);
  });
});

it('values far from zero keep their differences', async () => {
  const values = Float32Array.from({ length: 64 }, (_, i) => 4096 + i / 16);
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => layernorm(input([1, 64], values), null, 0),
  });
  const spread = Math.sqrt((64 * 64 - 1) / 12) / 16;
  y[0]!.forEach((value, i) => expectCloseTo(value, (i / 16 - 63 / 32) / spread, 4));
});

it('chosen rows are as among all', async () => {
  const of = problem(1, 7, 67);
  const weight = device.tensor('weights', 'weight', [67], of.weight);
  const bias = device.tensor('weights', 'bias', [67], of.bias);
  const all = await run(device, of, { kind: 'layer', affine: true, shift: false, scale: false });
  const chosen = [6, 0, 6, 3];
  const index = device.tensor('step', 'index', [4], Uint32Array.from(chosen));
  const some = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => layernormRows(input([1, 7, 67], of.x), { weight, bias }, EPS, index, index.columns),
  });
  expect(
    differingRows(
      some,
      chosen.map((row) => all[row]!),
    ),
  ).toEqual([]);
});

it('chosen rows of more rows than a binding holds, each from any part', async () => {
  const of = problem(1, 300, 67);
  const narrow = disguise(device, { bindingLimit: 16 << 10 });
  const weight = narrow.tensor('weights', 'weight', [67], of.weight);
  const bias = narrow.tensor('weights', 'bias', [67], of.bias);
  const all = await run(device, of, { kind: 'layer', affine: true, shift: false, scale: false });
  const chosen = Array.from({ length: 300 }, (_, i) => (i * 131) % 300);
  const index = narrow.tensor('step', 'index', [300], Uint32Array.from(chosen));
  const some = await compute({
    device: narrow,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      layernormRows(input([1, 300, 67], of.x), { weight, bias }, EPS, index, index.columns),
  });
  expect(
    differingRows(
      some,
      chosen.map((row) => all[row]!),
    ),
  ).toEqual([]);
});
