import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Tape } from '../../src/gpu/tape.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { sampleLatents, scaleLatents, unscaleLatents } from '../../src/kernels/latents.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, type Input } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const TOLERANCE = 2e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const run = async (record: (tape: Tape, input: Input) => Tensor): Promise<number[]> =>
  (await compute({ device, capacity: {}, sizes: {}, record })).flatMap((row) => [...row]);

function expectNear(y: number[], wanted: number[]): void {
  expect(y.length).toBe(wanted.length);
  wanted.forEach((value, i) => expectBelow(Math.abs(y[i]! - value), TOLERANCE * (1 + Math.abs(value))));
}

const SCALE = { scale: 0.3611, shift: 0.1159 };

describe.each([
  [1, 1, 4, 'one scale'],
  [5, 3, 17, 'one scale'],
  [9, 8, 33, 'one scale'],
  [5, 7, 4, 'a scale each'],
  [3, 11, 17, 'a scale each'],
])('%i × %i latents of %i channels, %s', (height, width, channels, kind) => {
  const scales =
    kind === 'one scale'
      ? [SCALE]
      : Array.from({ length: channels }, (_, c) => ({ scale: 0.1 + c / 7, shift: c - 1.5 }));
  const of = (i: number) => scales[i % channels] ?? SCALE;
  const random = new Random(channels);
  const pixels = height * width;
  const shape = [1, height, width, channels];
  const x = random.floats(pixels * channels);

  it('samples and scales', async () => {
    const moments = random.floats(pixels * 2 * channels);
    moments[channels] = 90; // the logarithm of a variance that is clamped
    moments[channels + 1] = -90;
    const noise = random.floats(pixels * channels);
    const y = await run((_, input) =>
      sampleLatents(input([1, height, width, 2 * channels], moments), input(shape, noise), scales),
    );
    expectNear(
      y,
      [...noise].map((value, i) => {
        const at = Math.floor(i / channels) * 2 * channels + (i % channels);
        const spread = Math.exp(0.5 * Math.min(Math.max(moments[at + channels]!, -30), 20));
        return (moments[at]! + spread * value - of(i).shift) * of(i).scale;
      }),
    );
  });

  it('goes to the denoiser and back', async () => {
    expectNear(
      await run((_, input) => scaleLatents(input(shape, x), scales)),
      [...x].map((value, i) => (value - of(i).shift) * of(i).scale),
    );
    expectNear(
      await run((_, input) => unscaleLatents(input(shape, x), scales)),
      [...x].map((value, i) => value / of(i).scale + of(i).shift),
    );
  });
});
