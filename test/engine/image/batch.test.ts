// Images that are drawn at once, of one request or of several, are those that are drawn one after the other, to the bit.

import { afterEach, expect, it, vi } from 'vitest';
import type { ImageEvent, ImageModel, ImageModelOptions, ImageRequest } from '../../../src/index.ts';
import { open, REQUEST } from './open-model.ts';
import { openPipelineGolden, tinyPipeline } from './pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const models: ImageModel[] = [];
afterEach(() => Promise.all(models.splice(0).map((model) => model.close())));

async function drawn(options: Partial<ImageModelOptions>, request: Partial<ImageRequest>) {
  const { model } = await open(options);
  models.push(model);
  const events: ImageEvent[] = [];
  for await (const event of model.generate({ ...REQUEST, samples: 3, ...request })) events.push(event);
  const of = <T extends ImageEvent['type']>(type: T) =>
    events.filter((event): event is Extract<ImageEvent, { type: T }> => event.type === type);
  return {
    images: of('image').map(({ sample, image }) => [sample, image.data]),
    previews: of('preview').map(({ sample, step, image }) => [sample, step, image.data]),
    steps: of('step').map(({ sample, step }) => [sample, step]),
  };
}

const blank = { width: 40, height: 24, data: new Uint8Array(3 * 40 * 24).fill(90) };
const mask = {
  width: 40,
  height: 24,
  data: new Uint8Array(3 * 40 * 24).map((_, i) => (i % 120 < 60 ? 255 : 0)),
};

// A UNet: noise in each step and previews; generic kernels and a single pass; sizes as conditions, an image and a mask.
it.each<[string, Partial<ImageModelOptions>, Partial<ImageRequest>]>([
  ['tuned, with fresh noise in each step', {}, { scheduler: 'euler-a', steps: 3, previews: 1 }],
  ['by plain kernels, without guidance', { backend: 'generic' }, { scheduler: 'DDIMScheduler', guidance: 0 }],
  [
    'of Stable Diffusion XL, from an image under a mask',
    { model: tinyPipeline('sdxl') },
    { image: blank, mask, scheduler: 'euler', strength: 0.9 },
  ],
])('images drawn two at once are those drawn alone, %s', async (_, options, request) => {
  const alone = await drawn({ ...options, batchSize: 1 }, request);
  const batched = await drawn({ ...options, batchSize: 2 }, request);
  expect(alone.images).toHaveLength(3);
  expect(new Set(alone.images.map(([, data]) => String(data))).size).toBe(3);
  expect(batched.images).toEqual(alone.images);
  for (const preview of alone.previews) expect(batched.previews).toContainEqual(preview);
  expect(batched.previews).toHaveLength(alone.previews.length);
  // The first two take each step together.
  const [first, second] = batched.steps;
  expect([first, second]).toEqual([
    [0, 1],
    [1, 1],
  ]);
  expect(batched.steps).toHaveLength(alone.steps.length);
});

/** Draws prompts of one length, or seeds of one prompt; returns the images, and the steps in their order. */
async function drawnBy(model: ImageModel, requests: readonly ImageRequest[], together: boolean) {
  const steps: string[] = [];
  const run = async (request: ImageRequest): Promise<unknown[]> => {
    const images: unknown[] = [];
    for await (const event of model.generate(request)) {
      if (event.type === 'step') steps.push(`${request.seed! + event.sample}:${event.step}`);
      if (event.type === 'image') images.push(event.image.data);
    }
    return images;
  };
  const images: unknown[][] = [];
  if (together) images.push(...(await Promise.all(requests.map(run))));
  else for (const request of requests) images.push(await run(request));
  return { images: images.flat(), steps };
}

// Texts of one step as items of one batch (also in a pass without some layers; of their own lengths), each in a pass of its own, and clips. FLUX.2 and
// Qwen-Image are drawn below, with images that they see.
const SMALL = { width: 32, height: 16 };
it.each<[golden: string, options: Partial<ImageModelOptions>, kwargs?: Record<string, unknown>]>([
  ['sd3-skip', {}],
  ['pixart', {}],
  ['sana', {}, { width: 64, height: 32 }],
  ['flux', { backend: 'generic' }, { max_sequence_length: 24 }],
  ['chroma', {}],
  ['z-image-guided', {}, { cfg_normalization: 0.5 }],
  ['lumina2', {}],
  ['wan', {}, { max_sequence_length: 24, num_frames: 3 }],
  ['ltx', { backend: 'generic' }, { max_sequence_length: 24, width: 64, height: 32 }],
])(
  'two prompts that are drawn at once are those drawn alone, as in the golden %s',
  async (name, options, more) => {
    const { model, request } = await openPipelineGolden(`pipeline-${name}`, { ...options, batchSize: 2 });
    models.push(model);
    const kwargs = { ...request.kwargs, num_inference_steps: 2, ...SMALL, ...more };
    // Texts of Wan are all filled up to one length.
    const second = name === 'wan' ? 'a hat' : 'a hat red now';
    const requests = ['a red hat now', second].map((prompt, i): ImageRequest => {
      return { ...request, prompt, kwargs, seed: i + 1, samples: 1 };
    });
    const alone = await drawnBy(model, requests, false);
    const together = await drawnBy(model, requests, true);
    const half = alone.steps.length / 2;
    expect(together.steps).toEqual(
      alone.steps.slice(0, half).flatMap((step, i) => [step, alone.steps[half + i]]),
    );
    expect(alone.images[0]).not.toEqual(alone.images[1]);
    expect(together.images).toEqual(alone.images);
  },
);

it.each(['flux2-klein-reference', 'qwen-image-edit'])(
  'two results that see the same images are drawn at once, as in the golden %s',
  async (name) => {
    const { model, request } = await openPipelineGolden(`pipeline-${name}`, { batchSize: 2 });
    models.push(model);
    const one = { ...request, kwargs: { ...request.kwargs, num_inference_steps: 2 }, seed: 1, samples: 1 };
    const alone = await drawnBy(model, [one, { ...one, seed: 2 }], false);
    const together = await drawnBy(model, [{ ...one, samples: 2 }], true);
    expect(together.steps).toEqual(['1:1', '2:1', '1:2', '2:2']);
    expect(together.images).toEqual(alone.images);
  },
);

it('a model that draws one clip at a time says so, and draws the same', async () => {
  const { model, request } = await openPipelineGolden('pipeline-hunyuan', { batchSize: 2 });
  models.push(model);
  const short = { num_inference_steps: 1, num_frames: 1 };
  const one = { ...request, kwargs: { ...request.kwargs, ...short }, seed: 1, samples: 1 };
  const alone = await drawnBy(model, [one, { ...one, seed: 2 }], false);
  const notes: string[] = [];
  const images: unknown[] = [];
  for await (const event of model.generate({ ...one, samples: 2 })) {
    if (event.type === 'note') notes.push(event.message);
    if (event.type === 'image') images.push(event.image.data);
  }
  expect(notes.join()).toMatch(/`batchSize` 2 changes nothing: HunyuanVideo 1.5 draws one clip at a time/);
  expect(images).toEqual(alone.images);
});

it('requests of one shape that wait are drawn together, and one that is cancelled or refused ends without the others', async () => {
  const prompts = ['a house', 'a tree beside a red house', 'a boat', 'no prompt'];
  const request = { ...REQUEST, steps: 3, scheduler: 'euler', negativePrompt: 'rain' };
  const { model } = await open({ batchSize: 4 });
  models.push(model);
  const alone: unknown[] = [];
  for (const prompt of prompts.slice(0, 2))
    for await (const event of model.generate({ ...request, prompt }))
      if (event.type === 'image') alone.push(event);
  const order: string[] = [];
  const abort = new AbortController();
  const run = async (prompt: string, i: number): Promise<ImageEvent[]> => {
    const events: ImageEvent[] = [];
    const size = i === 3 ? { width: 41 } : {};
    for await (const event of model.generate(
      { ...request, prompt, ...size },
      i === 2 ? { signal: abort.signal } : {},
    )) {
      events.push(event);
      if (event.type === 'step') order.push(`${i}:${event.step}`);
      if (event.type === 'step' && i === 2) abort.abort();
    }
    return events;
  };
  const runs = prompts.map((prompt, i) =>
    run(prompt, i).catch((error: unknown) => {
      order.push(`${i} ended`);
      throw error;
    }),
  );
  const [first, second, third, fourth] = await Promise.allSettled(runs);
  const images = [first!, second!].map((one) =>
    one.status === 'fulfilled' ? one.value.find(({ type }) => type === 'image') : one.reason,
  );
  expect(images).toEqual(alone);
  expect(third).toMatchObject({ status: 'rejected', reason: { code: 'cancelled' } });
  expect(fourth).toMatchObject({ status: 'rejected', reason: { code: 'bad_request' } });
  const steps = order.filter((one) => one.includes(':'));
  expect(steps.slice(0, 3)).toEqual(['0:1', '1:1', '2:1']);
  expect(steps).not.toContain('2:3');
  expect(order.indexOf('2 ended')).toBeLessThan(order.indexOf('0:3'));
});
