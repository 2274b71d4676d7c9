import sharp from 'sharp';
import { describe, expect, it, vi } from 'vitest';
import { BAND_PIXELS } from '../../../src/files/image/bands.ts';
import { decodeImage, decodeAlphaMask, decodeMask, encodeImage } from '../../../src/files/image/image.ts';
import { embeddedText } from '../../../src/files/image/image-embed.ts';
import { configInText, configOfImage, parametersText } from '../../../src/files/image/image-metadata.ts';
import { frameOf, imageFormatOf, IMAGE_FORMATS, type Pixels } from '../../../src/files/image/pixels.ts';

/** A smooth image, which JPEG and WebP reproduce closely. */
function gradient(width: number, height: number): Pixels {
  const data = new Uint8Array(width * height * 3);
  for (let at = 0; at < data.length; at += 1) {
    const pixel = Math.floor(at / 3);
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    data[at] = at % 3 === 0 ? (255 * x) / width : at % 3 === 1 ? (255 * y) / height : 128;
  }
  return { width, height, data };
}

function furthest(a: Pixels, b: Pixels): number {
  expect([a.width, a.height, a.data.length]).toEqual([b.width, b.height, b.data.length]);
  return Math.max(...a.data.map((value, at) => Math.abs(value - (b.data[at] ?? 0))));
}

const pixel = (image: Pixels, x: number, y: number) => [
  ...image.data.subarray(3 * (y * image.width + x), 3 * (y * image.width + x) + 3),
];

describe('encoding and decoding an image', () => {
  it.each(IMAGE_FORMATS.map((format) => [format, format === 'png' ? 0 : 12] as const))(
    '%s keeps the image within %d of 255',
    async (format, tolerance) => {
      const image = gradient(37, 23);
      const bytes = await encodeImage(image, { format, ...(format !== 'png' && { quality: 95 }) });
      expect((await sharp(bytes).metadata()).format).toBe(format);
      expect(furthest(await decodeImage(bytes, 'x'), image)).toBeLessThanOrEqual(tolerance);
    },
  );

  it('a clip is an animated WebP of its frames, with its parameters', async () => {
    const frames = [0, 100, 200].map((value) => ({
      ...gradient(20, 12),
      data: new Uint8Array(3 * 20 * 12).fill(value),
    }));
    const data = Uint8Array.from(frames.flatMap((frame) => [...frame.data]));
    const parameters = { prompt: 'a cat', negativePrompt: '', fields: {}, config: { seed: 3 } };
    const clip = { width: 20, height: 12, frames: 3, data };
    const bytes = await encodeImage(clip, { format: 'webp', parameters });
    const { pages, delay, loop, height } = await sharp(bytes, { animated: true }).metadata();
    expect([pages, delay, loop]).toEqual([3, [63, 62, 63], 0]);
    expect(height).toBe(36);
    const { data: made } = await sharp(bytes, { animated: true }).raw().toBuffer({ resolveWithObject: true });
    for (const [i, frame] of frames.entries()) {
      const shown = { width: 20, height: 12, data: new Uint8Array(made.subarray(i * 720, (i + 1) * 720)) };
      expect(furthest(shown, frame)).toBeLessThanOrEqual(4);
      expect(frameOf(clip, i)).toEqual(frame);
    }
    expect(embeddedText(bytes)).toContain('a cat');
    await expect(encodeImage(clip, { format: 'png' })).rejects.toMatchObject({
      code: 'bad_request',
      message: 'a clip of 3 frames is encoded as webp, and not as png',
    });
  });

  it('takes more bytes for a higher quality', async () => {
    const image = gradient(64, 64);
    for (const format of ['jpeg', 'webp'] as const) {
      const sizes = [20, 60, 95].map(
        async (quality) => (await encodeImage(image, { format, quality })).length,
      );
      const [low = 0, middle = 0, high = 0] = await Promise.all(sizes);
      expect(low).toBeLessThan(middle);
      expect(middle).toBeLessThan(high);
    }
  });

  it.each([
    ['x.png', 'png'],
    ['a.b/x.JPG', 'jpeg'],
    ['x.jpeg', 'jpeg'],
    ['x.webp', 'webp'],
    ['x.gif', null],
    ['x', null],
    ['png', null],
    ['a.png/x', null],
  ])('%s is %s', (name, format) => expect(imageFormatOf(name)).toBe(format));

  it('reads grey, palette, 16-bit and turned images as 8-bit RGB', async () => {
    const grey = await sharp(Buffer.from([0, 100, 200, 255]), { raw: { width: 2, height: 2, channels: 1 } })
      .png()
      .toBuffer();
    expect([...(await decodeImage(grey, 'x')).data]).toEqual([
      0, 0, 0, 100, 100, 100, 200, 200, 200, 255, 255, 255,
    ]);
    const red = sharp({ create: { width: 3, height: 2, channels: 3, background: '#ff0000' } });
    const palette = await red.clone().png({ palette: true }).toBuffer();
    expect(pixel(await decodeImage(palette, 'x'), 2, 1)).toEqual([255, 0, 0]);
    const deep = await red.clone().toColourspace('rgb16').png().toBuffer();
    expect((await sharp(deep).metadata()).depth).toBe('ushort');
    expect(pixel(await decodeImage(deep, 'x'), 2, 1)).toEqual([255, 0, 0]);
    const turned = await red.clone().withMetadata({ orientation: 6 }).jpeg().toBuffer();
    expect(await decodeImage(turned, 'x')).toMatchObject({ width: 2, height: 3 });
  });

  it('lets other work run while a large mask is converted', async () => {
    const grey = Uint8Array.from({ length: 1024 * 400 }, (_, at) => (at * 37) >> 5);
    const file = await sharp(grey, { raw: { width: 1024, height: 400, channels: 1 } })
      .png()
      .toBuffer();
    const turns = vi.spyOn(globalThis, 'setTimeout');
    const { data } = await decodeMask(file, 'x');
    expect(turns).toHaveBeenCalledTimes(Math.ceil(grey.length / BAND_PIXELS) - 1);
    turns.mockRestore();
    expect(data.length).toBe(3 * grey.length);
    expect(data.every((value, at) => value === grey[Math.floor(at / 3)])).toBe(true);
  });

  it('composites transparent images over white, and masks over black', async () => {
    const clear = await sharp(Buffer.from([255, 0, 0, 0, 255, 255, 255, 255]), {
      raw: { width: 2, height: 1, channels: 4 },
    })
      .png()
      .toBuffer();
    expect([...(await decodeImage(clear, 'x')).data]).toEqual([255, 255, 255, 255, 255, 255]);
    expect([...(await decodeMask(clear, 'x')).data]).toEqual([0, 0, 0, 255, 255, 255]);
  });

  it('takes the transparent parts of a mask, or its white where nothing is transparent', async () => {
    const raw = (pixels: number[], channels: 3 | 4) =>
      sharp(Buffer.from(pixels), { raw: { width: 2, height: 1, channels } })
        .png()
        .toBuffer();
    const half = await raw([255, 255, 255, 255, 0, 0, 0, 0], 4);
    expect([...(await decodeAlphaMask(half, 'x')).data]).toEqual([0, 0, 0, 255, 255, 255]);
    const solid = await raw([255, 255, 255, 255, 0, 0, 0, 255], 4);
    expect([...(await decodeAlphaMask(solid, 'x')).data]).toEqual([255, 255, 255, 0, 0, 0]);
    const plain = await raw([255, 255, 255, 0, 0, 0], 3);
    expect([...(await decodeAlphaMask(plain, 'x')).data]).toEqual([255, 255, 255, 0, 0, 0]);
  });

  it.each([
    ['garbage', async () => Buffer.from('no image at all'), /unsupported image format/],
    ['nothing', async () => Buffer.alloc(0), /cannot be read as an image/],
    [
      'half a PNG',
      async () => (await encodeImage(gradient(64, 64), { format: 'png' })).subarray(0, 200),
      /give a PNG/,
    ],
    [
      'the beginning of an interlaced PNG',
      async () => {
        const raw = new Uint16Array(3 * 64 ** 2).map((_, at) => (at * 7919) % 2 ** 16);
        const pipeline = sharp(raw, { raw: { width: 64, height: 64, channels: 3 } });
        const file = await pipeline.toColourspace('rgb16').png({ progressive: true }).toBuffer();
        return file.subarray(0, file.length / 2);
      },
      /\(its pixels end early, or are damaged\)/,
    ],
    [
      'a GIF',
      () =>
        sharp({ create: { width: 2, height: 2, channels: 3, background: '#fff' } })
          .gif()
          .toBuffer(),
      /gif is not read/,
    ],
    [
      'an SVG',
      async () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
      /svg is not read/,
    ],
    [
      'an image of 10000 × 10000',
      () =>
        sharp({ create: { width: 10_000, height: 10_000, channels: 3, background: '#fff' } })
          .png()
          .toBuffer(),
      /more than 8192 × 8192 pixels/,
    ],
  ])('%s is refused by name', async (_, make, reason) => {
    const error: unknown = await decodeImage(await make(), 'start.png').catch((error: unknown) => error);
    expect(error).toMatchObject({ code: 'bad_request', param: 'start.png' });
    expect(String(error)).toMatch(
      /start\.png cannot be read as an image \(.+\): give a PNG, JPEG, WebP or BMP file$/,
    );
    expect(String(error)).toMatch(reason);
  });
});

describe('generation parameters in an image file', () => {
  const parameters = {
    prompt: 'a red balloon, "big"\nсолнце 🎈',
    negativePrompt: 'blurry',
    fields: { Steps: 20, 'CFG scale': 7.5, Seed: 3, Size: '128x128', Model: 'a, b' },
    config: { prompt: 'a red balloon, "big"\nсолнце 🎈', seed: 3, num_inference_steps: 20 },
  };
  const text = parametersText(parameters);

  it('are read as A1111 writes them', () => {
    const lines = text.split('\n');
    expect(lines.slice(0, 3)).toEqual(['a red balloon, "big"', 'солнце 🎈', 'Negative prompt: blurry']);
    expect(lines[3]).toMatch(
      /^Steps: 20, CFG scale: 7\.5, Seed: 3, Size: 128x128, Model: "a, b", svc config: "/,
    );
    expect(parametersText({ ...parameters, negativePrompt: '' })).not.toContain('Negative');
  });

  it('come back from a PNG, and with them the configuration', async () => {
    const png = await encodeImage(gradient(9, 9), { format: 'png', parameters });
    expect(embeddedText(png)).toBe(text);
    expect(configOfImage(png)).toEqual(parameters.config);
    // Other programs read the same metadata, and the image is intact.
    expect((await sharp(png).metadata()).comments).toEqual([{ keyword: 'parameters', text }]);
    expect(furthest(await decodeImage(png, 'x'), gradient(9, 9))).toBe(0);
  });

  it.each(['jpeg', 'webp'] as const)('come back from a %s', async (format) => {
    const image = gradient(19, 9);
    const bytes = await encodeImage(image, { format, parameters });
    expect(embeddedText(bytes)).toBe(text);
    expect(configOfImage(bytes)).toEqual(parameters.config);
    const plain = await encodeImage(image, { format });
    expect(furthest(await decodeImage(bytes, 'x'), await decodeImage(plain, 'x'))).toBe(0);
    const { exif } = await sharp(bytes).metadata();
    expect(exif?.includes(Buffer.from('UNICODE\0', 'latin1'))).toBe(true);
  });

  it('are left out where they are too long for a JPEG', async () => {
    const bytes = await encodeImage(gradient(9, 9), {
      format: 'jpeg',
      parameters: { ...parameters, prompt: 'x'.repeat(40_000) },
    });
    expect(embeddedText(bytes)).toBeNull();
    expect(await decodeImage(bytes, 'x')).toMatchObject({ width: 9, height: 9 });
  });

  it.each([
    ['a PNG without them', async () => encodeImage(gradient(9, 9), { format: 'png' })],
    ['a JPEG without', async () => encodeImage(gradient(9, 9), { format: 'jpeg' })],
    ['a WebP without', async () => encodeImage(gradient(9, 9), { format: 'webp' })],
    ['something else', async () => Buffer.from('hello')],
    ['a cut PNG', async () => (await encodeImage(gradient(9, 9), { format: 'png' })).subarray(0, 30)],
  ])('%s has none', async (_, make) => expect(embeddedText(await make())).toBeNull());

  it.each(['', 'Steps: 20', 'svc config: "{"', 'svc config: "3"', 'svc config: {"a":1}'])(
    '%j holds no configuration',
    (text) => expect(configInText(text)).toBeNull(),
  );
});
