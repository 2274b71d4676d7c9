// Images that a model edits: sizes that follow from their sides, and requests that such a model refuses.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sizeOfArea } from '../../../src/engine/image/families/qwen-image-edit.ts';
import type { ImageModel, Pixels } from '../../../src/engine/image/image-model.ts';
import { imagesOf, listen, openPipelineGolden } from './pipeline-golden.ts';

const blank = (width: number, height: number): Pixels => ({
  width,
  height,
  data: new Uint8Array(3 * width * height).fill(90),
});

it.each([
  [{ width: 1024, height: 1024 }, 1024 ** 2, { width: 1024, height: 1024 }],
  [{ width: 4000, height: 3000 }, 1024 ** 2, { width: 1184, height: 896 }],
  [{ width: 1000, height: 1777 }, 384 ** 2, { width: 288, height: 512 }],
  [{ width: 5000, height: 10 }, 1024 ** 2, { width: 22912, height: 32 }],
])('%j becomes, with about %i pixels, %j', (image, pixels, wanted) => {
  expect(sizeOfArea(image, pixels)).toEqual(wanted);
});

describe('a model that edits', () => {
  let model: ImageModel;
  beforeAll(async () => void ({ model } = await openPipelineGolden('pipeline-qwen-image-edit')));
  afterAll(() => model.close());
  const request = { prompt: 'blue', seed: 1, steps: 2, guidance: 1 };

  it('says how many images it edits, and draws in the size that follows from the last', async () => {
    expect(model.info.supports).toMatchObject({ edits: 1, inpainting: false });
    const { values } = await model.resolve({ ...request, image: blank(90, 40) });
    expect(values).toMatchObject({ width: 128, height: 64, strength: null });
    const sized = await model.resolve({ ...request, image: blank(90, 40), width: 48, height: 56 });
    expect(sized.values).toMatchObject({ width: 48, height: 56 });
  });

  it('draws from different images differently', async () => {
    const drawn = async (level: number) => {
      const image = { ...blank(60, 60), data: new Uint8Array(3 * 60 * 60).fill(level) };
      return imagesOf(await listen(model, { ...request, image, width: 32, height: 32 }))[0]!.data;
    };
    expect(await drawn(10)).not.toEqual(await drawn(200));
  });

  it.each([
    [{}, 'QwenImageEditPipeline draws from an image, and none is given'],
    [
      { image: blank(8, 8), mask: blank(8, 8) },
      'QwenImageEditPipeline sees the whole image beside what it draws, and takes no mask: leave it out',
    ],
    [
      { image: blank(8, 8), strength: 0.5 },
      'QwenImageEditPipeline sees the image beside what it draws, and has no strength: leave it out',
    ],
    [
      { image: blank(8, 8), furtherImages: [blank(8, 8)] },
      'QwenImageEditPipeline takes one image, and 2 images are given',
    ],
    [
      { image: blank(8, 8), kwargs: { max_sequence_length: 9 } },
      'QwenImageEditPipeline has no call argument max_sequence_length',
    ],
    [
      { image: blank(8, 8), kwargs: { guidance_scale: 2 } },
      'the call argument guidance_scale is for models with distilled guidance, which this one is not: give true_cfg_scale',
    ],
  ])('refuses %#', async (given, message) => {
    await expect(model.resolve({ ...request, ...given })).rejects.toThrow(message);
  });
});

it('further images are for models that edit', async () => {
  const { model, request } = await openPipelineGolden('pipeline-qwen-image-image');
  await expect(model.resolve({ ...request, furtherImages: [blank(8, 8)] })).rejects.toThrow(
    'QwenImageImg2ImgPipeline takes one image, and 2 images are given',
  );
  await model.close();
});
