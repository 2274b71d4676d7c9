import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { pixelShuffle, type Shuffle } from '../../src/kernels/pixel-shuffle.ts';
import { pixelUnshuffle } from '../../src/kernels/pixel-unshuffle.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { differingRows, Random } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';
import { computeImages } from './images.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

interface Shape extends Pick<Shuffle, 'factor' | 'order' | 'time' | 'tiled'> {
  batch: number;
  height: number;
  width: number;
  /** Channels of the smaller image, and of the larger one. */
  deep: number;
  flat: number;
}

/** The first has as many values on both sides; in the others channels are repeated, or averaged. */
const SHAPES: Shape[] = [
  { factor: 2, batch: 1, height: 1, width: 1, deep: 12, flat: 3 },
  { factor: 2, batch: 2, height: 5, width: 7, deep: 10, flat: 5 },
  { factor: 2, batch: 1, height: 9, width: 6, deep: 48, flat: 36 },
  { factor: 1, batch: 2, height: 3, width: 5, deep: 11, flat: 44 },
  { factor: 2, batch: 1, height: 5, width: 3, deep: 12, flat: 6, time: { index: 1, of: 2 } },
  { factor: 2, batch: 2, height: 2, width: 3, deep: 24, flat: 3, time: { index: 0, of: 2 } },
  { factor: 2, batch: 1, height: 3, width: 5, deep: 16, flat: 8, time: { index: 1, of: 2 }, tiled: true },
  { factor: 4, batch: 1, height: 3, width: 2, deep: 48, flat: 3, order: 'columns' },
  {
    factor: 2,
    batch: 1,
    height: 4,
    width: 3,
    deep: 16,
    flat: 8,
    order: 'columns',
    time: { index: 1, of: 2 },
  },
  { factor: 2, batch: 2, height: 3, width: 5, deep: 12, flat: 6, order: 'apart' },
  { factor: 2, batch: 1, height: 3, width: 2, deep: 16, flat: 6, order: 'apart', time: { index: 1, of: 2 } },
  { factor: 2, batch: 1, height: 3, width: 2, deep: 24, flat: 3, order: 'apart' },
];

describe.each(SHAPES)('$deep channels and $flat, factor $factor', (of) => {
  const { factor, batch, height, width, deep, flat, order = 'rows', tiled = false } = of;
  const { time = { index: 0, of: 1 } } = of;
  const insideOf = (row: number, column: number): number =>
    order === 'columns' ? column * factor + row : row * factor + column;
  const places = factor ** 2 * time.of;
  const share = (flat * places) / deep;
  const random = new Random(deep);
  const small = [batch, height, width, deep];
  const large = [batch, factor * height, factor * width, flat];
  const count = (shape: number[]) => shape.reduce((product, extent) => product * extent, 1);
  const index = (shape: number[], b: number, r: number, c: number, channel: number) =>
    ((b * shape[1]! + r) * shape[2]! + c) * shape[3]! + channel;
  const [x, before] = [random.floats(count(small)), random.floats(count(large))];

  it.each([false, true])('shuffles, added: %s', async (adds) => {
    const run = (on: Device) =>
      computeImages(on, (input) =>
        pixelShuffle(input(small, x), {
          ...{ factor, order, time, tiled },
          channels: flat,
          ...(adds && { into: input(large, before) }),
        }),
      );
    const found = await run(device);
    const wanted = adds ? Float32Array.from(before) : new Float32Array(count(large));
    for (let i = 0; i < count(large); i++) {
      const channel = i % flat;
      const column = Math.floor(i / flat) % large[2]!;
      const row = Math.floor(i / (flat * large[2]!)) % large[1]!;
      const inside = insideOf(row % factor, column % factor);
      const own = tiled ? channel % (flat / share) : channel;
      const place = own * places + time.index * factor ** 2 + inside;
      const apart =
        (time.index * factor ** 2 + inside) * (deep / places) + Math.floor(channel / Math.max(1, share));
      const at = order === 'apart' ? apart : tiled ? place : Math.floor(place / share);
      const from = [Math.floor(row / factor), Math.floor(column / factor)] as const;
      const image = Math.floor(i / (flat * large[1]! * large[2]!));
      wanted[i]! += x[index(small, image, ...from, at)]!;
    }
    expect(found.flatMap((pixel) => [...pixel])).toEqual([...wanted]);
    for (const as of [{ bindingLimit: 4 << 10 }, { maxWorkgroups: 2 }])
      expect(differingRows(await run(disguise(device, as)), found)).toEqual([]);
  });

  it.runIf((Number.isInteger(share) || order === 'apart') && !tiled).each([false, true])(
    'unshuffles, added: %s',
    async (adds) => {
      const [of, onto] = [before, x];
      const run = (on: Device) =>
        computeImages(on, (input) =>
          pixelUnshuffle(input(large, of), {
            ...{ factor, order, time },
            channels: deep,
            ...(adds && { into: input(small, onto) }),
          }),
        );
      const found = (await run(device)).flatMap((pixel) => [...pixel]);
      const averaged = Math.max(1, share);
      found.forEach((value, i) => {
        const channel = i % deep;
        const column = Math.floor(i / deep) % width;
        const row = Math.floor(i / (deep * width)) % height;
        const image = Math.floor(i / (deep * width * height));
        let sum = 0;
        for (let k = channel * averaged; k < (channel + 1) * averaged; k++) {
          const [cell, own] =
            order === 'apart'
              ? [Math.floor(k / flat) % places, k % flat]
              : [k % places, Math.floor(k / places)];
          if (Math.floor(cell / factor ** 2) !== time.index) continue;
          const inside = cell % factor ** 2;
          const [major, minor] = [Math.floor(inside / factor), inside % factor];
          const at = order === 'columns' ? ([minor, major] as const) : ([major, minor] as const);
          const source = [row * factor + at[0], column * factor + at[1]] as const;
          sum += of[index(large, image, ...source, own)]!;
        }
        expectCloseTo(value, sum / averaged + (adds ? onto[i]! : 0), 5);
      });
      const inStrips = await run(disguise(device, { bindingLimit: 16 << 10 }));
      expect(inStrips.flatMap((pixel) => [...pixel])).toEqual(found);
    },
  );
});

it('channels that cannot be shared out are refused with the shapes', async () => {
  const record = computeImages(device, (input) =>
    pixelShuffle(input([1, 1, 1, 3], new Float32Array(3)), { factor: 2, channels: 2 }),
  );
  await expect(record).rejects.toThrow(/\[1, 1, 1, 3\] to \[1, 2, 2, 2\]/);
});
