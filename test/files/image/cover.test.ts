// Scaling an image to cover a size, against Pillow (scripts/reference/cover.py).

import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { coverImage } from '../../../src/files/image/cover.ts';
import type { Pixels } from '../../../src/files/image/pixels.ts';

interface Golden {
  from: [number, number];
  to: [number, number];
  pixels: string;
}

const file = new URL('../../golden/cover.json', import.meta.url);
const goldens = JSON.parse(readFileSync(file, 'utf8')) as Golden[];

function imageOf(
  width: number,
  height: number,
  value: (x: number, y: number, channel: number) => number,
): Pixels {
  const data = Uint8Array.from({ length: 3 * width * height }, (_, at) => {
    const pixel = Math.floor(at / 3);
    return value(pixel % width, Math.floor(pixel / width), at % 3);
  });
  return { width, height, data };
}

const busy = (x: number, y: number, channel: number): number =>
  (x * 37 + y * 61 + channel * 83 + x * y * 7) % 256;

const smooth = (x: number, y: number, channel: number): number =>
  127 + 60 * Math.sin(channel + x / 40) + 60 * Math.cos(channel + y / 30);

describe('coverImage', () => {
  it.each(goldens)('scales $from to $to as Pillow does', async ({ from, to, pixels }) => {
    const covered = await coverImage(imageOf(...from, busy), ...to);
    expect([covered.width, covered.height]).toEqual(to);
    expect(Buffer.from(covered.data).toString('base64')).toBe(pixels);
  });

  it.each([
    [640, 480, 80, 60],
    [800, 400, 50, 50],
    [300, 450, 100, 50],
  ])('scales a smooth image of %d × %d to %d × %d as libvips does', async (width, height, ...to) => {
    const image = imageOf(width, height, smooth);
    const { data } = await coverImage(image, ...to);
    const expected = await sharp(image.data, { raw: { width, height, channels: 3 } })
      .resize(...to, { fit: 'cover', kernel: 'lanczos3' })
      .raw()
      .toBuffer();
    // libvips crops at whole pixels of the scaled image, and averages pixels before it filters them. 2 was measured.
    expect(Math.max(...data.map((value, at) => Math.abs(value - expected[at]!)))).toBeLessThanOrEqual(3);
  });

  it('runs the event loop while it scales a large image, whose bands fit together', async () => {
    const [width, height] = [2400, 1600];
    const data = new Uint8Array(3 * width * height);
    for (let y = 0; y < height; y++) data.fill(y >> 3, 3 * width * y, 3 * width * (y + 1));
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    const covered = await coverImage({ width, height, data }, 400, 400);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
    // A step of brightness each two rows of the result.
    const rows = Array.from({ length: 400 }, (_, y) => covered.data[3 * 400 * y]!);
    const expected = rows.map((_, y) => (4 * y + 1.5) / 8 - 0.5);
    expect(rows.every((value, y) => Math.abs(value - expected[y]!) <= 1)).toBe(true);
  });

  it('returns an image of that size itself', async () => {
    const image = imageOf(8, 8, busy);
    expect(await coverImage(image, 8, 8)).toBe(image);
  });
});
