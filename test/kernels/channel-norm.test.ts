import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { channelNorm } from '../../src/kernels/channel-norm.ts';
import { conv2d } from '../../src/kernels/conv2d.ts';
import { channelNormConv } from '../../src/kernels/norm-conv.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { differingRows, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { computeImages, packConv } from './images.ts';

const TOLERANCE = 3e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1, 1, 1, true],
  [2, 3, 5, 24, false],
  [1, 7, 11, 133, true],
])('%i × %i × %i × %i, SiLU %s', async (batch, height, width, channels, silu) => {
  const random = new Random(channels);
  const count = batch * height * width;
  const x = random.floats(count * channels);
  x.fill(0, 0, channels); // the norm of zeros is zeros
  const gains = random.floats(channels);
  const run = (on: Device) =>
    computeImages(on, (input) =>
      channelNorm(input([batch, height, width, channels], x), {
        weight: on.tensor('weights', 'norm', [channels], gains),
        activation: silu ? 'silu' : 'none',
      }),
    );
  const found = await run(device);
  expect(found.length).toBe(count);
  found.forEach((row, i) => {
    const values = x.subarray(i * channels, (i + 1) * channels);
    const rate = Math.sqrt(channels) / Math.max(1e-12, Math.hypot(...values));
    row.forEach((value, k) => {
      const normed = values[k]! * rate * gains[k]!;
      const wanted = silu ? normed / (1 + Math.exp(-normed)) : normed;
      expectBelow(Math.abs(value - wanted), TOLERANCE * (1 + Math.abs(wanted)));
    });
  });
  for (const as of [{ bindingLimit: 16 << 10 }, { maxWorkgroups: 3 }])
    expect(differingRows(await run(disguise(device, as)), found)).toEqual([]);
});

it('a norm without weights, also before a convolution', async () => {
  const [shape, channels] = [[1, 5, 7, 43], 43];
  const random = new Random(44);
  const x = random.floats(35 * channels);
  const ones = new Float32Array(channels).fill(1);
  const weighted = (on: Device) => ({ weight: on.tensor('weights', 'norm', [channels], ones) });
  for (const as of [{}, { bindingLimit: 256 << 10 }]) {
    const on = disguise(device, as);
    const conv = packConv(on, { format: 'f32', out: 8, channels, kernel: 3, hasBias: true }, new Random(45));
    const [plain, wanted] = [
      await computeImages(on, (input) => channelNorm(input(shape, x), { eps: 1e-8 })),
      await computeImages(on, (input) => channelNorm(input(shape, x), { ...weighted(on), eps: 1e-8 })),
    ];
    expect(plain).toEqual(wanted);
    const [convolved, wantedConv] = [
      await computeImages(on, (input) => channelNormConv(input(shape, x), { eps: 1e-8 }, conv.matrix, {})),
      await computeImages(on, (input) =>
        channelNormConv(input(shape, x), { ...weighted(on), eps: 1e-8 }, conv.matrix, {}),
      ),
    ];
    expect(convolved).toEqual(wantedConv);
  }
});

it.each(['none', 'relu'] as const)('a norm with a bias and eps, %s, added in place', async (activation) => {
  const [shape, channels] = [[2, 5, 7, 43], 43];
  const random = new Random(43);
  const count = 2 * 5 * 7;
  const [x, before] = [random.floats(count * channels), random.floats(count * channels)];
  x.fill(1e-3, 0, channels); // of the size of eps
  const [gains, shifts] = [random.floats(channels), random.floats(channels)];
  const eps = 1e-5;
  const run = (on: Device, adds: boolean) =>
    computeImages(on, (input) => {
      const norm = {
        weight: on.tensor('weights', 'norm', [channels], gains),
        bias: on.tensor('weights', 'bias', [channels], shifts),
        eps,
        activation,
      };
      return channelNorm(input(shape, x), norm, adds ? input(shape, before) : undefined);
    });
  for (const adds of [false, true]) {
    const found = await run(device, adds);
    found.forEach((row, i) => {
      const values = x.subarray(i * channels, (i + 1) * channels);
      const rate = 1 / Math.sqrt(values.reduce((sum, value) => sum + value ** 2, 0) / channels + eps);
      row.forEach((value, k) => {
        const normed = values[k]! * rate * gains[k]! + shifts[k]!;
        const wanted =
          (activation === 'relu' ? Math.max(0, normed) : normed) + (adds ? before[i * channels + k]! : 0);
        expectBelow(Math.abs(value - wanted), TOLERANCE * (1 + Math.abs(wanted)));
      });
    });
    expect(differingRows(await run(disguise(device, { bindingLimit: 16 << 10 }), adds), found)).toEqual([]);
  }
});

it.each([undefined, 1, 5])(
  'a convolution behind it in strips of %s rows gives equal bits',
  async (stripRows) => {
    const shape = [2, 13, 9, 40];
    const random = new Random(13);
    const { matrix } = packConv(
      device,
      { format: 'f16', out: 33, channels: 40, kernel: 3, hasBias: true, winograd: true },
      random,
    );
    const norm = {
      weight: device.tensor('weights', 'norm', [40], random.floats(40)),
      activation: 'silu' as const,
    };
    const x = random.floats(2 * 13 * 9 * 40);
    const apart = await computeImages(device, (input) => conv2d(channelNorm(input(shape, x), norm), matrix));
    const fused = await computeImages(device, (input) =>
      channelNormConv(input(shape, x), norm, matrix, { stripRows }),
    );
    expect(differingRows(fused, apart)).toEqual([]);
  },
);
