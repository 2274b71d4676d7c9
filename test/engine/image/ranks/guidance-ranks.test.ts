// Two ranks that compute the passes of guidance draw what one rank draws.

import { afterEach, expect, it, vi } from 'vitest';
import type { ImageEvent, ImageModel, ImageModelOptions, ImageRequest } from '../../../../src/index.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { IMAGE } from '../../../../src/host/kinds/image.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { openInline } from '../../../../src/host/open.ts';
import { open, REQUEST } from '../open-model.ts';
import { openPipelineGolden, tinyPipeline } from '../pipeline-golden.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const models: ImageModel[] = [];
afterEach(() => Promise.all(models.splice(0).map((model) => model.close())));

const APART: Partial<ImageModelOptions> = { numGpus: 2, enableCfgParallel: true, logicalRanks: true };

async function drawn(model: ImageModel, request: ImageRequest) {
  models.push(model);
  const images: Uint8Array[] = [];
  const exchanges: Extract<ImageEvent, { type: 'exchange' }>[] = [];
  for await (const event of model.generate(request)) {
    if (event.type === 'image') images.push(event.image.data);
    if (event.type === 'exchange') exchanges.push(event);
  }
  return { images, exchanges };
}

it.each<[string, Partial<ImageModelOptions>, Partial<ImageRequest>]>([
  ['Stable Diffusion', {}, { guidanceRescale: 0.5, scheduler: 'euler' }],
  ['Stable Diffusion XL', { model: tinyPipeline('sdxl') }, { scheduler: 'euler' }],
])('the passes of %s on two ranks draw the bits of one rank', async (_, options, more) => {
  const request = { ...REQUEST, samples: 2, ...more };
  const alone = await drawn((await open({ ...options, batchSize: 2 })).model, request);
  const apart = await drawn((await open({ ...options, ...APART, batchSize: 2 })).model, request);
  expect(alone.exchanges).toEqual([]);
  expect(apart.images).toEqual(alone.images);
  // Each step gives the predictions for both results at once.
  expect(apart.exchanges).toMatchObject([{ ranks: 2, calls: REQUEST.steps }]);
  expect(apart.exchanges[0]!.bytes).toBeGreaterThan(0);
});

// Passes that are items of one batch, passes that are recorded apart, and those that a family combines in a way of its own.
it.each<[golden: string, kwargs?: Record<string, unknown>, options?: Partial<ImageModelOptions>]>([
  ['sd3', {}, { ditLayerwiseOffload: true }],
  ['flux2-klein-guided', {}, { quantization: 'int8' }],
  ['qwen-image'],
  ['z-image-guided', { cfg_normalization: 0.5, cfg_truncation: 0.9 }],
  ['lumina2', { cfg_trunc_ratio: 0.5 }],
  ['ltx', { guidance_rescale: 0.5 }],
])('the passes of golden %s on two ranks draw what one rank draws', async (name, more, own) => {
  const of = async (options: Partial<ImageModelOptions>) => {
    const { model, request } = await openPipelineGolden(`pipeline-${name}`, { ...own, ...options });
    const kwargs = { ...request.kwargs, num_inference_steps: 2, ...more };
    return drawn(model, { ...request, kwargs, samples: 1 });
  };
  const alone = await of({});
  const apart = await of(APART);
  expect(apart.images).toEqual(alone.images);
  expect(apart.exchanges).toMatchObject([{ ranks: 2, calls: 2 }]);
});

it('a request without a second pass is refused, and so is one with a third', async () => {
  const { model: flux, request } = await openPipelineGolden('pipeline-flux', APART);
  models.push(flux);
  await expect(flux.resolve(request)).rejects.toMatchObject({
    code: 'bad_request',
    param: 'guidance',
    message: expect.stringMatching(
      /^guidance is .*, with which flux has no second pass for `cfgParallelSize` 2: raise it/,
    ) as unknown,
  });
  const { model: sd3, request: skipping } = await openPipelineGolden('pipeline-sd3-skip', APART);
  models.push(sd3);
  await expect(sd3.resolve(skipping)).rejects.toThrow(
    '`cfgParallelSize` is 2, and guidance without some layers takes a third pass: give `cfgParallelSize` 1',
  );
});

it('GPUs are given to guidance by themselves, and where that is switched off and nothing else can be divided they are refused', async () => {
  const two = { numGpus: 2, logicalRanks: true };
  const { exchanges } = await drawn((await open(two)).model, { ...REQUEST, scheduler: 'euler' });
  expect(exchanges).toHaveLength(1);
  const whole = openPipelineGolden('pipeline-sana', { ...two, enableCfgParallel: false });
  await expect(whole).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining(
      'would divide tokens over 2 GPUs, which SanaPipeline does not allow, because convolutions',
    ) as unknown,
  });
});

it('the loss of the device of a rank ends its result, and both are opened anew for the next one', async () => {
  const devices: Device[] = [];
  const platform = {
    ...nodePlatform,
    async openDevice(options: Parameters<typeof nodePlatform.openDevice>[0]) {
      const device = await nodePlatform.openDevice(options);
      devices.push(device);
      return device;
    },
  };
  const model = await openInline(IMAGE, platform, { model: tinyPipeline('sd1'), ...APART });
  const { images } = await drawn(model, REQUEST);
  const lost = (async () => {
    for await (const event of model.generate(REQUEST))
      if (event.type === 'step') devices[1]!.destroy('somebody pulled it out');
  })();
  await expect(lost).rejects.toMatchObject({ code: 'device_lost' });
  expect((await drawn(model, REQUEST)).images).toEqual(images);
  expect(devices.map(({ isLost }) => isLost)).toEqual([true, true, false, false]);
  // A reader that leaves ends the work of both.
  for await (const event of model.generate({ ...REQUEST, steps: 40 })) if (event.type === 'step') break;
  expect((await drawn(model, REQUEST)).images).toEqual(images);
});
