// Image files in a page, as far as Node runs the code: what is refused before the browser decodes, PNG files, the public names.

import sharp from 'sharp';
import { expect, it } from 'vitest';
import * as pageFace from '../../../src/browser.ts';
import * as face from '../../../src/index.ts';
import { pngChunks } from '../../../src/files/image/file-parts.ts';
import { PAGE_DECODERS } from '../../../src/files/page/decoders.ts';
import { decodeImage, encodeImage } from '../../../src/files/page/image.ts';

const NAMES = [
  'configOfImage',
  'coverImage',
  'decodeAlphaMask',
  'decodeImage',
  'decodeMask',
  'encodeImage',
  'IMAGE_FORMATS',
  'imageFormatOf',
  'sameProportions',
] as const;

/** Images of both faces have the same functions and types; this assignment is checked when types are. */
const inPage: Pick<typeof face, (typeof NAMES)[number]> = pageFace;
const inNode: typeof inPage = face;

const image: face.Pixels = { width: 2, height: 1, data: Uint8Array.of(1, 2, 3, 250, 251, 252) };

it('both faces of svc-engine/image export the same names', () => {
  for (const name of NAMES) expect(typeof inPage[name]).toBe(typeof inNode[name]);
});

it.each([
  ['garbage', async () => Buffer.from('no image at all')],
  ['nothing', async () => Buffer.alloc(0)],
  [
    'a GIF',
    () =>
      sharp(Buffer.from([1, 2, 3]), { raw: { width: 1, height: 1, channels: 3 } })
        .gif()
        .toBuffer(),
  ],
  [
    'an SVG',
    async () =>
      Buffer.from('<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
  ],
])('the image %s is refused in the words of Node', async (_, make) => {
  const file = await make();
  const expected: unknown = await face.decodeImage(file, 'start.png').catch((error: unknown) => error);
  const error: unknown = await decodeImage(file, 'start.png').catch((error: unknown) => error);
  expect(error).toMatchObject({ code: 'bad_request', param: 'start.png' });
  expect(String(error)).toBe(String(expected));
});

it('an image of 8192 × 8193 pixels is refused before it is decoded', async () => {
  const file = Buffer.from(await encodeImage(image, { format: 'png' }));
  file.writeUInt32BE(8192, 16);
  file.writeUInt32BE(8193, 20);
  await expect(decodeImage(file, 'start.png')).rejects.toThrow(/\(more than 8192 × 8192 pixels\)/);
});

it('a quality that is not within 1 to 100 is refused in both', async () => {
  for (const quality of [0, 101, 50.5, Number.NaN]) {
    const error = {
      code: 'bad_request',
      param: 'quality',
      message: `quality is ${quality}: give a whole number from 1 to 100`,
    };
    for (const encode of [encodeImage, face.encodeImage])
      await expect(encode(image, { format: 'jpeg', quality })).rejects.toMatchObject(error);
  }
});

it('a PNG file of a page has the pixels and the parameters of one of Node', async () => {
  const parameters = { prompt: 'ein Bär', negativePrompt: '', fields: { Seed: 3 }, config: { seed: 3 } };
  const file = await encodeImage(image, { format: 'png', parameters });
  expect((await face.decodeImage(file, 'x')).data).toEqual(image.data);
  const fromNode = await face.encodeImage(image, { format: 'png', parameters });
  const text = (bytes: Uint8Array) => [...pngChunks(bytes)].find(({ type }) => type === 'iTXt')!.data;
  expect(text(file)).toEqual(new Uint8Array(text(fromNode)));
});

it('a medium is checked against its bound by its header, and not decoded for a request that has left', async () => {
  const file = await encodeImage(image, { format: 'png' });
  const bounds = { maxImagePixels: 1, maxVideoPixels: 1, maxVideoFrames: 1, maxMediaSeconds: 1 };
  const read = PAGE_DECODERS.image(file, 'image', { bounds, alpha: 'white' });
  await expect(read).rejects.toThrow('image is an image of 2 × 1 pixels, above the limit of 1');
  const reading = { bounds, alpha: 'white', signal: AbortSignal.abort(new Error('left')) } as const;
  await expect(PAGE_DECODERS.image(file, 'image', reading)).rejects.toThrow('left');
});
