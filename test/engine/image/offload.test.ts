// Where weights are changes no bit of an image: on the device, in host memory between stages, or streamed layer by layer. What a plan
// says an image takes is what it takes.

import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ImageEvent, ImageModelOptions } from '../../../src/engine/image/calls/image-model.ts';
import {
  askedResidencies,
  leavableOptions,
  RESIDENT,
  STAGED,
  withoutOptions,
  type Residency,
} from '../../../src/engine/image/components/residency.ts';
import { zImage } from '../../../src/models/image/z-image.ts';
import { readZImageConfig } from '../../../src/models/image/z-image-config.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { drawOn, openTiny } from './stages/drawing.ts';
import { open, REQUEST as SMALL } from './open-model.ts';
import { imagesOf, listen, tinyPipeline } from './pipeline-golden.ts';
import { randomTensors, writeComponent } from './tiny-tensors.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const streamed = (layers: number): Residency => ({ kind: 'streamed', resident: { layers } });
const KEPT: Residency = { kind: 'staged', kept: true };

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

describe.each([
  ['sd1', 'int8', 1],
  ['z-image', 'none', 2],
  ['qwen-image', 'int4', 1],
] as const)('offloading %s, quantization %s, steps: %i', (name, quantization, steps) => {
  it('draws the same bits wherever its weights are', async () => {
    const parts = await openTiny(device, name, { quantization });
    const { components } = parts;
    const { denoiser } = parts.context.pipeline.family;
    const drawAs = async (others: Residency, own: Residency, prefetch: number): Promise<string[]> => {
      components.reside(new Map(components.names.map((one) => [one, one === denoiser ? own : others])));
      device.prefetch = prefetch;
      const images: string[] = [];
      for (const seed of [1, 2])
        for (const { data } of imagesOf(await drawOn(parts, { seed, steps })))
          images.push(Buffer.from(data).toString('base64'));
      return images;
    };
    const expected = await drawAs(RESIDENT, RESIDENT, 1);
    expect(expected).toHaveLength(2);
    expect(await drawAs(STAGED, KEPT, 1)).toEqual(expected);
    expect(device.memory().weights).toBe(0);
    expect(await drawAs(KEPT, streamed(0), 0)).toEqual(expected);
    expect(await drawAs(streamed(0), streamed(1), 2)).toEqual(expected);
    expect(device.memory()).toMatchObject({ weights: 0, step: 0, arena: 0 });
    expect(device.host.bytes).toBeGreaterThan(0);
    components.reside(new Map());
    expect(device.host.bytes).toBe(0);
    await components.close();
  });
});

describe('options', () => {
  const roles = new Map([
    ['text_encoder', 'text encoder'],
    ['text_encoder_2', 'text encoder'],
    ['unet', 'denoiser'],
    ['vae', 'autoencoder'],
  ] as const);

  it.each<[ImageModelOptions | object, Record<string, Residency>]>([
    [{}, {}],
    [
      { textEncoderCpuOffload: true, vaeCpuOffload: false },
      { text_encoder: KEPT, text_encoder_2: KEPT, vae: RESIDENT },
    ],
    [{ ditCpuOffload: true }, { unet: KEPT }],
    [{ ditCpuOffload: true, ditLayerwiseOffload: true }, { unet: streamed(0) }],
    [{ ditLayerwiseOffload: true, ditLayerwiseResidentLayers: 3 }, { unet: streamed(3) }],
    [{ ditLayerwiseOffload: false, imageEncoderCpuOffload: false }, {}],
    [{ ditCpuOffload: true, imageEncoderCpuOffload: true }, { unet: KEPT }],
  ])('%j', (options, expected) => {
    expect(Object.fromEntries(askedResidencies(options, roles))).toEqual(expected);
  });

  it('may be left out each alone, those that are off first, and all', () => {
    const options = { ditLayerwiseOffload: true, ditOffloadPrefetch: 2, vaeCpuOffload: false };
    const layerwise = ['ditLayerwiseOffload', 'ditOffloadPrefetch'];
    const sets = [['vaeCpuOffload'], layerwise, ['ditOffloadPrefetch'], ['vaeCpuOffload', ...layerwise]];
    expect(leavableOptions(options)).toEqual(sets);
    expect(leavableOptions({ vaeCpuOffload: false })).toEqual([['vaeCpuOffload']]);
    expect(withoutOptions(options, ['ditLayerwiseOffload', 'ditOffloadPrefetch'])).toEqual({
      vaeCpuOffload: false,
    });
  });

  it.each([
    [{ ditOffloadPrefetch: 2 }, 'ditOffloadPrefetch'],
    [{ ditLayerwiseResidentLayers: 2, ditLayerwiseOffload: false }, 'ditLayerwiseResidentLayers'],
  ])('%j has no effect', (options, param) => {
    expect(() => askedResidencies(options, roles)).toThrow(
      expect.objectContaining({ code: 'bad_request', param }),
    );
  });
});

describe('every option of offloading together', () => {
  const ALL = {
    ...{ ditCpuOffload: true, ditLayerwiseOffload: true, textEncoderCpuOffload: true, vaeCpuOffload: true },
    imageEncoderCpuOffload: true,
  };
  it('is taken by a pipeline without an image encoder, with a note', async () => {
    const { model, notes } = await open(ALL);
    const images = imagesOf(await listen(model, SMALL));
    await model.close();
    expect(notes).toEqual(['`imageEncoderCpuOffload` changes nothing: the pipeline has no image encoder']);
    const plain = await open();
    expect(images).toEqual(imagesOf(await listen(plain.model, SMALL)));
    await plain.model.close();
    expect(plain.notes).toEqual([]);
  });
});

describe('a denoiser of 14 layers', () => {
  const REQUEST = { prompt: 'a house', seed: 1, width: 32, height: 32, steps: 2, guidance: 0 };
  let model: string;
  let expected: string;

  beforeAll(async () => {
    model = mkdtempSync(join(tmpdir(), 'svc-offload-'));
    cpSync(tinyPipeline('z-image'), model, { recursive: true });
    const file = join(model, 'transformer', 'config.json');
    const config = {
      ...(JSON.parse(readFileSync(file, 'utf8')) as object),
      ...{ dim: 192, n_layers: 12, n_heads: 2, n_kv_heads: 2, axes_dims: [32, 32, 32] },
    };
    rmSync(join(model, 'transformer'), { recursive: true });
    const tensors = randomTensors([(table) => zImage(readZImageConfig(config), table)], 5);
    writeComponent(join(model, 'transformer'), config, tensors);
    expected = (await draw({ memoryBudget: 2 ** 29 })).image;
  });
  afterAll(() => rmSync(model, { recursive: true }));

  async function draw(options: Partial<ImageModelOptions>) {
    const opened = await open({ model, ...options });
    try {
      const plan = await opened.model.plan(REQUEST);
      const events: ImageEvent[] = [];
      // The second image is drawn with all that stays on the device.
      for (let i = 0; i < 2; i++)
        for await (const event of opened.model.generate(REQUEST)) events.push(event);
      const peaks = events.flatMap((event) => (event.type === 'stage' ? [event.peakBytes] : []));
      const image = Buffer.from(imagesOf(events)[0]!.data).toString('base64');
      return { plan, peak: Math.max(...peaks), image };
    } finally {
      await opened.model.close();
    }
  }

  const placesIn = ({ components }: Awaited<ReturnType<typeof draw>>['plan']) =>
    Object.fromEntries(components.map(({ name, place }) => [name, place]));

  it('runs in a third of its bytes, with the layers that have room on the device', async () => {
    const memoryBudget = 5.75e6;
    const { plan, peak, image } = await draw({ memoryBudget });
    expect(image).toBe(expected);
    const denoiser = plan.components.find(({ name }) => name === 'transformer')!;
    expect(denoiser.weights).toBeGreaterThan(3 * memoryBudget);
    expect(denoiser.onDevice).toBeGreaterThan(0.2 * memoryBudget);
    expect(placesIn(plan)).toMatchObject({ transformer: 'streamed', vae: 'loaded' });
    expect(peak).toBe(plan.peak);
    expect(peak).toBeLessThanOrEqual(memoryBudget);
    expect(peak).toBeGreaterThan(0.7 * memoryBudget);
  });

  it('stays on the device where only the text encoder has to leave', async () => {
    const whole = (await draw({ memoryBudget: 2 ** 29 })).plan;
    const { plan, peak, image } = await draw({ memoryBudget: whole.peak - 1 });
    expect(image).toBe(expected);
    expect(placesIn(whole)).toEqual({ text_encoder: 'resident', transformer: 'resident', vae: 'resident' });
    expect(placesIn(plan)).toEqual({ text_encoder: 'loaded', transformer: 'resident', vae: 'resident' });
    expect(peak).toBe(plan.peak);
  });

  it('is refused with the smallest change that fits', async () => {
    const least = /takes at least [\d.]+ MiB, the memory budget is [\d.]+ [KM]i?B: /;
    const refusal = (options: Partial<ImageModelOptions>) =>
      draw(options).then(
        () => null,
        (error: unknown) => error,
      );
    expect(await refusal({ memoryBudget: 5.75e6, ditCpuOffload: false })).toMatchObject({
      code: 'out_of_memory',
      message: expect.stringMatching(
        new RegExp(`${least.source}leave out .ditCpuOffload., or raise`),
      ) as string,
    });
    expect(await refusal({ memoryBudget: 1e6 })).toMatchObject({
      code: 'out_of_memory',
      message: expect.stringMatching(new RegExp(`${least.source}raise .memoryBudget. to \\d+MiB$`)) as string,
    });
  });
});
