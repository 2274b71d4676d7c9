// Decoded media of a request: whole ones pass, and others are refused before anything reads them.

import { describe, expect, it } from 'vitest';
import type { MediaKind } from '../../../src/files/media/decoded.ts';
import { checkGiven, coloursOf } from '../../../src/files/media/given.ts';

const BOUNDS = { maxImagePixels: 12, maxVideoPixels: 100, maxVideoFrames: 3, maxMediaSeconds: 2 };
const check = (kind: MediaKind, given: unknown) => () => checkGiven(kind, given, 'it', BOUNDS);

const pixels = (width: number, height: number, channels = 3) => ({
  width,
  height,
  data: new Uint8Array(width * height * channels),
});
const SOURCE = { width: 2, height: 2, frames: 2, fps: 1, duration: 2 };
const CLIP = { source: SOURCE, frames: [pixels(2, 2), pixels(2, 2)], indices: [0, 1] };
const clipOf = (count: number, side: number) => ({
  source: { ...SOURCE, frames: 1 },
  frames: Array.from({ length: count }, () => pixels(side, side)),
  indices: Array<number>(count).fill(0),
});
const SOUND = { samples: new Float32Array(2000), rate: 1000 };

describe('checkGiven() accepts', () => {
  it.each<[MediaKind, unknown]>([
    ['image', new Uint8Array(3)],
    ['image', pixels(4, 3)],
    ['image', pixels(4, 3, 4)],
    ['image', { width: 1, height: 2, data: new Uint8ClampedArray(8) }],
    ['video', CLIP],
    ['audio', SOUND],
  ])('%s %#', (kind, given) => expect(check(kind, given)).not.toThrow());
});

describe('checkGiven() refuses', () => {
  it.each<[MediaKind, unknown, RegExp, maxImagePixels?: number]>([
    ['image', 'data:image/png;base64,AA', /^it is string: give the bytes of a file/],
    ['image', null, /^it is object/],
    ['image', { ...pixels(2, 2), width: 2.5 }, /a width of 2.5/],
    ['image', { ...pixels(2, 2), height: 0 }, /a height of 0/],
    ['image', { ...pixels(2, 2), width: 3 }, /has 12 bytes of data for 3 × 2 pixels/],
    ['image', { width: 1, height: 1, data: [1, 2, 3] }, /has no bytes of data/],
    ['image', pixels(13, 1), /13 × 1 pixels, above the limit of 12/],
    ['video', { ...CLIP, frames: [] }, /no frames/],
    ['video', { ...CLIP, indices: [0] }, /no index for each of its 2 frames/],
    ['video', { ...CLIP, source: { ...SOURCE, fps: 0 } }, /a source without/],
    ['video', { frames: CLIP.frames, indices: [0, 1] }, /a source without/],
    ['video', { ...CLIP, source: { ...SOURCE, duration: 3 } }, /lasts 3 seconds/],
    ['video', { ...CLIP, frames: [pixels(2, 2), pixels(2, 1)] }, /frames.1 has another size/],
    ['video', { ...CLIP, frames: [pixels(2, 2), pixels(2, 2, 4)] }, /frames.1 has alpha/],
    ['video', clipOf(4, 2), /^it has 4 frames, above the limit of 3/],
    ['video', clipOf(3, 6), /^it has 3 frames of 6 × 6 pixels, above the limit of 100/, 1000],
    [
      'video',
      { ...CLIP, indices: [0, 2] },
      /^it has a frame of index 2, and its source 2 frames: give indices/,
    ],
    ['audio', { ...SOUND, samples: [0] }, /no samples/],
    ['audio', { ...SOUND, rate: NaN }, /a rate of NaN/],
    ['audio', { ...SOUND, rate: 1000.5 }, /a rate of 1000.5: give a whole number of samples per second/],
    ['audio', { ...SOUND, rate: 400_000 }, /a rate of 400000/],
    ['audio', { ...SOUND, samples: Float32Array.of(0, NaN) }, /samples that are not finite/],
    ['audio', { ...SOUND, rate: 500 }, /lasts 4 seconds, above the limit of 2/],
  ])('%s %#', (kind, given, message, maxImagePixels = BOUNDS.maxImagePixels) => {
    expect(() => checkGiven(kind, given, 'it', { ...BOUNDS, maxImagePixels })).toThrow(
      expect.objectContaining({ code: 'bad_request', message: expect.stringMatching(message) as string }),
    );
  });
});

it('alpha of a given image is laid over white, or dropped', () => {
  const image = { width: 2, height: 1, data: Uint8ClampedArray.of(10, 20, 30, 255, 100, 100, 100, 51) };
  expect([...coloursOf(image, 'white').data]).toEqual([10, 20, 30, 224, 224, 224]);
  expect([...coloursOf(image, 'dropped').data]).toEqual([10, 20, 30, 100, 100, 100]);
});
