// Requests that are valid, by the pipeline's class and the given source images.

import { describe, expect, it } from 'vitest';
import { pipelineEntry } from '../../../../src/engine/image/families/registry.ts';
import { checkSecondNegative } from '../../../../src/engine/image/families/stable-diffusion/unet-model.ts';
import { StepPlanner } from '../../../../src/engine/image/stages/step-planner.ts';
import type { CompleteImageRequest } from '../../../../src/engine/image/calls/image-model.ts';
import { resolveRequest } from '../../../../src/engine/image/request/resolve.ts';
import type { Resolved } from '../../../../src/engine/image/stages/resolved.ts';

const image = { width: 64, height: 64, data: new Uint8Array(3 * 64 * 64) };

function resolved(
  className: string,
  request: Partial<CompleteImageRequest>,
  refines = false,
  steps?: number,
): Resolved {
  const pipeline = pipelineEntry(className);
  const isXL = className.startsWith('StableDiffusionXL');
  const planner = new StepPlanner(
    { _class_name: 'EulerDiscreteScheduler' },
    {
      sigmas: null,
      strength: pipeline.set.strength,
      latents: { ...pipeline.family.latents, channels: 4, factor: 8 },
      path: '/m/scheduler',
    },
  );
  return resolveRequest(
    { prompt: 'a house', seed: 1, ...request },
    {
      pipeline,
      model: {
        components: ['text_encoder_2', ...(isXL && !refines ? ['text_encoder'] : [])],
        settings: { requires_aesthetics_score: refines },
      },
      sizeMultiple: 8,
      framesPerLatent: null,
      frameImages: null,
      controls: 0,
      seesControl: false,
      takesImagePrompt: false,
      upscaling: null,
      defaults: { width: 64, height: 64, steps },
      backend: 'generic',
      schedulers: ['EulerDiscreteScheduler'],
      schedulerOf: (name) => planner.nameOf(name),
      stepsOf: (call, name) => planner.stepsOf(call, name),
      mostClipSkip: 2,
      needsMask: false,
      checkRequest: (request) => checkSecondNegative(request, isXL),
    },
  );
}

const SD = 'StableDiffusionPipeline';
const XL = 'StableDiffusionXLPipeline';
const Z = 'ZImagePipeline';

describe('call arguments', () => {
  it.each([
    [SD, { eta: 0.5, guidance_rescale: 0.3, output_type: 'pil', negative_prompt: null }, { eta: 0.5 }],
    ['LatentConsistencyModelPipeline', { original_inference_steps: 20 }, { originalSteps: 20 }],
    [
      'Lumina2Pipeline',
      { system_prompt: '', cfg_trunc_ratio: 0.25, cfg_normalization: false },
      { systemPrompt: '', cfgTruncation: 0.25, cfgNormalization: 0 },
    ],
    [XL, { negative_target_size: [32, 48] }, { negativeTargetSize: [32, 48] }],
    [XL, { prompt_2: 'a hut', latents: null }, { prompt2: 'a hut' }],
    ['LatentConsistencyModelPipeline', { timesteps: [999, 499] }, { timesteps: [999, 499] }],
    [Z, { sigmas: [1, 0.5], cfg_normalization: true }, { sigmas: [1, 0.5], cfgNormalization: 1 }],
  ])('of %s: %j', (className, kwargs, call) => {
    expect(resolved(className, { kwargs }).call).toEqual(call);
  });

  it('are those of the class that draws from an image where one is given', () => {
    const kwargs = { strength: 0.25 };
    for (const className of [SD, XL, Z, 'LatentConsistencyModelPipeline']) {
      expect(resolved(className, { kwargs, image }).event.values.strength).toBe(0.25);
      expect(resolved(className, { kwargs, image, mask: image }).event.values.strength).toBe(0.25);
    }
    const scores = { aesthetic_score: 7, negative_aesthetic_score: 2 };
    expect(resolved('StableDiffusionXLImg2ImgPipeline', { kwargs: scores, image }, true).call).toEqual({
      aestheticScore: 7,
      negativeAestheticScore: 2,
    });
  });

  it.each<[string, Partial<CompleteImageRequest>, RegExp]>([
    [SD, { kwargs: { strength: 0.5 } }, /^StableDiffusionPipeline has no call argument strength; it takes/],
    [SD, { kwargs: { guidance_rescale: 0.5 }, image }, /^StableDiffusionImg2ImgPipeline has no .*_rescale/],
    [SD, { kwargs: { toString: 1 } }, /no call argument toString/],
    [SD, { kwargs: { latents: [0] } }, /latents of diffusers' pipelines is not built: leave it out;/],
    [SD, { kwargs: { sigmas: [] } }, /sigmas is \[\], it takes a list of at most 1001 numbers of at least 0/],
    [
      SD,
      { kwargs: { timesteps: [999.5] } },
      /timesteps is \[999.5\], it takes a list of at most 1001 integers of at/,
    ],
    [SD, { kwargs: { timesteps: [999], sigmas: [14, 0] } }, /timesteps and sigmas each .*: give one of them/],
    [SD, { kwargs: { prompt_2: 'x' } }, /^StableDiffusionPipeline has no call argument prompt_2/],
    [SD, { kwargs: { prompt: 'x' } }, /prompt of diffusers' .* not built: give it beside the call arguments/],
    [SD, { kwargs: { output_type: 'latent' } }, /output_type is "latent", it takes "pil", an image/],
    [XL, { kwargs: { prompt_2: 3 } }, /prompt_2 is 3, it takes a string/],
    [XL, { kwargs: { denoising_end: 0 } }, /denoising_end is 0, it takes a number above 0 and at most 1/],
    [
      XL,
      { kwargs: { denoising_start: 0.8 } },
      /^StableDiffusionXLPipeline has no call argument denoising_start/,
    ],
    [SD, { kwargs: { denoising_end: 0.8 } }, /no call argument denoising_end/],
    [
      XL,
      { kwargs: { denoising_start: 1 }, image },
      /denoising_start is 1, it takes a number between 0 and 1/,
    ],
    [
      XL,
      { kwargs: { denoising_start: 0.8, denoising_end: 0.8 }, image },
      /denoising_start is 0.8, and denoising_end 0.8: the start comes before the end/,
    ],
    [XL, { kwargs: { aesthetic_score: 7 }, image }, /no call argument aesthetic_score/],
    ['LatentConsistencyModelPipeline', { kwargs: { eta: 0 } }, /no call argument eta/],
    ['LatentConsistencyModelPipeline', { kwargs: { sigmas: [1] } }, /no call argument sigmas/],
    [Z, { kwargs: { clip_skip: 1 } }, /^ZImagePipeline has no call argument clip_skip/],
    [
      'Lumina2Pipeline',
      { kwargs: { cfg_normalization: 2 } },
      /cfg_normalization is 2, it takes true or false/,
    ],
  ])('of %s refused: %#', (className, request, message) => {
    expect(() => resolved(className, request)).toThrow(
      expect.objectContaining({
        code: 'bad_request',
        param: 'kwargs',
        message: expect.stringMatching(message),
      }),
    );
  });
});

it.each([
  [SD, { timesteps: [999, 500, 20] }, 3],
  [SD, { sigmas: [14, 3, 0] }, 2],
  [XL, { sigmas: [14, 3, 1, 0] }, 3],
])('a list of steps for %s is their number: %j', (className, kwargs, steps) => {
  const { event } = resolved(className, { steps: 20, kwargs: { num_inference_steps: 9, ...kwargs } });
  expect(event).toMatchObject({ values: { steps }, sources: { steps: 'kwargs' } });
});

it('the source of a size is the image to start from, if it is taken from there', () => {
  const sizes = (request: Partial<CompleteImageRequest>) => {
    const { width, height } = resolved(SD, request).event.sources;
    return [width, height];
  };
  expect(sizes({ image })).toEqual(['image', 'image']);
  expect(sizes({ image, width: 64 })).toEqual(['request', 'image']);
  expect(sizes({})).toEqual(['model', 'model']);
});

it('a refused size says that it comes from the image, if the request has none', () => {
  const thin = { width: 3000, height: 3, data: new Uint8Array(3 * 9000) };
  expect(() => resolved(SD, { image: thin, height: 64 })).toThrow(
    expect.objectContaining({
      param: 'width',
      message:
        "width by the image's proportions is 64000; it is an integer from 8 to 16384: give `width` and `height`",
    }),
  );
  expect(() => resolved(SD, { image: thin, width: 64004 })).toThrow(/^width is 64004;/);
});

it("the reason of a model's own steps says that they were raised", () => {
  const of = (request: Partial<CompleteImageRequest>) =>
    resolved(SD, { image, strength: 0.1, ...request }, false, 4).event;
  expect(of({})).toMatchObject({
    values: { steps: 10 },
    sources: { steps: 'model' },
    reasons: { steps: 'its 4, raised to leave one at strength 0.1' },
  });
  expect(of({ strength: 0.8 }).reasons).toEqual({});
  expect(of({ steps: 20 }).reasons).toEqual({});
});

it('a mask that a crop follows has white in it', () => {
  const request = { kwargs: { padding_mask_crop: 8 }, image };
  expect(() => resolved(SD, { ...request, mask: image })).toThrow(
    expect.objectContaining({ code: 'bad_request', param: 'mask', message: expect.stringMatching(/black/) }),
  );
  const mask = { ...image, data: image.data.map((_, at) => (at < 3 ? 255 : 0)) };
  expect(resolved(SD, { ...request, mask }).call).toEqual({ maskPadding: 8 });
  expect(() => resolved(SD, request)).toThrow(/Img2ImgPipeline has no call argument padding_mask_crop/);
});

describe('texts for the second encoder', () => {
  it('are not for a model that has one', () => {
    const refiner = () =>
      resolved('StableDiffusionXLImg2ImgPipeline', { kwargs: { prompt_2: 'x' }, image }, true);
    expect(refiner).toThrow(/prompt_2 is for the second of two text encoders, and this model has one/);
  });

  it('need a negative prompt for both encoders', () => {
    const kwargs = { negative_prompt_2: 'fog' };
    expect(resolved(XL, { kwargs, negativePrompt: 'rain' }).call).toEqual({ negativePrompt2: 'fog' });
    expect(() => resolved(XL, { kwargs })).toThrow(
      expect.objectContaining({ code: 'bad_request', param: 'negative_prompt_2' }),
    );
  });
});

describe('fields that only flow models take', () => {
  it('reach them, from the request before the call arguments', () => {
    const kwargs = { max_sequence_length: 20 };
    expect(resolved(Z, { kwargs }).request.maxSequenceLength).toBe(20);
    const request = { kwargs, maxSequenceLength: 30, flowShift: 6 };
    expect(resolved(Z, request).request).toMatchObject({ maxSequenceLength: 30, flowShift: 6 });
  });

  it.each([
    [SD, { flowShift: 3 }, 'flowShift', /not for stable-diffusion/],
    [XL, { maxSequenceLength: 3 }, 'maxSequenceLength', /not for stable-diffusion-xl/],
    [Z, { flowShift: 0 }, 'flowShift', /flowShift is 0; it is a number above 0/],
    [Z, { maxSequenceLength: 1.5 }, 'maxSequenceLength', /is 1.5; it is an integer of at least 1/],
  ])('are refused: %s %j', (className, request, param, message) => {
    expect(() => resolved(className, request)).toThrow(
      expect.objectContaining({ code: 'bad_request', param, message: expect.stringMatching(message) }),
    );
  });
});

it.each([
  ['StableDiffusionImg2ImgPipeline', {}, 'image'],
  ['StableDiffusionInpaintPipeline', {}, 'image'],
  ['StableDiffusionXLInpaintPipeline', { image }, 'mask'],
  ['LatentConsistencyModelImg2ImgPipeline', {}, 'image'],
  ['ZImageInpaintPipeline', { image }, 'mask'],
  [SD, { strength: 0.5 }, 'strength'],
])('a request for %s with %j lacks a field', (className, request, param) => {
  expect(() => resolved(className, request)).toThrow(
    expect.objectContaining({
      code: 'bad_request',
      param,
      message: expect.stringContaining('none is given'),
    }),
  );
  expect(resolved(className, { ...request, image, mask: image }).event.values.strength).not.toBeNull();
});

it.each<[string, string, Partial<CompleteImageRequest>, number]>([
  ['an image', SD, { image }, 2],
  ['less of an image', XL, { image, strength: 0.3 }, 4],
  ['a mask, which is drawn anew', SD, { image, mask: image }, 1],
  ['no image', SD, {}, 1],
  ['a number of steps of its own', SD, { image, steps: 1 }, 1],
  ['a flow model, where a part of a step is one', Z, { image, strength: 0.3 }, 1],
  ['LCM, which spreads its steps', 'LatentConsistencyModelPipeline', { image, strength: 0.3 }, 1],
])('a single step is raised until a strength leaves one: %s', (_, className, request, steps) => {
  expect(resolved(className, request, false, 1).event.values.steps).toBe(steps);
});

describe('fields of a request', () => {
  it('that are undefined leave those of call arguments', () => {
    const { request, event } = resolved(SD, {
      clipSkip: undefined,
      kwargs: { clip_skip: 2 },
    });
    expect([request.clipSkip, event.values.clipSkip]).toEqual([2, 2]);
  });

  it('give the last image a seed of its own', () => {
    const seed = Number.MAX_SAFE_INTEGER - 1;
    expect(resolved(SD, { seed, samples: 2 }).event.values.samples).toBe(2);
    expect(() => resolved(SD, { seed, samples: 3 })).toThrow(/last of 3 images would have one above/);
  });
});

it('a mask in colours becomes grey', () => {
  const mask = { width: 1, height: 2, data: Uint8Array.of(0, 255, 0, 0, 0, 255) };
  const { request } = resolved('StableDiffusionInpaintPipeline', { image, mask, kwargs: {} });
  expect([...request.mask!.data]).toEqual([150, 150, 150, 29, 29, 29]);
});
