import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { guidanceRows, guidanceWidths } from '../../src/kernels/guidance-rows.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, differingRows, Random, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const SCALE = 4.5;
const TOLERANCE = 4e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1],
  [37, 16],
  [70, 133],
])('%i tokens of %i columns keep the length of the positive prediction', async (tokens, columns) => {
  const random = new Random(columns);
  const [positive, negative] = [random.floats(tokens * columns), random.floats(tokens * columns)];
  const run = (on: Device) =>
    compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) =>
        guidanceRows(
          input([1, tokens, columns], positive),
          input([1, tokens, columns], negative),
          upload(on, Float32Array.of(7, SCALE)),
          1,
        ),
    });
  const found = await run(device);
  expect(found.length).toBe(tokens);
  found.forEach((row, i) => {
    const of = (values: Float32Array) => values.subarray(i * columns, (i + 1) * columns);
    const guided = Array.from(of(positive), (p, k) => of(negative)[k]! + SCALE * (p - of(negative)[k]!));
    const rate = Math.hypot(...of(positive)) / Math.hypot(...guided);
    row.forEach((value, k) => {
      const wanted = guided[k]! * rate;
      expectBelow(Math.abs(value - wanted), TOLERANCE * (1 + Math.abs(guided[k]! * rate)));
    });
  });
  const pieces = await run(disguise(device, { bindingLimit: 16 << 10 }));
  expect(differingRows(pieces, found)).toEqual([]);
});

it.each([
  [1, 1, 1],
  [3, 37, 16],
  [5, 70, 13],
])('%i × %i pixels of %i channels keep the lengths along the width', async (height, width, channels) => {
  const random = new Random(width);
  const count = 2 * height * width * channels;
  const [positive, negative] = [random.floats(count), random.floats(count)];
  const shape = [2, height, width, channels];
  const found = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      guidanceWidths(
        input(shape, positive),
        input(shape, negative),
        upload(device, Float32Array.of(7, SCALE)),
        1,
      ),
  });
  for (let line = 0; line < 2 * height; line++)
    for (let channel = 0; channel < channels; channel++) {
      const at = (x: number) => (line * width + x) * channels + channel;
      const of = (values: Float32Array) => Array.from({ length: width }, (_, x) => values[at(x)]!);
      const guided = of(positive).map((p, x) => negative[at(x)]! + SCALE * (p - negative[at(x)]!));
      const rate = Math.hypot(...of(positive)) / Math.hypot(...guided);
      guided.forEach((value, x) => {
        const wanted = value * rate;
        const error = Math.abs(found[line * width + x]![channel]! - wanted);
        expectBelow(error, TOLERANCE * (1 + Math.abs(wanted)));
      });
    }
});
