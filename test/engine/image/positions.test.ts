// Sizes and texts for which a model has no positions are refused by the field that is to blame, and guidance without a second text is noted.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ImageModel, CompleteImageRequest } from '../../../src/engine/image/calls/image-model.ts';
import { imagesOf, listen, openPipelineGolden } from './pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const words = (count: number): string => Array<string>(count).fill('sea').join(' ');

describe.each<
  [
    string,
    long: Partial<CompleteImageRequest>,
    cases: readonly (readonly [Partial<CompleteImageRequest>, string, string])[],
  ]
>([
  [
    'pipeline-z-image',
    {},
    [
      [{ height: 264 }, 'height', "a height of 33 patches exceeds the model's 32: choose a smaller image"],
      [{ width: 272 }, 'width', "a width of 34 patches exceeds the model's 32: choose a smaller image"],
      [
        { maxSequenceLength: 225 },
        'maxSequenceLength',
        'maxSequenceLength is 225; the model reads at most 224 tokens of a prompt: choose at most that',
      ],
    ],
  ],
  [
    'pipeline-lumina2',
    { maxSequenceLength: 512 },
    [
      [{ height: 528 }, 'height', "a height of 33 patches exceeds the model's 32: choose a smaller image"],
      [{ width: 544 }, 'width', "a width of 34 patches exceeds the model's 32: choose a smaller image"],
      [
        { maxSequenceLength: 513 },
        'maxSequenceLength',
        'maxSequenceLength is 513; the model reads at most 512 tokens of a prompt: choose at most that',
      ],
    ],
  ],
])('positions of %s', (golden, long, cases) => {
  let model: ImageModel;
  let request: CompleteImageRequest;
  beforeAll(async () => void ({ model, request } = await openPipelineGolden(golden)));
  afterAll(() => model.close());

  it.each(cases)('refuses %j before anything is encoded', async (given, param, message) => {
    const { kwargs: { height: _, width: __, ...kwargs } = {}, ...others } = request;
    const size = { height: 32, width: 48 };
    await expect(model.resolve({ ...others, kwargs, ...size, ...given })).rejects.toMatchObject({
      code: 'bad_request',
      param,
      message,
    });
  });

  it('refuses a prompt that is too long by its name', async () => {
    await expect(listen(model, { ...request, ...long, prompt: words(400) })).rejects.toMatchObject({
      code: 'bad_request',
      param: 'prompt',
    });
  });
});

it('an instruction that is too long for Qwen-Image-Edit is refused by its name', async () => {
  const { model, request } = await openPipelineGolden('pipeline-qwen-image-edit');
  await expect(listen(model, { ...request, prompt: words(4200) })).rejects.toMatchObject({
    code: 'bad_request',
    param: 'prompt',
    message: expect.stringMatching(/^a prompt of \d{4} tokens behind an image of \d+ patches a side exceeds/),
  });
  await model.close();
});

it('true guidance of FLUX.1 without a negative prompt is noted, and has no effect', async () => {
  const { model, request } = await openPipelineGolden('pipeline-flux');
  const kwargs = { ...request.kwargs, num_inference_steps: 1, max_sequence_length: 20 };
  const drawn = async (more: object) => {
    const events = await listen(model, { ...request, samples: 1, kwargs: { ...kwargs, ...more } });
    const notes = events.flatMap((event) => (event.type === 'note' ? [event.message] : []));
    return { notes, image: imagesOf(events)[0] };
  };
  const plain = await drawn({});
  const unguided = await drawn({ true_cfg_scale: 2 });
  const guided = await drawn({ true_cfg_scale: 2, negative_prompt: '' });
  await model.close();
  expect(plain.notes).toEqual([]);
  expect(unguided.notes).toEqual([
    'true_cfg_scale 2 changes nothing: no negative prompt is given, and like in diffusers there is no pass without the prompt: give `negativePrompt`, which may be empty',
  ]);
  expect(unguided.image).toEqual(plain.image);
  expect(guided.notes).toEqual([]);
  expect(guided.image).not.toEqual(plain.image);
});
