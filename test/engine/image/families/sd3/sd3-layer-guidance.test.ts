// Call arguments of skip-layer guidance: the values that are taken, blocks that a model does not have, and notes where they change nothing.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ImageModel } from '../../../../../src/engine/image/calls/image-model.ts';
import { readCallArguments } from '../../../../../src/engine/image/calls/call-arguments.ts';
import { pipelineEntry } from '../../../../../src/engine/image/families/registry.ts';
import {
  layerGuidance,
  layerGuidanceNotes,
} from '../../../../../src/engine/image/families/sd3/sd3-layer-guidance.ts';
import type { RunRequest } from '../../../../../src/engine/image/blocks/family.ts';
import { openPipelineGolden } from '../../pipeline-golden.ts';

const CLASS = 'StableDiffusion3Pipeline';
const MODEL = { components: [], settings: {} };
const read = (
  kwargs: object,
  className = CLASS,
  task: 'text-to-image' | 'image-to-image' = 'text-to-image',
) =>
  readCallArguments(
    kwargs as Record<string, unknown>,
    className,
    pipelineEntry(className).set.callArguments(task, MODEL),
  ).call;

type Request = Pick<RunRequest, 'values' | 'call'>;
const asked = (kwargs: object, steps: number): Request => ({
  values: { steps, guidance: 5 } as RunRequest['values'],
  call: read(kwargs),
});
const stepsOf = (kwargs: object, steps: number): number[] => {
  const rule = layerGuidance(asked(kwargs, steps));
  return rule ? Array.from({ length: steps }, (_, i) => i).filter((i) => rule.isIn(i)) : [];
};

describe('steps with a pass that leaves out some blocks', () => {
  it.each([
    [{ skip_guidance_layers: [7, 8, 9] }, 28, [1, 2, 3, 4, 5]],
    [{ skip_guidance_layers: [7], skip_layer_guidance_start: 0, skip_layer_guidance_stop: 1 }, 4, [1, 2, 3]],
    [{ skip_guidance_layers: [7], skip_layer_guidance_start: 0.25 }, 8, []],
    [
      { skip_guidance_layers: [7], skip_layer_guidance_start: 0.25, skip_layer_guidance_stop: 0.75 },
      8,
      [3, 4, 5],
    ],
    [{ skip_guidance_layers: [] }, 28, []],
    [{ skip_guidance_layers: null }, 28, []],
    [{ skip_layer_guidance_scale: 3 }, 28, []],
  ])('%j of %d', (kwargs, steps, wanted) => {
    expect(stepsOf(kwargs, steps)).toEqual(wanted);
  });

  it('have the scale of diffusers where none is given', () => {
    expect(layerGuidance(asked({ skip_guidance_layers: [1] }, 28))).toMatchObject({ scale: 2.8 });
    expect(
      layerGuidance(asked({ skip_guidance_layers: [1], skip_layer_guidance_scale: -1 }, 28)),
    ).toMatchObject({ scale: -1 });
  });
});

describe('call arguments of layer guidance are refused', () => {
  it.each([
    [{ skip_guidance_layers: [-1] }, 'skip_guidance_layers is [-1], it takes a list of at most'],
    [{ skip_guidance_layers: 7 }, 'skip_guidance_layers is 7, it takes a list of at most'],
    [{ skip_layer_guidance_stop: 1.5 }, 'skip_layer_guidance_stop is 1.5, it takes a number from 0 to 1'],
    [{ skip_layer_guidance_scale: '2' }, 'skip_layer_guidance_scale is "2", it takes a number'],
  ])('%j', (kwargs, message) => {
    expect(() => read(kwargs)).toThrow(message);
  });

  it('by the class that starts from an image, as in diffusers', () => {
    const name = 'StableDiffusion3Img2ImgPipeline';
    expect(() => read({ skip_guidance_layers: [1] }, name, 'image-to-image')).toThrow(
      `${name} has no call argument skip_guidance_layers`,
    );
  });
});

it.each([
  [
    { skip_layer_guidance_scale: 3 },
    true,
    'skip_layer_guidance_scale changes nothing: skip_guidance_layers names no blocks',
  ],
  [
    { skip_guidance_layers: [1] },
    true,
    'skip_guidance_layers changes nothing: of 4 steps none lies between skip_layer_guidance_start and skip_layer_guidance_stop',
  ],
  [{ skip_guidance_layers: [1], skip_layer_guidance_stop: 1 }, true, null],
])('a note names layer guidance without effect: %j', (kwargs, isGuided, note) => {
  expect(layerGuidanceNotes(asked(kwargs, 4), isGuided)).toEqual(note === null ? [] : [note]);
});

describe('a model with layer guidance', () => {
  let model: ImageModel;
  const request = { prompt: 'a house', seed: 1, width: 32, height: 32, steps: 5 };
  beforeAll(async () => void ({ model } = await openPipelineGolden('pipeline-sd3-skip-dual')));
  afterAll(() => model.close());

  it('refuses blocks that it does not have', async () => {
    const kwargs = { skip_guidance_layers: [1, 3] };
    await expect(model.resolve({ ...request, kwargs })).rejects.toMatchObject({
      code: 'bad_request',
      message:
        'the call argument skip_guidance_layers has 3, and the blocks of this transformer are 0 to 2: name others',
    });
  });

  it('says that blocks are left out of no pass without guidance', { timeout: 120_000 }, async () => {
    const kwargs = { skip_guidance_layers: [1] };
    const notes: string[] = [];
    for await (const event of model.generate({ ...request, steps: 1, guidance: 1, kwargs }))
      if (event.type === 'note') notes.push(event.message);
    expect(notes).toEqual([
      'skip_guidance_layers changes nothing: at `guidance` 1 this model makes no pass without the prompt, and like in diffusers none without these blocks',
    ]);
  });
});
