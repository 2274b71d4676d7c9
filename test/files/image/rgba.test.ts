// Arithmetic on pixels in pages, against libvips.

import sharp, { type Sharp } from 'sharp';
import { describe, expect, it } from 'vitest';
import { type ImageHeader, readHeader, withoutOrientation } from '../../../src/files/image/image-header.ts';
import type { Pixels } from '../../../src/files/image/pixels.ts';
import { encodePng } from '../../../src/files/image/png-encode.ts';
import { flatten, greyscale, isOpaque, orient, transparency } from '../../../src/files/image/rgba.ts';

const raw = (data: Uint8Array, width: number, height: number, channels: 3 | 4): Sharp =>
  sharp(data, { raw: { width, height, channels } });

/** Each value beside each alpha. */
const ALL = Uint8Array.from({ length: 4 * 65_536 }, (_, at) => {
  const pixel = at >> 2;
  return at % 4 === 3 ? pixel >> 8 : pixel & 255;
});

/** Colours from a multiplicative generator, and all greys. */
function colours(width: number, height: number): Pixels {
  let state = 1;
  const data = Uint8Array.from({ length: 3 * width * height }, (_, at) => {
    if (at < 3 * 256) return Math.floor(at / 3);
    state = (state * 48_271) % 2_147_483_647;
    return (state >> 8) & (at % 7 === 0 ? 15 : 255);
  });
  return { width, height, data };
}

describe('transparency of an image', () => {
  it.each([
    [0, '#000000'],
    [255, '#ffffff'],
  ])('is composited over %d as libvips does', async (value, background) => {
    const png = await raw(ALL, 256, 256, 4).png().toBuffer();
    const expected = await sharp(png).flatten({ background }).raw().toBuffer();
    const { data } = flatten({ width: 256, height: 256, data: ALL }, value);
    expect(Buffer.compare(data, expected)).toBe(0);
  });

  it('is found and inverted', () => {
    const half = { width: 2, height: 1, data: Uint8Array.of(1, 2, 3, 255, 4, 5, 6, 100) };
    expect(isOpaque(half)).toBe(false);
    expect(isOpaque({ width: 1, height: 1, data: half.data.subarray(0, 4) })).toBe(true);
    expect([...transparency(half).data]).toEqual([0, 0, 0, 155, 155, 155]);
  });
});

it('a greyscale image has the values of libvips', async () => {
  const image = colours(300, 200);
  const expected = await raw(image.data, 300, 200, 3).greyscale().raw().toBuffer();
  const { data } = greyscale(image);
  const different = expected.filter((value, at) => value !== data[3 * at]);
  // Ties in 32-bit arithmetic may round differently.
  expect(different.length).toBeLessThan(6);
  expect(expected.every((value, at) => Math.abs(value - data[3 * at]!) <= 1)).toBe(true);
  expect(expected.subarray(0, 256).every((value, at) => value === at)).toBe(true);
});

describe.each(['png', 'jpeg', 'webp'] as const)('the header of a %s', (format) => {
  const file = (image: Pixels): Sharp =>
    raw(image.data, image.width, image.height, 3).toFormat(format, { lossless: true });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'states orientation %d, which turns pixels as libvips does',
    async (orientation) => {
      const bytes = await file(colours(67, 45)).withMetadata({ orientation }).toBuffer();
      expect(readHeader(bytes)).toMatchObject({ format, width: 67, height: 45, orientation, channels: 3 });
      const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
      const turned = await sharp(bytes).autoOrient().raw().toBuffer({ resolveWithObject: true });
      const ours = orient({ width: info.width, height: info.height, data }, orientation);
      expect([ours.width, ours.height]).toEqual([turned.info.width, turned.info.height]);
      expect(Buffer.compare(ours.data, turned.data)).toBe(0);
      const upright = withoutOrientation(bytes, readHeader(bytes) as ImageHeader);
      expect((await sharp(upright).metadata()).orientation ?? 1).toBe(1);
    },
  );

  it('states a profile', async () => {
    expect(readHeader(await file(colours(9, 40)).toBuffer())).toMatchObject({ hasProfile: false });
    const bytes = await file(colours(9, 40)).withIccProfile('p3').toBuffer();
    expect(readHeader(bytes)).toMatchObject({ width: 9, height: 40, hasProfile: true });
  });

  it('may be cut anywhere', async () => {
    const bytes = await file(colours(9, 40)).withMetadata({ orientation: 6 }).toBuffer();
    for (let length = 16; length < bytes.length; length++)
      expect(readHeader(bytes.subarray(0, length))).toMatchObject({ format });
  });
});

it('fill bytes between the segments of a JPEG are skipped', async () => {
  const { data, width, height } = colours(67, 45);
  const bytes = await raw(data, width, height, 3).withMetadata({ orientation: 6 }).jpeg().toBuffer();
  const filled = Buffer.concat([bytes.subarray(0, 2), Buffer.alloc(3, 0xff), bytes.subarray(2)]);
  expect((await sharp(filled).metadata()).orientation).toBe(6);
  expect(readHeader(filled)).toMatchObject({ width, height, orientation: 6 });
});

it('the header of other files gives their format, or nothing', async () => {
  const image = raw(colours(9, 40).data, 9, 40, 3);
  for (const format of ['gif', 'tiff'] as const)
    expect(readHeader(await image.clone().toFormat(format).toBuffer())).toBe(format);
  expect(readHeader(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))).toBe('svg');
  expect(readHeader(Buffer.from('no image at all'))).toBeNull();
  const cmyk = await image.clone().toColourspace('cmyk').jpeg().toBuffer();
  expect(readHeader(cmyk)).toMatchObject({ channels: 4 });
  const lossy = await image.clone().webp().toBuffer();
  expect(readHeader(lossy)).toMatchObject({ width: 9, height: 40 });
});

it.each([
  [1, 1],
  [37, 23],
  [300, 200],
])('a PNG of %d × %d has the pixels that are encoded', async (width, height) => {
  const image = colours(Math.max(width, 16), Math.max(height, 16));
  const cut = { width, height, data: image.data.slice(0, 3 * width * height) };
  const { data, info } = await sharp(await encodePng(cut))
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect(info).toMatchObject({ width, height, channels: 3 });
  expect(Buffer.compare(data, cut.data)).toBe(0);
});
