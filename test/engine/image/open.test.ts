// Decisions while an image model opens, and the contents of its info.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { OpenEvent } from '../../../src/engine/opening/open-event.ts';
import type { CompleteImageRequest } from '../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { useOwnDevices } from '../kept-devices.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import type { Platform } from '../../../src/engine/platform/platform.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { changed, open, REQUEST } from './open-model.ts';
import { listen, imagesOf, tinyPipeline } from './pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000 });

it('the info of an image model states size, steps, schedules and parts', async () => {
  const { model } = await open();
  expect(model.info).toMatchObject({
    name: 'sd1',
    pipeline: 'StableDiffusionPipeline',
    denoiser: 'UNet2DConditionModel',
    quantization: 'none',
    backend: 'svc',
    sizeMultiple: 4,
    unreadClipLayers: 0,
    defaults: { steps: 50, guidance: 7.5 },
  });
  expect(model.info.schedulers[0]).toBe('PNDMScheduler');
  expect(model.info.schedulers).toContain('euler-a');
  await model.close();
  await expect(model.generate(REQUEST).next()).rejects.toMatchObject({ code: 'cancelled' });
  const { model: xl } = await open({ model: tinyPipeline('sdxl') });
  expect(xl.info.unreadClipLayers).toBe(1);
  await xl.close();
});

/** A copy of a tiny pipeline whose own size is that of REQUEST, so that the kernels are those of other tests. */
function small(name: string): string {
  const folder = changed('model_index.json', {}, tinyPipeline(name));
  const { width, height } = REQUEST;
  writeFileSync(join(folder, 'svc.json'), JSON.stringify({ width, height }));
  return folder;
}

it.each(['sd1', 'sd1-inpaint'] as const)('prepare compiles the kernels of %s at opening', async (name) => {
  const heard: OpenEvent[] = [];
  const model = small(name);
  const openIt = (prepare: boolean) =>
    openInline(IMAGE, nodePlatform, { model, prepare }, (event) => heard.push(event));
  const stages = () => heard.flatMap((event) => (event.type === 'warmup' ? [event.stage] : []));
  const inpaints = name === 'sd1-inpaint';
  const all = ['text-encoding', ...(inpaints ? ['image-encoding'] : []), 'denoising', 'decoding'];

  const prepared = await openIt(true);
  expect([...new Set(stages())]).toEqual(all);
  heard.length = 0;
  const { width, height } = prepared.info.defaults;
  const blank = { width, height, data: new Uint8Array(3 * width * height) };
  const request = { prompt: 'a house', seed: 1, ...(inpaints && { image: blank, mask: blank }) };
  await prepared.warmUp(request, 0);
  expect(stages()).toEqual([]);
  await prepared.close();

  const plain = await openIt(false);
  expect(stages()).toEqual([]);
  await plain.warmUp(request, 0);
  expect([...new Set(stages())]).toEqual(all);
  await plain.close();
});

describe('a memory budget', () => {
  it('that does not hold the model at any size is refused as it opens', async () => {
    await expect(open({ memoryBudget: 1e5, prepare: true })).rejects.toMatchObject({
      code: 'out_of_memory',
      param: 'memoryBudget',
      message:
        'the memory budget of 97.7 KiB does not hold sd1, not even for 32 × 32 pixels: raise `memoryBudget`, or choose `quantization` int4',
    });
  });

  it("that does not hold the model's own size is noted", async () => {
    const folder = changed('model_index.json', {});
    writeFileSync(join(folder, 'svc.json'), '{"width": 320, "height": 320}');
    const { model, notes } = await open({ model: folder, memoryBudget: 3.5e6, prepare: true });
    expect(notes.join()).toMatch(
      /the memory budget does not hold 320 × 320 pixels, the model's own size, and smaller/,
    );
    await model.close();
  });
});

it('warming up draws some steps of the request, however few it has', async () => {
  const { model } = await open();
  const image = { width: 40, height: 24, data: new Uint8Array(3 * 40 * 24) };
  const request = { ...REQUEST, steps: 4, image, strength: 0.5 };
  for (const steps of [1, 9]) await model.warmUp(request, steps);
  const kwargs = { timesteps: [999, 600, 90] };
  await model.warmUp({ ...REQUEST, scheduler: 'euler', kwargs }, 1);
  await model.close();
});

it('prepare compiles the kernels of a class that draws from images', async () => {
  const stages = new Set<string | undefined>();
  const model = await openInline(
    IMAGE,
    nodePlatform,
    { model: small('sd1'), pipelineClassName: 'StableDiffusionImg2ImgPipeline', prepare: true },
    (event) => event.type === 'warmup' && stages.add(event.stage),
  );
  expect(stages).toContain('image-encoding');
  await model.close();
});

it("a model's own defaults are taken, and words that it does not know are named", async () => {
  const folder = changed('model_index.json', {});
  writeFileSync(
    join(folder, 'svc.json'),
    JSON.stringify({ width: 40, height: 24, num_inference_steps: 3, guidance_scale: 2 }),
  );
  writeFileSync(join(folder, 'words.txt'), 'a\nred\nhouse\n');
  const { model } = await open({ model: folder });
  const events = await listen(model, {
    prompt: 'A red cat on a sofa BREAK',
    negativePrompt: 'red houses',
    seed: 1,
  });
  expect(events.find(({ type }) => type === 'resolved')).toMatchObject({
    values: { width: 40, height: 24, steps: 3, guidance: 2 },
    sources: { width: 'model', steps: 'model', guidance: 'model', samples: 'contract' },
  });
  // Tokens are letters and pairs of the tiny vocabulary; a latent covers four by four pixels.
  expect(events.find(({ type }) => type === 'tokens')).toEqual({
    type: 'tokens',
    text: 9,
    image: 0,
    each: 60,
  });
  expect(events.find(({ type }) => type === 'unknown-words')).toEqual({
    type: 'unknown-words',
    words: ['cat', 'on', 'sofa', 'houses'],
    known: { houses: 'house' },
  });
  await model.close();
});

it('an unknown schedule that model_index.json names is blamed on that file', async () => {
  const path = changed('model_index.json', { scheduler: ['diffusers', 'WowScheduler'] });
  const { model } = await open({ model: path });
  await expect(model.generate(REQUEST).next()).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining(`${path}/model_index.json: There is no schedule WowScheduler here`),
    parts: expect.arrayContaining([{ field: 'scheduler' }]),
  });
  await expect(model.resolve({ ...REQUEST, scheduler: 'ddim' })).resolves.toMatchObject({ type: 'resolved' });
  await model.close();
});

it('notes list settings of a request that have no effect', async () => {
  const { model } = await open({
    model: changed('scheduler/scheduler_config.json', { rescale_betas_zero_snr: true }),
  });
  const events = await listen(model, { ...REQUEST, prompt: 'a house <lora:x:1>', scheduler: 'lms' });
  expect(events.flatMap((event) => (event.type === 'note' ? [event.message] : []))).toEqual([
    expect.stringContaining('scheduler lms does not know "rescale_betas_zero_snr": true'),
    expect.stringContaining('<lora:x:1> in the prompt is read as words'),
  ]);
  const image = { width: 40, height: 24, data: new Uint8Array(3 * 40 * 24) };
  const masked = await listen(model, { ...REQUEST, image, mask: image });
  expect(masked).toContainEqual({
    type: 'note',
    message: 'the mask is black throughout, and only what is white is drawn anew',
  });
  await model.close();
});

it('notes list settings that have no effect without guidance', async () => {
  const { model } = await open();
  const heard = async (more: Partial<CompleteImageRequest>) => {
    const events = await listen(model, { ...REQUEST, negativePrompt: 'rain', guidanceRescale: 0.7, ...more });
    return events.flatMap((event) => (event.type === 'note' ? [event.message] : []));
  };
  const why = 'changes nothing: at `guidance` 1 this model makes no pass without the prompt';
  expect(await heard({ guidance: 1 })).toEqual([`\`negativePrompt\` ${why}`, `\`guidanceRescale\` ${why}`]);
  expect(await heard({ guidance: 2 })).toEqual([]);
  await model.close();
});

it('resolve() states what in a model implies a value that its files do not state', async () => {
  const { model } = await open({ modelId: 'sd-turbo' });
  const { prompt, seed } = REQUEST;
  const { values, sources, reasons } = await model.resolve({ prompt, seed, guidance: 2 });
  expect([values.steps, sources.steps, values.width]).toEqual([1, 'model', 512]);
  const by = '"sd-turbo" in its name';
  expect(reasons).toEqual({ steps: by, width: by, height: by });
  await model.close();
});

it('a note states that an unknown modelId has no effect', async () => {
  const { model, notes } = await open({ modelId: 'nonsense/x' });
  expect(notes).toEqual(['`modelId` nonsense/x names no family of models and has no effect']);
  await model.close();
});

it('a profile times kernels beside the stages, not in them', async () => {
  const { model } = await open();
  await listen(model, REQUEST); // compiled
  const started = performance.now();
  const events = await listen(model, REQUEST, { profile: true });
  const took = performance.now() - started;
  const [kernels] = events.filter((event) => event.type === 'kernels');
  expect(Object.keys(kernels?.milliseconds ?? {}).join()).toContain('conv2d');
  const stages = events.flatMap((event) => (event.type === 'stage' ? [event.milliseconds] : []));
  const steps = events.flatMap((event) => (event.type === 'step' ? [event.milliseconds] : []));
  const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
  expect(kernels!.spent).toBeGreaterThan(0);
  expect(sum(stages)).toBeGreaterThan(sum(steps));
  expect(sum(stages) + kernels!.spent).toBeLessThanOrEqual(took);
  await model.close();
});

describe('a pipeline class that is not built in', () => {
  const folder = changed('model_index.json', {
    _class_name: 'StableDiffusionAdapterPipeline',
    adapter: ['diffusers', 'T2IAdapter'],
  });

  it.each(['auto', 'svc', 'generic'] as const)('is not run as another by the backend %s', async (backend) => {
    await expect(open({ model: folder, backend })).rejects.toMatchObject({ code: 'unsupported' });
  });

  it('is run as another one that the user names, with a note of what is left out', async () => {
    const { model, notes } = await open({ model: folder, pipelineClassName: 'StableDiffusionPipeline' });
    expect(notes).toEqual([
      'model_index.json names adapter (T2IAdapter), which StableDiffusionPipeline has no use for: it is not read',
    ]);
    expect(model.info).toMatchObject({ backend: 'svc', pipeline: 'StableDiffusionPipeline' });
    await model.close();
  });
});

it('the schedule of model_index.json is taken with the settings of its own file', async () => {
  const folder = changed('model_index.json', { scheduler: ['diffusers', 'EulerAncestralDiscreteScheduler'] });
  const { model } = await open({ model: folder });
  expect((await model.resolve(REQUEST)).values.scheduler).toBe('EulerAncestralDiscreteScheduler');
  await model.close();
});

describe('quantization auto', () => {
  it.each([
    [2 ** 28, 'none'],
    [1.1e6, 'int8'],
    [0.7e6, 'int4'],
  ])('takes the largest that fits %d bytes', async (memoryBudget, quantization) => {
    const { model, notes } = await open({ quantization: 'auto', memoryBudget });
    expect(model.info.quantization).toBe(quantization);
    expect(notes.join()).toContain(`\`quantization\` auto: ${quantization}`);
    await model.close();
  });

  it('states how much memory is missing where none fits', async () => {
    await expect(open({ quantization: 'auto', memoryBudget: 1e5 })).rejects.toMatchObject({
      code: 'out_of_memory',
      message: expect.stringContaining('even as int4'),
    });
  });
});

it(
  'a lost device ends the image with device_lost, and the next image is drawn on a new device',
  { timeout: 300_000 },
  async () => {
    useOwnDevices();
    const devices: Device[] = [];
    const platform: Platform = {
      ...nodePlatform,
      async openDevice(options) {
        devices.push(await nodePlatform.openDevice(options));
        return devices.at(-1)!;
      },
    };
    const model = await openInline(IMAGE, platform, { model: tinyPipeline('sd1') });
    const before = imagesOf(await listen(model, REQUEST));
    const run = async (): Promise<void> => {
      for await (const event of model.generate({ ...REQUEST, steps: 20 }))
        if (event.type === 'step') devices[0]!.destroy();
    };
    await expect(run()).rejects.toMatchObject({ code: 'device_lost' });
    expect(imagesOf(await listen(model, REQUEST))).toEqual(before);
    expect(devices.length).toBe(2);
    await model.close();
  },
);
