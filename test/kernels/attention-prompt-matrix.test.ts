// Paged attention of prompts on matrix units, whose fragments lanes compute here: against a softmax in f64, and bit by bit against the same row
// beside others.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { MatrixUnit } from '../../src/gpu/matrix-units.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { promptMatrixKernel } from '../../src/kernels/attention-prompt-matrix.ts';
import type { KvFormat } from '../../src/kernels/batch.ts';
import { openNullDevice, validate } from '../gpu/null-device.ts';
import { disguise, hasF16, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { CAPACITY, problem, reference, run, SEQUENCES, type Problem } from './attention-problem.ts';
import { differingRows } from './compute.ts';
import { MATRIX_UNITS } from './matrix-units.ts';

vi.setConfig({ testTimeout: 120_000 });

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

function withUnit(unit: MatrixUnit, as: Disguise = {}): Device {
  return disguise(device, { profile: 'discrete', matrixUnit: { ...unit, emulated: true }, ...as });
}

/** Keys and values are numbers of f16, and queries are rounded to some; weights are rounded by 2⁻¹¹ of themselves, and values are below 1. */
const TOLERANCE = 2 ** -11;

function exactProblem(
  on: Device,
  shape: Problem['shape'],
  window: number | null,
  format: KvFormat = 'f16',
): Problem {
  const of = problem(on, shape, format, window, SEQUENCES);
  return { ...of, q: of.q.map((value) => Math.round(256 * value) / 256) };
}

function worstError(of: Problem, y: Float32Array[], isJudged: (row: number) => boolean = () => true): number {
  return y.reduce((worst, got, i) => {
    if (!isJudged(i)) return worst;
    const errors = reference(of, i).map((wanted, at) => Math.abs(got[at]! - wanted));
    return errors.reduce((most, error) => Math.max(most, error), worst);
  }, 0);
}

describe.skipIf(!(await hasF16()))('prompt attention on matrix units of an adapter with f16', () => {
  it('rows are right, and the same with others beside them', async () => {
    const on = withUnit(MATRIX_UNITS.nvidia);
    const of = exactProblem(on, { heads: 8, kvHeads: 2, dims: 32 }, null);
    const all = await run(on, of, CAPACITY);
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    for (const chosen of [[0], [21], [20, 21, 28, 29], [3, 4, 5, 6]])
      expect(
        differingRows(
          await run(on, of, CAPACITY, chosen),
          chosen.map((row) => all[row]!),
        ),
      ).toEqual([]);
  });

  it('pages in int4', async () => {
    const on = withUnit(MATRIX_UNITS.nvidia);
    const of = exactProblem(on, { heads: 8, kvHeads: 2, dims: 20 }, 40, 'int4');
    expect(worstError(of, await run(on, of, CAPACITY))).toBeLessThan(TOLERANCE);
  });

  it('queries far beyond others, and far below', async () => {
    const on = withUnit(MATRIX_UNITS.nvidia);
    const of = exactProblem(on, { heads: 8, kvHeads: 2, dims: 32 }, null);
    const factors = [1, 2 ** 100, 2 ** -60, 16];
    const q = of.q.map((value, i) => value * factors[Math.floor(i / (8 * 32)) % 4]!);
    const y = await run(on, { ...of, q }, CAPACITY);
    expect(y.every((row) => row.every(Number.isFinite))).toBe(true);
    const usual = await run(on, of, CAPACITY);
    const [own, expected] = [y, usual].map((rows) => rows.filter((_, i) => i % 4 === 0));
    expect(differingRows(own!, expected!)).toEqual([]);
    // Scores of the fourth kind exceed those of earlier pages by more than the maximum may lag.
    expect(worstError({ ...of, q }, y, (row) => row % 4 > 1)).toBeLessThan(TOLERANCE);
  });

  it("Intel's fragments: pages in fp8_e4m3, a window, caps, sinks, and spans whose rows see each other", async () => {
    const on = withUnit(MATRIX_UNITS['intel Arc A']);
    const of = {
      ...exactProblem(on, { heads: 2, kvHeads: 2, dims: 20 }, 8, 'fp8_e4m3'),
      ...{ cap: 2, sinks: Float32Array.of(0.5, 6) },
      spans: [
        { sequence: 0, first: 4, end: 12 },
        { sequence: 2, first: 30, end: 33, last: -1 },
      ],
    };
    const all = await run(on, of, CAPACITY);
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    for (const chosen of [
      [2, 3, 4, 5],
      [22, 23],
    ])
      expect(
        differingRows(
          await run(on, of, CAPACITY, chosen),
          chosen.map((row) => all[row]!),
        ),
      ).toEqual([]);
  });
});

const shapeOf = (share: number, dims: number) => ({ heads: 2 * share, kvHeads: 2, dims });

it.each<{ as?: Disguise; share?: number; dims?: number; format?: 'f16' | 'f32'; queries: number | null }>([
  { queries: 64 },
  { share: 2, queries: 32 },
  { share: 1, queries: 16 },
  { share: 7, queries: 64 },
  { dims: 256, queries: 32 },
  { dims: 512, queries: null },
  { format: 'f32', queries: null },
  { as: { deterministic: true }, queries: null },
])('queries of a workgroup: %j', ({ as, share = 4, dims = 128, format = 'f16', queries }) => {
  const tape = new Tape(withUnit(MATRIX_UNITS.nvidia, { workgroupBytes: 48 << 10, ...as }), {});
  expect(promptMatrixKernel(tape, shapeOf(share, dims), format)?.queries ?? null).toBe(queries);
  tape.destroy();
});

let on: Device;
beforeAll(async () => void (on = await openNullDevice()));
afterAll(() => on.destroy());

it.each(Object.entries(MATRIX_UNITS))('%s compiles heads of all sizes', async (_, unit) => {
  on.capabilities.matrixUnit = unit;
  for (const [share, dims] of [
    [1, 64],
    [2, 80],
    [4, 128],
    [8, 256],
  ] as const) {
    const kernel = promptMatrixKernel(new Tape(on, {}), shapeOf(share, dims), 'f16');
    expect(kernel === null).toBe(dims > 128 && unit.subgroup < 32);
    for (const kinds of [
      { SPANS: false, CAP: 'none', SINKS: 'none' },
      { SPANS: true, CAP: 'tanh', SINKS: 'each' },
    ])
      if (kernel) expect(await validate(on, kernel.shader, { ...kernel.params, ...kinds })).toEqual([]);
  }
});
