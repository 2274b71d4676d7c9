// The images of a clip's first and last frame that a request gives, and those that a model takes.

import { expect, it } from 'vitest';
import type { FrameImages } from '../../../../src/engine/image/blocks/family.ts';
import { pipelineEntry } from '../../../../src/engine/image/families/registry.ts';
import { checkFrameImages } from '../../../../src/engine/image/request/frame-images.ts';

const image = { width: 1, height: 1, data: new Uint8Array(3) };
const TEXT = null;
const FIRST: FrameImages = { first: 'may', last: 'never', encoded: 'image' };
const BOTH: FrameImages = { first: 'must', last: 'must', encoded: 'clip' };
const EITHER: FrameImages = { first: 'must', last: 'may', encoded: 'clip' };

function check(
  frameImages: FrameImages | null,
  given: { image?: typeof image; lastImage?: typeof image },
  frames = 5,
): void {
  const context = { frameImages, framesPerLatent: 4, pipeline: pipelineEntry('WanPipeline') };
  checkFrameImages(
    { prompt: '', seed: 0, ...given },
    { frames } as Parameters<typeof checkFrameImages>[1],
    context as Parameters<typeof checkFrameImages>[2],
  );
}

it('a request gives the images that its model takes', () => {
  for (const [model, given] of [
    [TEXT, {}],
    [FIRST, {}],
    [FIRST, { image }],
    [EITHER, { image }],
    [EITHER, { image, lastImage: image }],
    [BOTH, { image, lastImage: image }],
  ] as const)
    expect(() => check(model, given)).not.toThrow();
});

it.each([
  [TEXT, { image }, 'image', 'this model draws clips from a text alone: leave `image` out'],
  [EITHER, {}, 'image', 'this model draws clips from the image of their first frame: give `image`'],
  [
    FIRST,
    { image, lastImage: image },
    'lastImage',
    'this model draws clips from the image of their first frame alone: leave `lastImage` out',
  ],
  [
    BOTH,
    { image },
    'lastImage',
    'this model draws clips from the images of their first and last frame: give `lastImage` too',
  ],
])('%j with %j is refused', (model, given, param, message) => {
  expect(() => check(model, given)).toThrow(
    expect.objectContaining({ code: 'bad_request', param, message }) as Error,
  );
});

it('a request for one frame gives no image of a last frame', () => {
  expect(() => check(EITHER, { image, lastImage: image }, 1)).toThrow(
    'frames is 1, and images of two frames are given: leave `lastImage` out, or draw more frames',
  );
});

it('images are refused where the autoencoder decodes only', () => {
  const context = {
    frameImages: FIRST,
    decodesOnly: true,
    framesPerLatent: 4,
    pipeline: pipelineEntry('WanPipeline'),
  };
  expect(() =>
    checkFrameImages(
      { prompt: '', seed: 0, image },
      { frames: 1 } as Parameters<typeof checkFrameImages>[1],
      context as Parameters<typeof checkFrameImages>[2],
    ),
  ).toThrow('the autoencoder of this model was replaced by one that decodes only: leave `image` out');
});
