import { readFileSync } from 'node:fs';
import { deflateSync, inflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, it, vi } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import { BAND_PIXELS } from '../../../src/files/image/bands.ts';
import { latin1Bytes, PNG_SIGNATURE, pngChunk } from '../../../src/files/image/file-parts.ts';
import type { Pixels } from '../../../src/files/image/pixels.ts';
import { overWhite } from '../../../src/files/image/rgba.ts';
import { readImage } from '../../../src/files/media/read-image.ts';
import { EXTRA, PHOTOMETRIC, tiffFile } from './tiff-file.ts';

interface Case {
  name: string;
  file: string;
  size: [number, number];
  rgb?: string;
  over_white?: string;
}

const cases = JSON.parse(
  readFileSync(new URL('../../golden/media-images.json', import.meta.url), 'utf8'),
) as Case[];
const images = cases.filter(({ rgb }) => rgb !== undefined);
const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'base64');
const bounds = { maxImagePixels: 2 ** 26 };

function furthest(image: Pixels, [width, height]: [number, number], packed: string): number {
  const expected = inflateSync(bytesOf(packed));
  expect([image.width, image.height, image.data.length]).toEqual([width, height, expected.length]);
  return image.data.reduce((most, value, at) => Math.max(most, Math.abs(value - expected[at]!)), 0);
}

const refusal = async (bytes: Uint8Array, limit = bounds): Promise<EngineError> => {
  const error = await readImage(bytes, 'image', { bounds: limit }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EngineError);
  return error as EngineError;
};

describe('images as PIL decodes them', () => {
  it('has files of every kind', () => expect(images.length).toBeGreaterThan(30));

  it.each(images)('$name', async ({ file, size, rgb }) => {
    const image = await readImage(bytesOf(file), 'image', { bounds });
    expect(furthest(image, size, rgb!)).toBe(0);
  });

  it.each(images.filter(({ over_white }) => over_white !== undefined))(
    '$name over white',
    async ({ file, size, over_white }) => {
      const image = await readImage(bytesOf(file), 'image', { bounds, alpha: 'white' });
      expect(furthest(image, size, over_white!)).toBe(0);
    },
  );

  // Pillow 13 cuts grey of 16 bits off at 255 where it becomes RGB, and so do the processors of transformers: all but the darkest 256 of 65536
  // levels would be white. Colours of 16 bits keep their high byte there, too.
  it('keeps the high byte of 16-bit grey', async () => {
    const grey = await sharp(Uint16Array.of(0, 0x1234, 0x80ff, 0xffff), {
      raw: { width: 2, height: 2, channels: 1 },
    })
      .toColourspace('grey16')
      .png()
      .toBuffer();
    const { data } = await readImage(grey, 'image', { bounds });
    expect([...data]).toEqual([0, 0, 0, 0x12, 0x12, 0x12, 0x80, 0x80, 0x80, 255, 255, 255]);
  });

  it('takes the first image of an animation', async () => {
    const animation = cases.find(({ name }) => name === 'animation.gif')!;
    const image = await readImage(bytesOf(animation.file), 'image', { bounds });
    expect([image.width, image.height]).toEqual(animation.size);
    expect([...image.data.subarray(0, 3)]).toEqual([0, 120, 200]);
  });
});

describe('channels behind the colours of an image', () => {
  const { grey, rgb, cmyk } = PHOTOMETRIC;
  const { alpha, nothing } = EXTRA;
  // CMYK 10, 20, 30, 40 is RGB 207, 198, 190; half of each colour and half of white is what lies over white.
  it.each([
    ['CMYK', cmyk, [], [10, 20, 30, 40], [207, 198, 190], [207, 198, 190]],
    ['CMYK and alpha', cmyk, [alpha], [10, 20, 30, 40, 0], [207, 198, 190], [255, 255, 255]],
    ['CMYK and half an alpha', cmyk, [alpha], [10, 20, 30, 40, 51], [207, 198, 190], [245, 244, 242]],
    ['grey and alpha', grey, [alpha], [10, 128], [10, 10, 10], [132, 132, 132]],
    ['grey, alpha and a mask', grey, [alpha, nothing], [10, 128, 77], [10, 10, 10], [132, 132, 132]],
    ['RGB and alpha', rgb, [alpha], [10, 20, 30, 128], [10, 20, 30], [132, 137, 142]],
    ['RGB, alpha and a mask', rgb, [alpha, nothing], [10, 20, 30, 128, 77], [10, 20, 30], [132, 137, 142]],
  ])('%s', async (_, photometric, extra, pixel, dropped, white) => {
    const size = { width: 4, height: 2 };
    const other = pixel.map((value) => (pixel.length + value) & 255);
    const pixels = Array.from({ length: 8 }, (__, at) => (at === 0 ? pixel : other)).flat();
    const file = tiffFile(size, photometric, extra, pixels);
    for (const [rule, expected] of [['dropped', dropped] as const, ['white', white] as const]) {
      const { width, height, data } = await readImage(file, 'image', { bounds, alpha: rule });
      expect([width, height, data.length]).toEqual([4, 2, 24]);
      expect([...data.subarray(0, 3)]).toEqual(expected);
      const rest = Array.from({ length: 7 }, () => [...data.subarray(3, 6)]).flat();
      expect([...data.subarray(3)]).toEqual(rest);
    }
  });
});

describe('a large image', () => {
  const size = { width: 1024, height: 400 };
  const values = (channels: 2 | 4) =>
    sharp(
      Uint8Array.from({ length: channels * size.width * size.height }, (_, at) => (at * 37) >> 5),
      { raw: { ...size, channels } },
    );

  it.each([
    ['RGBA', () => values(4).png()],
    ['grey and alpha', () => values(2).png()],
    ['CMYK', () => values(4).removeAlpha().toColourspace('cmyk').jpeg()],
  ])('of %s lets other work run while it is converted', async (_, make) => {
    const file = await make().toBuffer();
    const turns = vi.spyOn(globalThis, 'setTimeout');
    const { data } = await readImage(file, 'image', { bounds, alpha: 'white' });
    expect(turns).toHaveBeenCalledTimes(Math.ceil((size.width * size.height) / BAND_PIXELS) - 1);
    turns.mockRestore();
    expect(data.length).toBe(3 * size.width * size.height);
  });

  it('has the same pixels as one that is converted at once', async () => {
    const image = await readImage(await values(4).png().toBuffer(), 'image', { bounds, alpha: 'white' });
    const data = await values(4).raw().toBuffer();
    expect(Buffer.compare(image.data, overWhite({ ...size, data }).data)).toBe(0);
  });
});

describe('refusals of images', () => {
  it('names the size of a bomb, the limit and its option, before pixels are decoded', async () => {
    const header = Buffer.alloc(13);
    header.writeUInt32BE(12_000, 0);
    header.writeUInt32BE(9000, 4);
    header.set([8, 2], 8);
    const data = pngChunk('IDAT', deflateSync(Buffer.alloc(64)));
    const bomb = Buffer.concat([latin1Bytes(PNG_SIGNATURE), pngChunk('IHDR', header), data]);
    const error = await refusal(bomb);
    expect(error.code).toBe('bad_request');
    expect(error.param).toBe('image');
    expect(error.message).toBe(
      'image is an image of 12000 × 9000 pixels, above the limit of 67108864 (`maxImagePixels`); give a smaller one, or raise the limit',
    );
    expect(error.textWith({ option: (name) => `--${name}` })).toContain('(--maxImagePixels)');
  });

  it('says what is wrong with an interlaced PNG that ends early', async () => {
    const raw = new Uint16Array(3 * 64 ** 2).map((_, at) => (at * 7919) % 2 ** 16);
    const pipeline = sharp(raw, { raw: { width: 64, height: 64, channels: 3 } });
    const file = await pipeline.toColourspace('rgb16').png({ progressive: true }).toBuffer();
    expect((await refusal(new Uint8Array(file.subarray(0, file.length / 2)))).message).toBe(
      'image cannot be read as an image (its pixels end early, or are damaged); the file is damaged or cut off, so give a whole one',
    );
  });

  it.each(['rgb.jpg', 'rgb.png', 'lossy.webp'])('refuses the first half of %s', async (name) => {
    const whole = bytesOf(images.find((one) => one.name === name)!.file);
    const error = await refusal(whole.subarray(0, whole.length / 2));
    expect(error.message).toMatch(/^image cannot be read as an image \(.+\); the file is damaged or cut off/);
  });

  it.each([
    ['nothing', '', 'image is empty'],
    ['text', 'hello there', '(no known format)'],
    ['a web page', '<!DOCTYPE html><html>', '(HTML or XML)'],
    ['an SVG', '<?xml version="1.0"?><svg xmlns="x">', '(SVG)'],
    ['a PDF', '%PDF-1.7', '(PDF)'],
    ['a sound', 'RIFF....WAVEfmt ', 'is a WAV file, a sound and not an image'],
    ['a video', '....ftypisom', 'is an MP4 file, a video and not an image'],
  ])('refuses %s', async (_, text, message) => {
    expect((await refusal(Buffer.from(text, 'latin1'))).message).toContain(message);
  });
});
