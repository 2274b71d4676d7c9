// Results that a network enlarges: images and frames of clips, whole and in strips, in scales that are not the network's own; and what is
// refused.

import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readUpscaler } from '../../../../src/models/image/upscalers/upscaler.ts';
import type {
  ImageEvent,
  ImageModel,
  ImageRequest,
  Pixels,
} from '../../../../src/engine/image/calls/image-model.ts';
import { UpscalingNetwork } from '../../../../src/engine/image/stages/upscaling-network.ts';
import { openWeights } from '../../../../src/engine/weights/weights.ts';
import { openDiskSource } from '../../../../src/files/disk/source-disk.ts';
import { resample } from '../../../../src/files/image/resample.ts';
import { readSafetensors } from '../../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { disguise, openModelTestDevice } from '../../../gpu/test-device.ts';
import { open, REQUEST } from '../open-model.ts';
import { tinyPipeline } from '../pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const NETWORK = `${tinyPipeline('upscalers')}/upscale-compact.safetensors`;
const CONFIG = { num_feat: 33, num_conv: 3, upscale: 4 };

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

/** Enlarges an image on a budget, and returns the peak of memory beside the result. */
async function enlarge(image: Pixels, memoryBudget = 2 ** 30) {
  const on = disguise(device, { memoryBudget });
  const source = await openDiskSource(NETWORK);
  const { build } = readUpscaler('SRVGGNetCompact', CONFIG);
  const weights = openWeights(on, (await readSafetensors(source)).tensors, build, { format: null });
  await weights.load();
  await source.close();
  on.takePeak();
  try {
    using network = await UpscalingNetwork.open(on, { plain: false }, weights.page, image);
    const result = await network.compute(image);
    return { result, peak: on.takePeak(), again: await network.compute(image) };
  } finally {
    weights.free();
    on.arena.clear();
  }
}

const noise = (width: number, height: number): Pixels => ({
  width,
  height,
  data: Uint8Array.from({ length: 3 * width * height }, (_, i) => 128 + 127 * Math.sin(i * i)),
});

describe('a network in strips', () => {
  it('gives the bytes of the whole image in less memory', async () => {
    const image = noise(32, 192);
    const whole = await enlarge(image);
    expect([whole.result.width, whole.result.height]).toEqual([128, 768]);
    expect(whole.again).toEqual(whole.result);
    const strips = await enlarge(image, 0.75 * whole.peak);
    expect(strips.peak).toBeLessThan(0.75 * whole.peak);
    expect(strips.result).toEqual(whole.result);
  });

  it('is refused where the smallest strips have no room', async () => {
    await expect(enlarge(noise(256, 256), 4e6)).rejects.toMatchObject({
      code: 'out_of_memory',
      param: 'enableUpscaling',
      message: expect.stringMatching(/^enlarging 256 × 256 pixels in strips takes .*, the memory budget is/),
    });
  });
});

async function draw(model: ImageModel, request: Partial<ImageRequest>): Promise<ImageEvent[]> {
  const events: ImageEvent[] = [];
  for await (const event of model.generate({ ...REQUEST, steps: 1, ...request })) events.push(event);
  return events;
}

const imageOf = (events: readonly ImageEvent[]): Pixels =>
  events.find((event) => event.type === 'image')!.image;

describe('images of a model', () => {
  let model: ImageModel;
  beforeAll(async () => {
    ({ model } = await open({ upscalingModelPath: NETWORK }));
  });
  afterAll(() => model.close());

  it('are enlarged where the request asks for it, in a stage of its own', async () => {
    const small = await draw(model, {});
    const large = await draw(model, { enableUpscaling: true });
    expect(model.info.upscaler).toEqual({ path: NETWORK, scale: 4 });
    expect(imageOf(small)).toMatchObject({ width: 24, height: 16 });
    expect(large[0]).toMatchObject({ values: { width: 24, height: 16, upscalingScale: 4 } });
    expect(small[0]).toMatchObject({ values: { upscalingScale: null } });
    expect(imageOf(large)).toEqual((await enlarge(imageOf(small))).result);
    const stages = large.flatMap((event) => (event.type === 'stage' ? [event.name] : []));
    expect(stages).toEqual(['text-encoding', 'denoising', 'decoding', 'upscaling']);
  });

  it('are resampled to a scale that is not the own one of the network', async () => {
    const large = imageOf(await draw(model, { enableUpscaling: true }));
    const half = imageOf(await draw(model, { enableUpscaling: true, upscalingScale: 1.5 }));
    expect(half).toEqual(resample(large, 36, 24, { filter: 'lanczos' }));
  });

  it('are planned with the network', async () => {
    const { components, stages } = await model.plan({ ...REQUEST, enableUpscaling: true });
    expect(components).toContainEqual(
      expect.objectContaining({ name: 'upscaler', className: 'SRVGGNetCompact', role: 'upscaler' }),
    );
    expect(stages.at(-1)).toMatchObject({ name: 'upscaling', bytes: expect.any(Number) });
    const without = await model.plan(REQUEST);
    expect(without.stages.map(({ name }) => name)).not.toContain('upscaling');
  });

  it.each([
    [
      { upscalingScale: 2 },
      'upscalingScale',
      /is 2, and `enableUpscaling` is off: give both, or leave it out$/,
    ],
    [{ enableUpscaling: true, upscalingScale: 9 }, 'upscalingScale', /^upscalingScale is 9, .* from 1 to 8$/],
    [
      { enableUpscaling: true, upscalingScale: 8, width: 4096 },
      'upscalingScale',
      /8 makes 32768 × 128 pixels of 4096 × 16, and a side has at most 16384: give at most 4$/,
    ],
  ])('%j is refused', async (request, param, message) => {
    await expect(model.resolve({ ...REQUEST, ...request })).rejects.toMatchObject({
      code: 'bad_request',
      param,
      message: expect.stringMatching(message),
    });
  });

  it('may come with the scale that clients send in any case', async () => {
    const { values } = await model.resolve({ ...REQUEST, upscalingScale: 4 });
    expect(values.upscalingScale).toBeNull();
  });
});

describe('networks that are not taken', () => {
  it('a model without a network says where to give it', async () => {
    const { model } = await open();
    expect(model.info.upscaler).toBeNull();
    await expect(model.resolve({ ...REQUEST, enableUpscaling: true })).rejects.toMatchObject({
      code: 'bad_request',
      param: 'enableUpscaling',
      message: expect.stringMatching(
        /needs a network that enlarges images, and the model was opened without one: give it with `upscalingModelPath`$/,
      ),
    });
    await model.close();
  });

  const scratch = mkdtempSync(join(tmpdir(), 'svc-upscalers-'));
  const other = join(scratch, 'other');
  mkdirSync(other);
  copyFileSync(
    `${tinyPipeline('sd1')}/vae/diffusion_pytorch_model.safetensors`,
    join(other, 'a.safetensors'),
  );
  writeFileSync(join(scratch, 'network.pth'), 'no tensors');

  it.each([
    [
      join(other, 'a.safetensors'),
      'unsupported',
      /holds none of the networks that enlarge images: give an RRDBNet \(.*\) or an SRVGGNetCompact/,
    ],
    [other, 'unsupported', /holds none of the networks/],
    [join(scratch, 'network.pth'), 'bad_checkpoint', /network\.pth is not a sound file of torch\.save/],
    [join(scratch, 'nowhere.safetensors'), 'model_not_found', /nowhere/],
  ])('%s', async (upscalingModelPath, code, message) => {
    await expect(open({ upscalingModelPath })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });
});
