// Work beyond the profile's bound is divided among dispatches, with the bits of one dispatch.

import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { CPU, PROFILES } from '../../src/gpu/adapter-profile.ts';
import type { Device } from '../../src/gpu/device.ts';
import type { Dispatch } from '../../src/gpu/dispatch.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Sizes } from '../../src/gpu/tensor.ts';
import { attend } from '../../src/kernels/attend.ts';
import { tileStrips } from '../../src/kernels/dispatch-work.ts';
import { linear } from '../../src/kernels/matmul.ts';
import { stacked } from '../../src/kernels/matrix.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import * as attentions from './attention-problem.ts';
import { compute, differingRows, Random } from './compute.ts';
import * as convolutions from './conv-problem.ts';
import { packMatrix, weightsFor } from './packed.ts';

vi.setConfig({ testTimeout: 120_000 });

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

type Run = (on: Device) => Promise<Float32Array[]>;

/** Runs without and with a bound, of which the work is `times` as much, and expects equal bits of at least so many dispatches of a kernel. */
async function expectDivided(
  run: Run,
  as: Disguise,
  work: number,
  times: number,
  least = { whole: 1, divided: times },
): Promise<void> {
  const whole = await dispatchesOf(() => run(disguise(device, { ...as, dispatchWork: Infinity })));
  const divided = await dispatchesOf(() =>
    run(disguise(device, { ...as, dispatchWork: Math.ceil(work / times) })),
  );
  expect(differingRows(divided.y, whole.y)).toEqual([]);
  expect(whole.count).toBe(least.whole);
  expect(divided.count).toBeGreaterThanOrEqual(least.divided);
}

/** Number of dispatches that are not empty. */
async function dispatchesOf(
  run: () => Promise<Float32Array[]>,
): Promise<{ y: Float32Array[]; count: number }> {
  const recorded = vi.spyOn(Tape.prototype, 'dispatch');
  const replayed = vi.spyOn(Tape.prototype, 'run');
  onTestFinished(() => void vi.restoreAllMocks());
  recorded.mockClear();
  replayed.mockClear();
  const y = await run();
  // Earlier tapes have packed weights.
  const tape = replayed.mock.contexts.at(-1);
  const [sizes] = replayed.mock.calls.at(-1)!;
  const dispatches = recorded.mock.calls.filter((_, i) => recorded.mock.contexts[i] === tape);
  const isRun = ({ groups }: Dispatch): boolean => groups(sizes).every((count) => count !== 0);
  return { y, count: dispatches.filter(([, dispatch]) => isRun(dispatch)).length };
}

const TILED: Disguise = { profile: 'discrete', sharedTiles: 1 };

it.each<Disguise>([TILED, { profile: 'integrated', deterministic: true }, { portable: true }])(
  'rows of a product, %j',
  async (as) => {
    const [rows, n, k] = [150, 96, 130];
    const random = new Random(1);
    const weights = weightsFor('int4', n, k, random);
    const x = random.floats(rows * k);
    const run: Run = (on) => {
      const matrix = packMatrix(on, 'int4', k, stacked([{ name: 'w', rows: n }]), weights);
      return compute({
        device: on,
        capacity: { rows: 160 },
        sizes: { rows },
        record: (_, input) => linear(input(['rows', k], x), matrix),
      });
    };
    await expectDivided(run, as, 160 * n * k, 2);
  },
);

it.each<Disguise>([TILED, { portable: true }])('pixels of a convolution, %j', async (as) => {
  const of = { batch: 2, height: 9, width: 7, channels: 40, out: 36 };
  const run: Run = (on) => convolutions.run(on, convolutions.problem(on, of));
  await expectDivided(run, as, 2 * 9 * 7 * 9 * 40 * 36, 3);
});

it('queries of images', async () => {
  const [items, queries, keys, dims] = [2, 70, 20, 40];
  const random = new Random(2);
  const [q, kv] = [queries, keys].map((count) => random.floats(items * count * dims));
  const run: Run = (on) =>
    compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) => {
        const [of, to] = [input([items, queries, dims], q!), input([items, keys, dims], kv!)];
        return attend({ x: of, first: 0 }, { x: to, first: 0 }, { x: to, first: 0 }, { heads: 1, dims });
      },
    });
  await expectDivided(run, { profile: 'integrated' }, 2 * items * queries * keys * dims, 4);
});

it.each<Disguise>([
  { profile: 'discrete' },
  // Its kernel is that of GPUs with --deterministic, in the form that other tests compile.
  { profile: 'cpu' },
  { profile: 'discrete', portable: true },
])('tiles of a prompt, %j', async (as) => {
  const { portable } = as;
  const shape = { heads: 4, kvHeads: 2, dims: 16 };
  const capacity = { rows: 48, tiles: 48, tileRows: 16, contextPages: 24 };
  const run: Run = (on) =>
    attentions.run(on, attentions.problem(on, shape, 'f16', null, attentions.LONG_SEQUENCES), capacity);
  // Five tiles of this step, each taken for a full one of the longest context.
  const tile = 2 * 16 * 4 * 16 * 32 * 24;
  await expectDivided(run, as, 4 * tile, portable ? 4 : 5);
});

it('rows after a prompt', async () => {
  const shape = { heads: 4, kvHeads: 2, dims: 16 };
  const capacity = { rows: 8, tiles: 8, tileRows: 16, contextPages: 24 };
  const run: Run = (on) => {
    const of = attentions.problem(on, shape, 'f16', null, attentions.LONG_SEQUENCES);
    return attentions.run(on, of, capacity, [0, 1, 5, 13, 14, 20, 34], true);
  };
  // A dispatch for two rows of the longest context, and one that merges its chunks.
  const row = 2 * 4 * 16 * 32 * 24;
  await expectDivided(run, { profile: 'discrete' }, 8 * row, 4, { whole: 2, divided: 8 });
});

it('a context within the bound is one dispatch, on a tape that divides longer ones', () => {
  const on = disguise(device, { profile: 'discrete', dispatchWork: 100 });
  const capacity = { rows: 64, tiles: 64, tileRows: 16, contextPages: 100 };
  const strips = tileStrips(new Tape(on, capacity), ({ contextPages = 0 }) => contextPages);
  const counts = (sizes: Sizes): number[] => strips.map(({ count }) => count(sizes)).filter((n) => n > 0);
  expect(counts({ tiles: 5, contextPages: 20 })).toEqual([5]);
  expect(counts({ tiles: 5, contextPages: 21 })).toEqual([1, 1, 1, 1, 1]);
  for (const tiles of [1, 8, 9, 40, 64]) {
    const given = counts({ tiles, contextPages: 100 });
    expect(given.reduce((sum, count) => sum + count, 0)).toBe(tiles);
  }
});

it('CPU adapters divide nothing, and no GPU computes longer than drivers wait', () => {
  expect(CPU.dispatchWork).toBeNull();
  for (const profile of PROFILES.filter((one) => one !== CPU)) {
    // One convolution of 1024 × 1024 pixels and 256 channels.
    expect(profile.dispatchWork!).toBeLessThan(1024 * 1024 * 9 * 256 * 256);
  }
});
