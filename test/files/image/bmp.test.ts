import { readFileSync } from 'node:fs';
import { inflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { BAND_PIXELS } from '../../../src/files/image/bands.ts';
import { bmpHeader, decodeBmp, isBmp } from '../../../src/files/image/bmp.ts';
import { decodeAlphaMask, decodeImage, decodeMask } from '../../../src/files/image/image.ts';
import { flatten, greyscale, overWhite, transparency, withoutAlpha } from '../../../src/files/image/rgba.ts';
import { readImage } from '../../../src/files/media/read-image.ts';
import { decodeColours, decodeImage as decodeInPage } from '../../../src/files/page/image.ts';

interface Case {
  name: string;
  file: string;
  size: [number, number];
  rgb: string;
  over_white?: string;
}

const cases = JSON.parse(
  readFileSync(new URL('../../golden/bmp-files.json', import.meta.url), 'utf8'),
) as Case[];
const bytesOf = (name: string): Uint8Array =>
  Uint8Array.from(Buffer.from(cases.find((one) => one.name === name)!.file, 'base64'));
const pixels = (packed: string): number[] => [...inflateSync(Buffer.from(packed, 'base64'))];
const bounds = { maxImagePixels: 2 ** 26 };

const rgbaOf = async (file: Uint8Array) => decodeBmp(file, bmpHeader(file));

/** The file with other bytes at some places. */
function changed(name: string, changes: Readonly<Record<number, number[]>>): Uint8Array {
  const file = bytesOf(name);
  for (const [at, bytes] of Object.entries(changes)) file.set(bytes, Number(at));
  return file;
}

describe('BMP files have the pixels of PIL', () => {
  it.each(cases)('$name', async ({ name, size, rgb, over_white }) => {
    const file = bytesOf(name);
    const image = await readImage(file, 'image', { bounds });
    expect([image.width, image.height]).toEqual(size);
    expect([...image.data]).toEqual(pixels(rgb));
    // A page has no other decoder.
    expect(await decodeColours(file, 'image')).toEqual(image);
    const onWhite = await readImage(file, 'image', { bounds, alpha: 'white' });
    expect([...onWhite.data]).toEqual(pixels(over_white ?? rgb));
  });
});

describe('BMP files as images to start from', () => {
  it.each(['4', '24-top-down', '32-alpha', 'runs-8'])('%s, in Node and in a page', async (name) => {
    const file = bytesOf(name);
    const expected = flatten(await rgbaOf(file), 255);
    expect(await decodeImage(file, 'image')).toEqual(expected);
    expect(await decodeInPage(file, 'image')).toEqual(expected);
  });

  it('have masks of their alpha, or of the white if they have none', async () => {
    const translucent = bytesOf('32-alpha');
    expect(await decodeAlphaMask(translucent, 'mask')).toEqual(transparency(await rgbaOf(translucent)));
    const opaque = bytesOf('24-top-down');
    const grey = greyscale(withoutAlpha(await rgbaOf(opaque)));
    expect(await decodeAlphaMask(opaque, 'mask')).toEqual(grey);
    expect(await decodeMask(opaque, 'mask')).toEqual(grey);
  });

  it('are refused by their size before they are decoded', async () => {
    const file = bytesOf('24-top-down');
    const refuse = () => {
      throw new Error('too wide');
    };
    await expect(decodeImage(file, 'image', refuse)).rejects.toThrow('too wide');
    const huge = changed('24-top-down', { 18: [0, 0, 1, 0, 0, 0, 1, 0] });
    await expect(decodeImage(huge, 'image')).rejects.toThrow('more than 8192 × 8192 pixels');
    await expect(readImage(huge, 'image', { bounds })).rejects.toThrow(
      'image is an image of 65536 × 65536 pixels, above the limit of 67108864',
    );
  });
});

it('BMP rows of odd counts of values of 4 bits use their last half byte', async () => {
  // PIL reads one byte too few of them.
  const whole = bytesOf('runs-4');
  const { start } = bmpHeader(whole);
  const file = Uint8Array.of(...whole.subarray(0, start), 0, 3, 0x12, 0x30, 20, 0x44, 0, 0, 0, 1);
  const { data, height, width } = await rgbaOf(file);
  const { palette } = bmpHeader(file);
  const bottom = data.subarray(4 * width * (height - 1));
  for (const [x, index] of [1, 2, 3, 4].entries())
    expect([...bottom.subarray(4 * x, 4 * x + 3)]).toEqual([...palette.subarray(3 * index, 3 * index + 3)]);
});

it('runs and values beyond the end of a BMP row are dropped, however many a file states', async () => {
  const whole = bytesOf('runs-8');
  const { start, width, height, palette } = bmpHeader(whole);
  const long = Array.from({ length: 20 }, () => [255, 2]).flat();
  const values = [0, 255, ...Array<number>(255).fill(3), 0];
  const file = Uint8Array.of(
    ...whole.subarray(0, start),
    ...long,
    0,
    0,
    ...values,
    ...long,
    0,
    0,
    1,
    4,
    0,
    1,
  );
  const { data } = await rgbaOf(file);
  const row = (from: number): number[] => [...data.subarray(4 * width * from, 4 * width * (from + 1))];
  const colour = (index: number): number[] => [...palette.subarray(3 * index, 3 * index + 3), 255];
  expect(row(height - 1)).toEqual(Array.from({ length: width }, () => colour(2)).flat());
  expect(row(height - 2)).toEqual(Array.from({ length: width }, () => colour(3)).flat());
  expect(row(height - 3).slice(0, 4)).toEqual(colour(4));
});

it('other work runs while a large BMP file is decoded, and a signal ends decoding', async () => {
  const width = 2048;
  const height = (2 * BAND_PIXELS) / width + 1;
  const raw = await sharp({ create: { width, height, channels: 3, background: '#123456' } })
    .raw()
    .toBuffer();
  const file = new Uint8Array(54 + raw.length);
  file.set(bytesOf('24-top-down').subarray(0, 54));
  new DataView(file.buffer).setInt32(18, width, true);
  new DataView(file.buffer).setInt32(22, height, true);
  file.set(raw, 54);
  const abort = new AbortController();
  const decoding = decodeBmp(file, bmpHeader(file), abort.signal);
  setTimeout(() => abort.abort(new Error('left')));
  await expect(decoding).rejects.toThrow('left');
  const { data } = overWhite(await decodeBmp(file, bmpHeader(file)));
  expect([...data.subarray(-3)]).toEqual([0x56, 0x34, 0x12]);
});

describe('a damaged BMP file', () => {
  it.each<[string, Uint8Array, string]>([
    ['nothing but two letters', Uint8Array.from(Buffer.from('BM')), 'no known format'],
    ['a text', Uint8Array.from(Buffer.from('BMW and others are makers of cars')), 'no known format'],
    ['half a header', bytesOf('8').subarray(0, 30), 'the BMP ends within its header'],
    ['half a palette', bytesOf('8').subarray(0, 200), 'the BMP ends within its palette'],
    ['no masks', bytesOf('masks-behind').subarray(0, 60), 'the BMP ends within its masks'],
    ['half an image', bytesOf('24-top-down').subarray(0, 200), 'the BMP ends before its last pixel'],
    ['half of the runs', bytesOf('runs-8').subarray(0, -20), 'the BMP ends before its last pixel'],
    ['a width of 0', changed('8', { 18: [0, 0, 0, 0] }), 'the BMP states 0 × 7 pixels'],
    ['a negative width', changed('8', { 18: [255, 255, 255, 255] }), 'the BMP states -1 × 7 pixels'],
    ['two bits', changed('8', { 28: [2] }), 'a BMP of 2 bits a pixel is not read'],
    ['JPEG', changed('8', { 30: [4] }), 'a BMP of 8 bits a pixel with JPEG is not read'],
    [
      'runs of another depth',
      changed('8', { 30: [2] }),
      'a BMP of 8 bits a pixel with the compression 2 is not',
    ],
    ['a huge palette', changed('8', { 46: [0, 0, 2, 0] }), 'the BMP states a palette of 131072 colours'],
    [
      'masks with holes',
      changed('32-fields', { 54: [5, 0, 0, 0] }),
      'a BMP with masks 0x5, 0xff00, 0xff, 0x0 is not read',
    ],
  ])('%s', async (_, file, reason) => {
    const error: unknown = await readImage(file, 'image', { bounds }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'bad_request', param: 'image' });
    expect(String(error)).toContain(`image cannot be read as an image (${reason}`);
    if (!isBmp(file)) return;
    const message = `image cannot be read as an image (${reason}`;
    await expect(decodeImage(file, 'image')).rejects.toThrow(message);
    await expect(decodeInPage(file, 'image')).rejects.toThrow(message);
  });

  it('is an error in random bytes, too', async () => {
    for (let seed = 1; seed < 300; seed++) {
      const { name } = cases[seed % cases.length]!;
      const file = bytesOf(name);
      for (let i = 1; i < 4; i++) file[14 + ((seed * 7919 * i) % (file.length - 14))] = (seed * 31 * i) % 256;
      await readImage(file, 'image', { bounds: { maxImagePixels: 10_000 } }).catch((error: unknown) =>
        expect(error).toMatchObject({
          code: 'bad_request',
          message: expect.not.stringMatching(/undefined|NaN/) as string,
        }),
      );
    }
  });
});
