// The same image computed in two ways is equal.

import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  ImageEvent,
  ImageModel,
  ImageModelOptions,
  CompleteImageRequest,
  Pixels,
} from '../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { SMALL_BUDGET } from './stages/drawing.ts';
import { listen, imagesOf, tinyPipeline } from './pipeline-golden.ts';

const PATIENCE = 300_000;
/** Higher than a strip of 32 rows of pixels. */
const BASE: CompleteImageRequest = {
  prompt: 'a red balloon',
  seed: 7,
  width: 24,
  height: 40,
  steps: 2,
  guidance: 5,
};

const openTiny = (options: Partial<ImageModelOptions> = {}): Promise<ImageModel> =>
  openInline(IMAGE, nodePlatform, { model: tinyPipeline('sd1'), ...options });

let model: ImageModel;
/** The image of BASE, which most tests compare theirs with. */
let wanted: Pixels;
beforeAll(async () => {
  model = await openTiny();
  wanted = await draw();
}, PATIENCE);
let smallModel: Promise<ImageModel> | undefined;
/** The same model in a budget that holds one component at a time, once for all tests. */
const openSmall = (): Promise<ImageModel> => (smallModel ??= openTiny({ memoryBudget: SMALL_BUDGET }));
afterAll(async () => {
  await model.close();
  await (await smallModel)?.close();
});

const drawOn = async (on: ImageModel, request: Partial<CompleteImageRequest> = {}): Promise<Pixels[]> =>
  imagesOf(await listen(on, { ...BASE, ...request }));
const draw = async (request: Partial<CompleteImageRequest> = {}): Promise<Pixels> =>
  (await drawOn(model, request))[0]!;

function largestDifference(a: Pixels, b: Pixels): number {
  return a.data.reduce((most, value, i) => Math.max(most, Math.abs(value - b.data[i]!)), 0);
}

describe('the bytes of an image are the same', { timeout: PATIENCE }, () => {
  it('from the same seed, others from another', async () => {
    expect(await draw()).toEqual(wanted);
    expect(largestDifference(await draw({ seed: 8 }), wanted)).toBeGreaterThan(8);
  });

  it('of two samples as of two requests with seeds one after the other', async () => {
    const together = await drawOn(model, { samples: 2 });
    const alone = [wanted, await draw({ seed: 8 })];
    expect(together).toEqual(alone);
  });

  it('decoded in strips as at once', async () => {
    expect(await draw({ tiling: true })).toEqual(wanted);
  });

  it('with weights that stay as with weights that come and go', async () => {
    expect(await drawOn(await openSmall())).toEqual([wanted]);
  });

  it('at guidance 1, whatever the negative prompt', async () => {
    const alone = await draw({ guidance: 1, negativePrompt: 'snow' });
    expect(alone).toEqual(await draw({ guidance: 1 }));
    expect(alone).toEqual(await draw({ guidance: 0 }));
    // Just above 1 the unconditional pass has almost no weight.
    expect(largestDifference(await draw({ guidance: 1 + 1e-6 }), alone)).toBeLessThanOrEqual(1);
  });

  it('from a worker', async () => {
    const { openImageModel } = await import('../../../src/index.ts');
    const far = await openImageModel({ model: tinyPipeline('sd1') });
    expect(await drawOn(far)).toEqual([wanted]);
    await far.close();
  });
});

it(
  'call arguments keep the tuned kernels, and draw what the plain ones draw',
  { timeout: PATIENCE },
  async () => {
    const request = { scheduler: 'ddim', kwargs: { eta: 0.5, clip_skip: 1 } };
    const compiled: string[] = [];
    const kernelsOf = async (options: Partial<ImageModelOptions>): Promise<Pixels> => {
      const fresh = await openTiny(options);
      const events = await listen(fresh, { ...BASE, ...request }, { profile: true });
      compiled.push(
        ...events.flatMap((event) =>
          event.type === 'kernels' ? [Object.keys(event.milliseconds).join(' ')] : [],
        ),
      );
      const [resolved] = events.flatMap((event) => (event.type === 'resolved' ? [event] : []));
      expect(resolved?.values.backend).toBe(options.backend === 'generic' ? 'generic' : 'svc');
      await fresh.close();
      return imagesOf(events)[0]!;
    };
    const tuned = await kernelsOf({ backend: 'auto' });
    const plain = await kernelsOf({ backend: 'generic' });
    expect(compiled[0]).toMatch(/winograd|matmul/);
    expect(compiled[0]).not.toContain('plain');
    expect(compiled[1]).toContain('plain');
    expect(largestDifference(tuned, plain)).toBeLessThanOrEqual(2);
    expect(largestDifference(tuned, (await drawOn(model, { scheduler: 'ddim' }))[0]!)).toBeGreaterThan(8);
  },
);

it('weights in f32 draw the same image, and take twice as much memory', { timeout: PATIENCE }, async () => {
  const wide = await openTiny({ allF32: true });
  const [narrow, wider] = [await listen(model, BASE), await listen(wide, BASE)];
  await wide.close();
  expect(largestDifference(imagesOf(wider)[0]!, imagesOf(narrow)[0]!)).toBeLessThanOrEqual(2);
  const decoding = (events: readonly ImageEvent[]): number =>
    Math.max(
      ...events.map((event) => (event.type === 'stage' && event.name === 'decoding' ? event.peakBytes : 0)),
    );
  // All weights are on the device at that point.
  expect(decoding(wider) - decoding(narrow)).toBeGreaterThan(0.8 * model.info.memory.weights);
});

it('transformerWeightsPath in another folder draws the same image', { timeout: PATIENCE }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-elsewhere-'));
  cpSync(tinyPipeline('sd1'), folder, { recursive: true });
  const weights = join(folder, 'unet/diffusion_pytorch_model.safetensors');
  const elsewhere = join(folder, 'elsewhere.safetensors');
  renameSync(weights, elsewhere);
  const other = await openTiny({ model: folder, transformerWeightsPath: elsewhere });
  expect(await drawOn(other)).toEqual([wanted]);
  await other.close();
  rmSync(folder, { recursive: true });
});

it('weights in int8 draw nearly the same image', { timeout: PATIENCE }, async () => {
  const packed = await openTiny({ quantization: 'int8' });
  const [image] = await drawOn(packed);
  await packed.close();
  const mean =
    wanted.data.reduce((sum, value, i) => sum + Math.abs(value - image!.data[i]!), 0) / wanted.data.length;
  expect(mean).toBeGreaterThan(0);
  expect(mean).toBeLessThan(4);
});

describe('an image request that ends early', { timeout: PATIENCE }, () => {
  it('ends within a step, and the next one is drawn', async () => {
    const abort = new AbortController();
    let steps = 0;
    const run = async (): Promise<void> => {
      for await (const event of model.generate({ ...BASE, steps: 30 }, { signal: abort.signal })) {
        if (event.type === 'step' && ++steps === 2) abort.abort();
      }
    };
    await expect(run()).rejects.toMatchObject({ code: 'cancelled' });
    expect(steps).toBeLessThanOrEqual(3);
    expect(await draw()).toEqual(wanted);
  });

  it('gives all its memory back', async () => {
    const small = await openSmall();
    for (let i = 0; i < 3; i++) {
      for await (const event of small.generate(BASE)) if (event.type === 'step') break;
    }
    const [image] = await drawOn(small);
    expect(image).toEqual(wanted);
  });
});

it('previews come between the steps, as large as asked for or smaller', { timeout: PATIENCE }, async () => {
  const events = await listen(model, { ...BASE, steps: 5, previews: 2 });
  const order = events.flatMap((event) =>
    event.type === 'step' || event.type === 'preview' ? [`${event.type} ${event.step}`] : [],
  );
  expect(order.filter((text) => text.startsWith('preview')).length).toBeGreaterThanOrEqual(2);
  expect(order.indexOf('preview 2')).toBe(order.indexOf('step 2') + 1);
  for (const event of events) {
    if (event.type === 'preview')
      expect(event.image.data.length).toBe(3 * event.image.width * event.image.height);
  }
});

it('previews are as many as asked for of the steps that are taken', { timeout: PATIENCE }, async () => {
  const count = async (on: ImageModel, request: Partial<CompleteImageRequest>): Promise<number[]> => {
    const events = await listen(on, { ...BASE, scheduler: 'EulerDiscreteScheduler', ...request });
    return events.flatMap((event) => (event.type === 'preview' ? [event.step] : []));
  };
  expect(await count(model, { steps: 8, previews: 3 })).toEqual([2, 4, 6]);
  expect(await count(model, { steps: 8, previews: 3, image: wanted, strength: 0.5 })).toEqual([1, 2, 3]);
});

it('previews are small where the decoder is not on the device', { timeout: PATIENCE }, async () => {
  const events = await listen(await openSmall(), { ...BASE, previews: Infinity });
  const previews = events.flatMap((event) => (event.type === 'preview' ? [event.image] : []));
  expect(previews.length).toBe(2); // PNDM calls the model once more than there are steps
  for (const { width, height, data } of previews) {
    expect([width, height]).toEqual([6, 10]);
    expect(new Set(data).size).toBeGreaterThan(8);
  }
});
