// Clips are encoded chunk by chunk to what their encoder gives of the whole.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { readAutoencoder } from '../../../../src/engine/image/blocks/autoencoder.ts';
import { freeTensors } from '../../../../src/engine/image/recording/compute.ts';
import { encodeClip, type GivenClip } from '../../../../src/engine/image/stages/clip-encoding.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import { Random } from '../../../kernels/compute.ts';
import { compute, load, openModuleGolden } from '../../../models/image-golden.ts';

const PATIENCE = 240_000;
let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

const [width, height] = [16, 24];

function frame(random: Random) {
  const data = Uint8Array.from(random.floats(3 * width * height), (value) => 128 + 100 * Math.tanh(value));
  return { width, height, data };
}

it.each([
  { title: 'one frame', given: [0] },
  { title: 'the first frame before grey ones', given: [0, null, null, null, null] },
  { title: 'the first and the last of nine', given: [0, null, null, null, null, null, null, null, 1] },
])('$title: latents are those of the whole clip', { timeout: PATIENCE }, async ({ given }) => {
  const golden = await openModuleGolden('vae-wan-encode');
  const autoencoder = readAutoencoder(
    { name: 'vae', className: golden.class, config: golden.config },
    { isClip: true },
  );
  expect([autoencoder.factor, autoencoder.framesPerLatent]).toEqual([8, 4]);
  const page = await load(device, golden, autoencoder.encoder);
  const random = new Random(7);
  const images = [frame(random), frame(random)];
  const clip: GivenClip = { width, height, frames: given.map((i) => (i === null ? null : images[i]!)) };
  device.arena.clear();
  const before = device.memoryUsed;
  const found = await encodeClip({ device, autoencoder, page, tiling: {}, options: { plain: false } }, clip);
  const shape = [1 + (given.length - 1) / 4, height / 8, width / 8, 4];
  expect(found.shape).toEqual(shape);
  const pixels = clip.frames.flatMap((one) =>
    one ? Array.from(one.data, (byte) => byte / 127.5 - 1) : Array<number>(3 * width * height).fill(0),
  );
  const { values } = await compute(device, (_, input) => {
    const x = input({ shape: [given.length, height, width, 3], values: Float32Array.from(pixels) });
    const noise = input({ shape, values: new Float32Array(shape.reduce((a, b) => a * b, 1)) });
    return [autoencoder.sample(page(x, {}), noise)];
  });
  const floats = new Float32Array(await device.read(found.region!));
  const rows = Array.from({ length: shape[0]! * shape[1]! * shape[2]! }, (_, row) =>
    floats.subarray(row * found.stride, row * found.stride + 4),
  );
  rows.flatMap((row) => [...row]).forEach((value, i) => expect(value).toBeCloseTo(values[0]![i]!, 4));
  freeTensors(device, [found]);
  device.arena.clear();
  expect(device.memoryUsed).toBe(before);
});
