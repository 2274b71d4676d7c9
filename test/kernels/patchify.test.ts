import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { patchify, unpatchify } from '../../src/kernels/patchify.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const SHAPES = [
  { items: 1, height: 2, width: 2, channels: 1, size: 2 },
  { items: 2, height: 6, width: 10, channels: 16, size: 2 },
  { items: 1, height: 9, width: 3, channels: 5, size: 3 },
  { items: 3, height: 7, width: 5, channels: 33, size: 1 },
  // Of an image, and of its patches, several bindings of 256 KiB, which do not begin where rows of patches do.
  { items: 2, height: 74, width: 26, channels: 40, size: 2, narrow: true },
];

const on = ({ narrow = false }: { narrow?: boolean }): Device =>
  narrow ? disguise(device, { bindingLimit: 256 << 10 }) : device;

describe.each(['pqc', 'cpq'] as const)('patches in the order %s', (order) => {
  it.each(SHAPES)('$items × $height × $width × $channels by $size', async (shape) => {
    const { items, height, width, channels, size } = shape;
    const picture = new Random(height * width).floats(items * height * width * channels);
    const run = { device: on(shape), capacity: {}, sizes: {} };
    const patches = await compute({
      ...run,
      record: (_, input) => patchify(input([items, height, width, channels], picture), { size, order }),
    });
    const tokens = (height * width) / size ** 2;
    const at = (item: number, row: number, column: number, channel: number) =>
      picture[((item * height + row) * width + column) * channels + channel];
    patches.forEach((patch, i) => {
      const [item, token] = [Math.floor(i / tokens), i % tokens];
      const [top, left] = [Math.floor(token / (width / size)) * size, (token % (width / size)) * size];
      const right: (number | undefined)[] = [];
      if (order === 'pqc') {
        for (let p = 0; p < size; p++)
          for (let q = 0; q < size; q++)
            for (let c = 0; c < channels; c++) right.push(at(item, top + p, left + q, c));
      } else {
        for (let c = 0; c < channels; c++)
          for (let p = 0; p < size; p++)
            for (let q = 0; q < size; q++) right.push(at(item, top + p, left + q, c));
      }
      expect([...patch]).toEqual(right);
    });

    // Converts back from a sequence that is longer than the image.
    const longer = patches.flatMap((patch, i) =>
      i % tokens === tokens - 1 ? [...patch, ...patch.map(() => 77)] : [...patch],
    );
    const back = await compute({
      ...run,
      record: (_, input) =>
        unpatchify(input([items, tokens + 1, size ** 2 * channels], Float32Array.from(longer)), {
          size,
          order,
          height,
          width,
        }),
    });
    expect(back.flatMap((pixel) => [...pixel])).toEqual([...picture]);
  });
});

it('sizes that do not fit are refused with the numbers', async () => {
  const record = compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => patchify(input([1, 3, 4, 2], new Float32Array(24)), { size: 2, order: 'pqc' }),
  });
  await expect(record).rejects.toThrow(/\[1, 3, 4, 2\] in patches of 2/);
});

it('an image takes the first channels of its patches', async () => {
  const values = new Random(7).floats(2 * 6 * 4 * 5);
  const taken = async (channels?: number) =>
    await compute({
      device,
      capacity: {},
      sizes: {},
      record: (_, input) =>
        unpatchify(input([2, 6, 4 * 5], values), {
          ...{ size: 2, order: 'pqc' as const, height: 4, width: 6 },
          ...(channels !== undefined && { channels }),
        }),
    });
  const all = await taken();
  expect((await taken(3)).map((pixel) => [...pixel])).toEqual(all.map((pixel) => [...pixel].slice(0, 3)));
});
