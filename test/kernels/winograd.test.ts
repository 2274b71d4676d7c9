// Winograd's convolutions against sums in f64, and bit by bit where batch and strips must not matter.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { differingRows } from './compute.ts';
import { expectRight, problem, run, worstError, type Case } from './conv-problem.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

describe('convolution by Winograd', () => {
  const cases: Case[] = [
    { height: 1, width: 1, channels: 1, out: 1 },
    { height: 1, width: 5, channels: 3, out: 4, batch: 2 },
    {
      height: 7,
      width: 6,
      channels: 37,
      out: 67,
      batch: 3,
      perImage: true,
      residual: true,
      activation: 'silu',
    },
    { height: 8, width: 9, channels: 33, out: 5, batch: 2, hasBias: false, activation: 'relu' },
    { height: 4, width: 3, channels: 5, out: 7, batch: 2, upsample: { height: 7, width: 5 } },
    { height: 5, width: 6, channels: 40, out: 37, residual: true, inPlace: true },
    { height: 7, width: 4, channels: 5, out: 7, batch: 2, padding: 'edges' },
    { height: 6, width: 9, channels: 330, out: 70 }, // more than are held at once
  ];
  it.each(cases)('%j', (given) => expectRight(device, { ...given, winograd: true }));

  it.each<Disguise>([{ lanes: 4 }, { portable: true }, { profile: 'discrete' }])('%j', (as) =>
    expectRight(disguise(device, as), { height: 9, width: 7, channels: 37, out: 40, winograd: true }),
  );

  it('a batch is its images', async () => {
    const of = problem(device, { winograd: true, batch: 3, height: 7, width: 5, channels: 40, out: 37 });
    const all = await run(device, of);
    for (const image of [0, 2]) {
      const alone = await run(device, of, image, image + 1);
      expect(differingRows(alone, all.slice(image * 35, (image + 1) * 35))).toEqual([]);
    }
  });

  it('refuses another stride, and padding on one side', async () => {
    const of = problem(device, { winograd: true, height: 4, width: 4, channels: 5, out: 7 });
    for (const other of [{ stride: 2 as const }, { padding: 'after' as const }]) {
      await expect(run(device, { ...of, ...other })).rejects.toThrow(/for stride 1 and padding all round/);
    }
  });
});

describe('strips where a binding takes 256 KiB', () => {
  const cases: Case[] = [
    {
      height: 41,
      width: 37,
      channels: 40,
      out: 33,
      perImage: true,
      residual: true,
      batch: 2,
      winograd: true,
    },
    { height: 29, width: 31, channels: 33, out: 33, upsample: true, winograd: true },
  ];
  it.each(cases)('%j', async (given) => {
    const narrow = disguise(device, { bindingLimit: 256 << 10 });
    const of = problem(narrow, given);
    const y = await run(narrow, of);
    expect(worstError(of, y)).toBeLessThan(1);
    expect(differingRows(y, await run(device, problem(device, given)))).toEqual([]);
  });
});
