// Untyped requests passed to an image model: every wrong one is refused by its name before anything is drawn, and what is left out is
// completed.

import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { encodeImage } from '../../../../src/files/image/image.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import type { ImageRequest } from '../../../../src/engine/image/calls/image-model.ts';
import { checkImageRequest, completeRequest } from '../../../../src/engine/image/request/request-rules.ts';
import { open, REQUEST } from '../open-model.ts';

const data = Uint8Array.from({ length: 3 * 40 * 24 }, (_, i) => (i * 7) % 256);
const pixels = { width: 40, height: 24, data };
const prompt = 'a tree';

const check = (given: unknown) => () => checkImageRequest(given as ImageRequest);

describe('an image request', () => {
  it.each<[unknown, string, string]>([
    [undefined, 'request', 'request is undefined, it must be an object'],
    ['a tree', 'request', 'request is "a tree", it must be an object'],
    [{ seed: 1 }, 'prompt', 'prompt is missing: a request cannot do without it'],
    [{ prompt: 5 }, 'prompt', 'prompt is 5, it must be a text'],
    [{ prompt: ['a', 'b'] }, 'prompt', 'prompt is a list, it must be a text'],
    [{ prompt, negativePrompt: 5 }, 'negativePrompt', 'negativePrompt is 5, it must be a text'],
    [{ prompt, seed: 'x' }, 'seed', 'seed is "x", it must be a whole number from 0 to 9007199254740991'],
    [{ prompt, guidanceScale: 99 }, 'guidanceScale', 'is unknown to a request: did you mean guidance?'],
    [{ prompt, numInferenceSteps: 2 }, 'numInferenceSteps', 'did you mean steps?'],
    [{ prompt, num_inference_steps: 2 }, 'num_inference_steps', 'did you mean steps?'],
    [{ prompt, clip_skip: 2 }, 'clip_skip', 'it is written clipSkip'],
    [{ prompt, negativPrompt: 'x' }, 'negativPrompt', 'did you mean negativePrompt?'],
    [{ prompt, foo: 2 }, 'foo', 'foo is unknown to a request: it takes negativePrompt, steps, guidance,'],
    [
      { prompt, image: 'a.png' },
      'image',
      'image is "a.png", it must be the bytes of an image file as a Uint8Array',
    ],
    [
      { prompt, image: data.buffer },
      'image',
      'image is an ArrayBuffer, it must be the bytes of an image file',
    ],
    [{ prompt, image: new Blob([data]) }, 'image', 'image is a Blob, it must be the bytes of an image file'],
    [{ prompt, image: [1, 2] }, 'image', 'image is a list, it must be'],
    [{ prompt, image: null }, 'image', 'image is null, it must be'],
    [{ prompt, image: { ...pixels, width: 1.5 } }, 'image.width', 'it must be a whole number of at least 1'],
    [
      { prompt, image: { width: 128, height: 128, data: new Uint8Array(5) } },
      'image.data',
      'a Uint8Array of 49152 bytes, three for each of 128 × 128 pixels, and not of 5',
    ],
    [
      { prompt, mask: { ...pixels, data: [...data] } },
      'mask.data',
      'is a list, it must be a Uint8Array of 2880 bytes',
    ],
    [{ prompt, controlImages: pixels }, 'controlImages', 'is an object, it must be a list'],
    [{ prompt, controlImages: ['a'] }, 'controlImages.0', 'is "a", it must be the bytes'],
    [{ prompt, previews: -1 }, 'previews', 'a whole number of at least 0'],
    [{ prompt, kwargs: [] }, 'kwargs', 'is a list, it must be an object'],
  ])('%j is refused by its name', (given, param, words) => {
    expect(check(given)).toThrow(
      expect.objectContaining({ name: 'EngineError', code: 'bad_request', param }),
    );
    expect(check(given)).toThrow(words);
  });

  it.each([
    { prompt },
    { prompt: '', previews: Infinity, seed: undefined },
    { prompt, image: pixels, mask: new Uint8Array(3), kwargs: { eta: 0 } },
  ])('%j passes', (given) => {
    expect(check(given)).not.toThrow();
  });
});

describe('a completed image request', () => {
  it('has a seed of its own, another each time', async () => {
    const seeds = new Set<number>();
    for (let i = 0; i < 4; i++) seeds.add((await completeRequest(nodePlatform, { prompt })).seed);
    expect(seeds.size).toBe(4);
    for (const seed of seeds) expect(Number.isSafeInteger(seed) && seed >= 0 && seed < 2 ** 32).toBe(true);
    expect(await completeRequest(nodePlatform, { prompt, seed: 7 })).toEqual({ prompt, seed: 7 });
  });

  it('has the pixels of files', async () => {
    const file = await encodeImage(pixels, { format: 'png' });
    const done = await completeRequest(nodePlatform, {
      prompt,
      image: file,
      furtherImages: [file, pixels],
      mask: file,
      controlImages: [file],
      ipAdapterImage: file,
    });
    expect(done).toMatchObject({ image: pixels, furtherImages: [pixels, pixels], controlImages: [pixels] });
    expect(done.ipAdapterImage).toEqual(pixels);
    const { data: grey } = done.mask!;
    expect([grey[0], grey[1]]).toEqual([grey[2], grey[2]]);
  });

  it('bytes of something else are refused by their field', async () => {
    const bytes = new Uint8Array(deflateSync(data));
    await expect(
      completeRequest(nodePlatform, { prompt, furtherImages: [pixels, bytes] }),
    ).rejects.toMatchObject({
      code: 'bad_request',
      param: 'furtherImages.1',
      message: expect.stringContaining('give a PNG, JPEG, WebP or BMP file'),
    });
  });
});

it('an opened image model checks its request, and draws the same from a file as from its pixels', async () => {
  const { model } = await open();
  const wrong = { prompt, guidanceScale: 9 } as ImageRequest;
  const refusal = { name: 'EngineError', code: 'bad_request', param: 'guidanceScale' };
  await expect(model.generate(wrong).next()).rejects.toMatchObject(refusal);
  await expect(model.resolve(wrong)).rejects.toMatchObject(refusal);
  await expect(model.plan(undefined as unknown as ImageRequest)).rejects.toMatchObject({ param: 'request' });
  const drawn = async (request: ImageRequest) => {
    for await (const event of model.generate(request)) if (event.type === 'image') return event;
    throw new Error('no image was drawn');
  };
  const file = await encodeImage(pixels, { format: 'png' });
  const [byFile, byPixels] = [
    await drawn({ ...REQUEST, image: file }),
    await drawn({ ...REQUEST, image: pixels }),
  ];
  expect(byFile.image).toEqual(byPixels.image);
  const { seed: _, ...seedless } = REQUEST;
  expect((await drawn(seedless)).seed).toBeGreaterThanOrEqual(0);
  await model.close();
}, 120_000);
