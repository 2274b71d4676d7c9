// Images that a model edits: sizes that follow from their sides, and requests that such a model refuses.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kontextSize } from '../../../src/engine/image/families/flux/flux-kontext.ts';
import { sizeOfArea } from '../../../src/engine/image/families/qwen-image/qwen-image-edit.ts';
import type {
  ImageModel,
  CompleteImageRequest,
  Pixels,
} from '../../../src/engine/image/calls/image-model.ts';
import { changed, open } from './open-model.ts';
import { goldenRequest, imagesOf, listen, openPipelineGolden, tinyPipeline } from './pipeline-golden.ts';

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
])('an input image of %j is scaled to about %i pixels: %j', (image, pixels, wanted) => {
  expect(sizeOfArea(image, pixels)).toEqual(wanted);
});

describe('a model that edits', () => {
  let model: ImageModel;
  beforeAll(async () => void ({ model } = await openPipelineGolden('pipeline-qwen-image-edit')));
  afterAll(() => model.close());
  const request = { prompt: 'blue', seed: 1, steps: 2, guidance: 1 };

  it('states how many images it edits, and draws in the size that follows from the last', async () => {
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
  ])('refuses request %#', async (given, message) => {
    await expect(model.resolve({ ...request, ...given })).rejects.toThrow(message);
  });
});

describe('FLUX.2 klein', () => {
  let model: ImageModel;
  beforeAll(async () => void ({ model } = await openPipelineGolden('pipeline-flux2-klein')));
  afterAll(() => model.close());
  const request = { prompt: 'blue', seed: 1, steps: 2 };

  it('draws with and without images, in the size of the first in whole tokens, scaled down if large', async () => {
    expect(model.info.supports).toMatchObject({ edits: 10, inpainting: false });
    const sizeOf = async (...images: Pixels[]) => {
      const [image, ...before] = images.toReversed();
      const furtherImages = before.toReversed();
      const { values } = await model.resolve({ ...request, ...(image && { image, furtherImages }) });
      return [values.width, values.height, values.strength];
    };
    expect(await sizeOf()).toEqual([1024, 1024, null]);
    expect(await sizeOf(blank(90, 71))).toEqual([88, 68, null]);
    expect(await sizeOf(blank(90, 71), blank(50, 60))).toEqual([88, 68, null]);
    expect(await sizeOf(blank(2000, 1500))).toEqual([1180, 884, null]); // 1182 × 886
  });

  it('plans the memory of the images that it sees in their sizes', async () => {
    const small = { ...request, width: 16, height: 16, kwargs: { max_sequence_length: 20 } };
    const peak = async (side: number) => (await model.plan({ ...small, image: blank(side, side) })).peak;
    const least = await peak(16);
    expect(await peak(192)).toBeGreaterThan(least);
  });

  it.each([
    [[3, 2, 9], '[3,2,9]; this model takes 3 ascending numbers of layers from 1 to 28'],
    [[9, 18, 29], '[9,18,29]; this model takes'],
    [[9, 18], '[9,18]; this model takes'],
  ])('refuses the states after the layers %j', async (layers, message) => {
    const kwargs = { text_encoder_out_layers: layers };
    await expect(model.resolve({ ...request, kwargs })).rejects.toThrow(
      `the call argument text_encoder_out_layers is ${message}`,
    );
  });
});

it.each([
  [{ width: 1024, height: 1024 }, 1024 ** 2, { width: 1024, height: 1024 }],
  [{ width: 4000, height: 3000 }, 1024 ** 2, { width: 1184, height: 880 }],
  [{ width: 10, height: 5000 }, 1024 ** 2, { width: 672, height: 1568 }],
  [{ width: 1000, height: 562 }, 512 ** 2, { width: 688, height: 368 }],
])('FLUX.1 Kontext scales an image of %j to about %i pixels: %j', (image, pixels, wanted) => {
  expect(kontextSize(image, pixels, 16)).toEqual(wanted);
});

describe('FLUX.1 Kontext', () => {
  let model: ImageModel;
  beforeAll(async () => void ({ model } = await openPipelineGolden('pipeline-flux-kontext')));
  afterAll(() => model.close());
  const request = { prompt: 'blue', seed: 1, steps: 2 };
  const resolved = async (given: Partial<CompleteImageRequest>) => {
    const { width, height, strength } = (await model.resolve({ ...request, ...given })).values;
    return [width, height, strength];
  };

  it('draws in the size in which it sees an image, in the one that is asked for, and in one of an area', async () => {
    expect(model.info.supports).toMatchObject({ edits: 1, inpainting: true });
    const image = blank(90, 40);
    expect(await resolved({})).toEqual([64, 64, null]);
    expect(await resolved({ image })).toEqual([88, 40, null]);
    expect(await resolved({ image, width: 48, height: 56 })).toEqual([48, 56, null]);
    expect(await resolved({ image, kwargs: { max_area: 1024 } })).toEqual([40, 16, null]);
    expect(await resolved({ image, mask: blank(90, 40) })).toEqual([88, 40, 1]);
    expect(await resolved({ image, mask: blank(90, 40), furtherImages: [image] })).toEqual([88, 40, 1]);
  });

  it.each([
    [{ strength: 0.5 }, 'FluxKontextPipeline sees the image beside what it draws, and has no strength'],
    [{ furtherImages: [blank(8, 8)] }, 'FluxKontextPipeline takes one image, and 2 images are given'],
    [
      { mask: blank(8, 8), furtherImages: [blank(8, 8), blank(8, 8)] },
      'FluxKontextPipeline takes at most 2 images, and 3 images are given',
    ],
    [
      { mask: blank(8, 8), kwargs: { padding_mask_crop: 4 } },
      'the call argument padding_mask_crop is not built for FLUX.1 Kontext',
    ],
    [
      { mask: blank(8, 8), kwargs: { max_area: 4 } },
      'FluxKontextInpaintPipeline has no call argument max_area',
    ],
    [{ maxSequenceLength: 513 }, 'maxSequenceLength is 513; the model reads at most 512 tokens of a prompt'],
    [
      { kwargs: { max_sequence_length: 513 } },
      'maxSequenceLength is 513; the model reads at most 512 tokens of a prompt',
    ],
  ])('refuses request %#', async (given, message) => {
    await expect(resolved({ image: blank(8, 8), ...given })).rejects.toThrow(message);
  });
});

describe('FLUX.1 Fill', () => {
  const filling = async () => (await goldenRequest('pipeline-flux-fill')).options;

  it('states that it fills masks, with defaults of its own', async () => {
    const { model, request } = await openPipelineGolden('pipeline-flux-fill');
    expect(model.info.defaults).toMatchObject({ steps: 50, guidance: 30 });
    await expect(model.resolve({ prompt: 'blue', seed: 1 })).rejects.toThrow(
      'this model was made to fill masks: give `image`, and a `mask` that is white where to draw',
    );
    const kwargs = { true_cfg_scale: 2 };
    await expect(model.resolve({ ...request, kwargs })).rejects.toThrow(
      'FluxFillPipeline has no call argument true_cfg_scale',
    );
    await model.close();
  });

  it('is refused with a transformer that takes no mask', async () => {
    const { options } = await goldenRequest('pipeline-flux-kontext');
    const wrong = { ...(await filling()), componentPaths: options.componentPaths };
    await expect(open(wrong)).rejects.toThrow(
      'transformer/config.json: in_channels is 64: the transformer takes no mask, and the pipeline gives it one: take FluxInpaintPipeline, or FLUX.1 Fill',
    );
  });

  it('is refused with a transformer of unknown inputs', async () => {
    const options = await filling();
    const { componentPaths } = options;
    const transformer = changed('config.json', { in_channels: 132 }, componentPaths['transformer']);
    await expect(open({ ...options, componentPaths: { ...componentPaths, transformer } })).rejects.toThrow(
      'transformer/config.json: in_channels is 132 and out_channels 64: what such a transformer takes beside the latents is not known',
    );
  });
});

it.each([
  ['pipeline-flux-control', { controlScale: [0.5] }, 'controlScale is not for flux: leave it out'],
  ['pipeline-flux-control', { controlImages: [] }, 'the model draws by one control image, and none is given'],
  ['pipeline-flux', { controlImages: [blank(8, 8)] }, 'controlImages is not for flux: leave it out'],
])('%s refuses %j', async (golden, given, message) => {
  const { model, request } = await openPipelineGolden(golden);
  await expect(model.resolve({ ...request, ...given })).rejects.toThrow(message);
  await model.close();
});

it('a distilled FLUX.2 klein draws without guidance, and notes settings without effect', async () => {
  const distilled = changed('model_index.json', { is_distilled: true }, tinyPipeline('flux2-klein'));
  const { model } = await open({ model: distilled });
  expect(model.info.defaults).toMatchObject({ steps: 4, guidance: 1 });
  const request = { prompt: 'blue', seed: 1, steps: 1, width: 16, height: 16 };
  const kwargs = { max_sequence_length: 20 };
  const [plain, guided] = [
    await listen(model, { ...request, kwargs }),
    await listen(model, { ...request, kwargs, guidance: 3 }),
  ];
  expect(imagesOf(guided)).toEqual(imagesOf(plain));
  const notes = guided.flatMap((event) => (event.type === 'note' ? [event.message] : []));
  expect(notes).toEqual([
    '`guidance` changes nothing: this model is distilled to a few steps without guidance',
  ]);
  await model.close();
});

it('several input images are taken by models that edit, and refused by others', async () => {
  const { model, request } = await openPipelineGolden('pipeline-qwen-image-image');
  await expect(model.resolve({ ...request, furtherImages: [blank(8, 8)] })).rejects.toThrow(
    'QwenImageImg2ImgPipeline takes one image, and 2 images are given',
  );
  await model.close();
});
