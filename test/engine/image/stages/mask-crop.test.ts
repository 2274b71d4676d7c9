// What lies around a mask, cut out, brought to the size that is drawn and laid back, against diffusers' image processor and
// Pillow (scripts/reference/mask_crop.py).

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Pixels } from '../../../../src/engine/image/calls/image-model.ts';
import { crop, cropRegion, overlay, within } from '../../../../src/engine/image/stages/mask-crop.ts';

interface Golden {
  size: [number, number];
  marked: [number, number, number, number];
  drawn: [number, number];
  padding: number;
  region: [number, number, number, number];
  image: string;
  mask: string;
  shown: string;
}

const file = new URL('../../../golden/mask-crop.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: Record<string, Golden> };

function imageOf([width, height]: [number, number], turn = 0): Pixels {
  const data = Uint8Array.from({ length: 3 * width * height }, (_, at) => {
    const [x, y, channel] = [Math.floor(at / 3) % width, Math.floor(at / 3 / width), at % 3];
    return (x * 37 + y * 61 + channel * 83 + x * y * 7 + turn * 101) % 256;
  });
  return { width, height, data };
}

function maskOf({ size: [width, height], marked: [left, top, right, bottom] }: Golden): Pixels {
  const data = Uint8Array.from({ length: 3 * width * height }, (_, at) => {
    const [x, y] = [Math.floor(at / 3) % width, Math.floor(at / 3 / width)];
    if (x < left || x >= right || y < top || y >= bottom) return 0;
    return x === left ? 90 : 255;
  });
  return { width, height, data };
}

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));

describe.each(Object.entries(cases))('the crop of a mask, %s', (_, golden) => {
  const image = imageOf(golden.size);
  const mask = maskOf(golden);
  const [width, height] = golden.drawn;
  const region = cropRegion(mask, { width, height }, golden.padding);
  const part = (one: Pixels) => within(crop(one, region), { width, height }).data;

  it('is cut out where diffusers cuts', () => {
    expect([region.left, region.top, region.right, region.bottom]).toEqual(golden.region);
  });

  it('has Pillow’s pixels', () => {
    expect(part(image)).toEqual(bytes(golden.image));
    expect(part(mask).filter((__, at) => at % 3 === 0)).toEqual(bytes(golden.mask));
  });

  it('is laid back within one of 255', () => {
    const shown = overlay(image, mask, imageOf(golden.drawn, 1), region);
    expect([shown.width, shown.height]).toEqual(golden.size);
    const wanted = bytes(golden.shown);
    expect(shown.data.filter((value, at) => Math.abs(value - wanted[at]!) > 1)).toHaveLength(0);
    for (const [at, share] of mask.data.entries()) {
      if (share === 0) expect(shown.data[at]).toBe(image.data[at]);
    }
  });
});
