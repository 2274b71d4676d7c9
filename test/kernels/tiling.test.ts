// Every tiling of a product computes the same bits, so that tuning changes no token and no image.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Variant } from '../../src/gpu/tuning.ts';
import { linear } from '../../src/kernels/matmul.ts';
import { stacked } from '../../src/kernels/matrix.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { problem as attention, run as attend } from './attend-problem.ts';
import { compute, differingRows, Random } from './compute.ts';
import { problem, run } from './conv-problem.ts';
import { packMatrix, weightsFor } from './packed.ts';

/** Five kernels a case are compiled. */
vi.setConfig({ testTimeout: 300_000 });

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

type Compute = () => Promise<Float32Array[]>;

/** Returns the result of each index of variants, with the variant that it selected; the first one first. */
async function allPlaces(on: Device, run: Compute): Promise<{ variant: string; y: Float32Array[] }[]> {
  const made: { variant: string; y: Float32Array[] }[] = [];
  const choose = on.tuning.choose.bind(on.tuning);
  let chosen: Variant = {};
  on.tuning.choose = (key, variants) => {
    const variant = choose(key, variants);
    chosen = variant;
    return variant;
  };
  for (let place = 0, places = 1; place < places; place++) {
    await on.tuning.trying(place, async (trial) => {
      made.push({ y: await run(), variant: JSON.stringify(chosen) });
      places = trial.places;
    });
  }
  on.tuning.choose = choose;
  return made;
}

async function expectSameBits(on: Device, run: Compute, least: number): Promise<void> {
  const [first, ...others] = await allPlaces(on, run);
  expect(new Set(others.map(({ variant }) => variant)).size).toBeGreaterThanOrEqual(least);
  expect(others.map(({ variant }) => variant)).not.toContain(first!.variant);
  for (const { variant, y } of others) expect(differingRows(y, first!.y), variant).toEqual([]);
}

/** With a GPU's profile, a product's k's are shared out among parts of a workgroup. */
const ADAPTERS: Disguise[] = [{}, { profile: 'integrated' }, { profile: 'discrete' }];

// The largest tiles take long to compile, least for f16.
it.each([
  ...ADAPTERS.map((as) => ({ ...as, rows: 4, format: 'int4' as const })),
  { rows: 50, format: 'int4' as const },
  { profile: 'discrete' as const, rows: 50, format: 'f16' as const },
])('matmul, %j', async ({ rows, format, ...as }) => {
  const on = disguise(device, as);
  const [n, k] = [300, 130];
  const random = new Random(rows);
  const parts = stacked([{ name: 'w', rows: n }]);
  const matrix = packMatrix(on, format, k, parts, weightsFor(format, n, k, random));
  const x = random.floats(rows * k);
  const once: Compute = () =>
    compute({
      device: on,
      capacity: { rows },
      sizes: { rows },
      record: (_, input) => linear(input(['rows', k], x), matrix),
    });
  await expectSameBits(on, once, rows > 16 ? 2 : 1);
});

it.each<Disguise & { winograd?: boolean }>([{ profile: 'discrete' }, { winograd: true }, {}])(
  'convolution, %j',
  async (of) => {
    const { winograd = false, ...as } = of;
    const on = disguise(device, as);
    const given = problem(on, { winograd, batch: 2, height: 9, width: 7, channels: 40, out: 150 });
    await expectSameBits(on, () => run(on, given), 2);
  },
);

it('dense attention', async () => {
  const on = disguise(device, { profile: 'discrete', sharedTiles: 1 });
  const given = attention({ items: 2, queries: 70, keys: 77, dims: 64 });
  await expectSameBits(on, () => attend(on, given), 1);
});
