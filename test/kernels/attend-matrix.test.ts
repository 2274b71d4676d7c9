// Dense attention on matrix units, whose fragments lanes compute here: against sums in f64, and bit by bit against itself.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ATTENTION_CASES } from '../../src/engine/check/attention-cases.ts';
import { KernelInputs } from '../../src/engine/check/kernel-inputs.ts';
import type { Device } from '../../src/gpu/device.ts';
import { fragmentParams, type MatrixUnit } from '../../src/gpu/matrix-units.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { attendMatrixTile } from '../../src/kernels/attend-matrix.ts';
import { tileParams } from '../../src/kernels/softmax-tile.ts';
import { openNullDevice, validate } from '../gpu/null-device.ts';
import { disguise, hasF16, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { problem, reference, run, type Problem } from './attend-problem.ts';
import { differingRows, Random } from './compute.ts';
import { MATRIX_UNITS as UNITS } from './matrix-units.ts';

vi.setConfig({ testTimeout: 120_000 });

let device: Device;
/** With fragments as those of Intel's, in tiles of 64 queries. */
let small: Device;
beforeAll(async () => {
  device = await openTestDevice();
  small = withUnit(UNITS['intel Arc A']);
});
afterAll(() => device.destroy());

function withUnit(unit: MatrixUnit, as: Disguise = {}): Device {
  return disguise(device, {
    profile: 'discrete',
    sharedTiles: 1,
    matrixUnit: { ...unit, emulated: true },
    ...as,
  });
}

/** Inputs that f16 holds, so that scores are exact. Items have numbers of keys: software adapters take seconds to compile another variant. */
function exactProblem(given: Parameters<typeof problem>[0]): Problem {
  const of = problem(given);
  const random = new Random(of.queries);
  const halves = (values: Float32Array): Float32Array => values.map(() => (random.integer(255) - 127) / 64);
  const { keyCounts = Array.from({ length: of.items }, () => of.keys) } = given;
  return { ...of, keyCounts, q: halves(of.q), kv: halves(of.kv) };
}

/** Values are below 2 and weights are rounded by 2⁻¹¹ of themselves; their sum is that of the weights before. */
const TOLERANCE = 2 ** -10;

function worstError(of: Problem, y: Float32Array[]): number {
  const wanted = reference(of);
  return y.reduce(
    (worst, row, i) =>
      row.reduce((most, value, d) => {
        const error = Math.abs(value - wanted[i]![d]!);
        return Math.max(most, error);
      }, worst),
    0,
  );
}

describe.skipIf(!(await hasF16()))('attention on matrix units of an adapter with f16', () => {
  it('a query is right, and the same with others beside it', async () => {
    const of = exactProblem({ queries: 70, keys: 77, dims: 32, heads: 1 });
    const all = await run(small, of);
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    const few = { ...of, queries: 64, q: of.q.subarray(0, 64 * 32) };
    expect(differingRows(await run(small, few), all.slice(0, 64))).toEqual([]);
  });

  it('scores that grow from block to block', async () => {
    const dims = 32;
    const of = exactProblem({ queries: 64, keys: 161, dims, heads: 1, scale: 0.5 });
    for (let key = 0; key < of.keys; key++) of.kv.fill((key - 80) / 32, key * 2 * dims, key * 2 * dims + 8);
    expect(worstError(of, await run(small, of))).toBeLessThan(TOLERANCE);
  });

  it('keys of each item, causal, shared heads; an item is the same alone in other tiles and where a binding holds one item, and so are parts of its queries', async () => {
    const of = exactProblem({
      ...{ items: 2, queries: 65, keys: 66, dims: 24, heads: 4, kvHeads: 2 },
      ...{ keyCounts: [66, 37], causal: true },
    });
    const all = await run(small, of);
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    expect(differingRows(await run(small, { ...of, mostWork: 1 }), all)).toEqual([]);
    const inOthers = withUnit(UNITS['intel Arc A'], { sharedTiles: 9 });
    expect(differingRows(await run(inOthers, of, 1, 2), all.slice(65))).toEqual([]);
    const oneItemBound = withUnit(UNITS['intel Arc A'], { bindingLimit: 70 << 10 });
    expect(differingRows(await run(oneItemBound, of), all)).toEqual([]);
  });

  it('values beyond f16 and far below it are as exact as others', async () => {
    const dims = 32;
    const of = exactProblem({ queries: 64, keys: 66, dims, heads: 1 });
    const usual = await run(small, of);
    const factors = [2 ** 60, 2 ** -60];
    const q = of.q.map((value, i) => value * 2 ** 40 * factors[Math.floor(i / dims) % 2]!);
    const far = await run(small, { ...of, q, kv: scaled(of.kv, dims, [2 ** -100, 1]) });
    const even = far.filter((_, i) => i % 2 === 0);
    expect(
      differingRows(
        even,
        usual.filter((_, i) => i % 2 === 0),
      ),
    ).toEqual([]);
    expect(far.every((row) => row.every(Number.isFinite))).toBe(true);
    for (const factor of [2 ** 110, 2 ** -50]) {
      const y = await run(small, { ...of, kv: scaled(of.kv, dims, [1, factor]) });
      const back = y.map((row) => row.map((value) => value / factor));
      expect(worstError(of, back)).toBeLessThan(TOLERANCE);
    }
    const none = await run(small, { ...of, kv: new Float32Array(of.kv.length) });
    expect(none.every((row) => row.every((value) => value === 0))).toBe(true);
  });
});

/** Keys and values by factors of their own. */
function scaled(kv: Float32Array, dims: number, [key, value]: [key: number, value: number]): Float32Array {
  return kv.map((number, i) => number * (Math.floor(i / dims) % 2 === 0 ? key : value));
}

it.each<{
  as?: Disguise;
  unit?: MatrixUnit;
  dims?: number;
  queries?: number;
  heads?: number;
  rows: number | null;
}>([
  { rows: 64 },
  { heads: 2, queries: 128, as: { sharedTiles: 5 }, rows: 32 },
  { dims: 128, rows: 64 },
  { dims: 128, unit: UNITS.apple, as: { workgroupBytes: 32 << 10 }, rows: 32 },
  { dims: 256, as: { workgroupBytes: 64 << 10 }, rows: 32 },
  { dims: 512, as: { workgroupBytes: 64 << 10 }, rows: null },
  { queries: 63, rows: null },
  { as: { workgroupBytes: 16 << 10 }, rows: null },
  { as: { deterministic: true }, rows: null },
  { as: { profile: 'cpu' }, rows: null },
])(
  'queries of a workgroup: %j',
  ({ as, unit = UNITS.nvidia, dims = 64, queries = 4096, heads = 10, rows }) => {
    const tape = new Tape(withUnit(unit, { workgroupBytes: 48 << 10, ...as }), {});
    expect(attendMatrixTile(tape, { queries, keys: 77, heads, dims })?.tile.rows ?? null).toBe(rows);
    tape.destroy();
  },
);

let on: Device;
beforeAll(async () => void (on = await openNullDevice()));
afterAll(() => on.destroy());

it.each(Object.entries(UNITS))('%s compiles heads of all sizes', async (_, unit) => {
  on.capabilities.matrixUnit = unit;
  for (const dims of unit.subgroup < 32 ? [40, 64, 128] : [40, 64, 72, 80, 96, 128, 160, 256]) {
    const { tile } = attendMatrixTile(new Tape(on, {}), { queries: 4096, keys: 77, heads: 10, dims })!;
    const params = { ...fragmentParams(unit), ...tileParams(tile), KEYS: 'all' };
    expect(await validate(on, 'attend-matrix.wgsl', params)).toEqual([]);
  }
});

it('svc doctor checks it, and attention of prompts on matrix units', () => {
  Object.assign(on.capabilities, { matrixUnit: UNITS.nvidia, lanes: 8 });
  const kernels = ATTENTION_CASES.map(({ name, sizes, decodes = [], prepare }) => {
    const inputs = new KernelInputs(on);
    const tape = new Tape(on, sizes, { decodes });
    prepare(inputs).record(tape);
    tape.finish();
    const names = tape.encodables(sizes).map((one) => one.name);
    tape.destroy();
    inputs.free();
    return [name, names.at(-1)];
  });
  expect(Object.fromEntries(kernels)).toMatchObject({
    'attention of images': 'attend-matrix.wgsl',
    'attention of images, few queries': 'attend-shared.wgsl',
    'paged attention, rows of a prompt': 'attention-prompt-matrix.wgsl',
  });
});
