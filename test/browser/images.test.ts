// Image files in a page, against Node.

import sharp, { type Sharp } from 'sharp';
import { expect } from 'vitest';
import { decodeAlphaMask, decodeImage, decodeMask } from '../../src/files/image/image.ts';
import type { Pixels } from '../../src/files/image/pixels.ts';
import { usePages } from './chromium.ts';

const pages = usePages();

const [WIDTH, HEIGHT] = [67, 45];

/** Noise; smooth: waves, as JPEG and WebP are made for. */
function raw(channels: 1 | 2 | 3 | 4, smooth = false): Sharp {
  let state = 7;
  const data = Uint8Array.from({ length: channels * WIDTH * HEIGHT }, (_, at) => {
    state = (state * 48_271) % 2_147_483_647;
    const [pixel, channel] = [Math.floor(at / channels), at % channels];
    const [x, y] = [pixel % WIDTH, Math.floor(pixel / WIDTH)];
    if (smooth) return 127 + 60 * Math.sin(x / 9 + channel) + 60 * Math.cos(y / 7 - channel);
    return (state >> 8) & 255;
  });
  const image = sharp(data, { raw: { width: WIDTH, height: HEIGHT, channels } });
  return channels < 3 ? image.toColourspace('b-w') : image;
}

function deep(channels: 3 | 4): Sharp {
  let state = 7;
  const data = Uint16Array.from({ length: channels * WIDTH * HEIGHT }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return (state >> 8) & 65_535;
  });
  return sharp(data, { raw: { width: WIDTH, height: HEIGHT, channels } }).toColourspace('rgb16');
}

const DECODERS = { decodeImage, decodeMask, decodeAlphaMask };

interface Answer {
  width?: number;
  height?: number;
  data?: string;
  error?: string;
}

/** Decodes files in a page, by each of the functions. */
async function inPage(files: Record<string, Buffer>): Promise<Record<string, Answer>> {
  const page = await pages.open();
  const given = Object.entries(files).map(([name, file]) => [name, file.toString('base64')] as const);
  return page.evaluate(
    async ({ given, kinds }) => {
      const answers: Record<string, Answer> = {};
      for (const [name, file] of given) {
        for (const kind of kinds) {
          const bytes = Uint8Array.from(atob(file), (one) => one.charCodeAt(0));
          try {
            const { width, height, data } = await svc[kind](bytes, 'start.png');
            const text = Array.from(data, (byte) => String.fromCharCode(byte)).join('');
            answers[`${name} ${kind}`] = { width, height, data: btoa(text) };
          } catch (error) {
            const { code, param, message } = error as InstanceType<typeof svc.EngineError>;
            answers[`${name} ${kind}`] = { error: `${code} ${param} ${message}` };
          }
        }
      }
      return answers;
    },
    { given, kinds: Object.keys(DECODERS) as (keyof typeof DECODERS)[] },
  );
}

/** The largest difference of each file and function, in steps of 255; a text where sizes differ or nothing is decoded. */
async function differences(files: Record<string, Buffer>): Promise<Record<string, number | string>> {
  const answers = await inPage(files);
  const found: Record<string, number | string> = {};
  for (const [name, file] of Object.entries(files)) {
    for (const [kind, decodeInNode] of Object.entries(DECODERS)) {
      const key = `${name} ${kind}`;
      const expected = await decodeInNode(file, 'start.png');
      found[key] = differenceOf(expected, answers[key]!);
    }
  }
  return found;
}

function differenceOf(expected: Pixels, { width, height, data, error }: Answer): number | string {
  if (data === undefined) return error!;
  if (width !== expected.width || height !== expected.height) return `${width} × ${height}`;
  const bytes = Buffer.from(data, 'base64');
  return expected.data.reduce((most, value, at) => Math.max(most, Math.abs(value - bytes[at]!)), 0);
}

/** Names of those that differ by more than `most`. */
const beyond = (found: Record<string, number | string>, most: number): [string, number | string][] =>
  Object.entries(found).filter(([, difference]) => !(Number(difference) <= most));

pages.test('PNG and lossless WebP files have the pixels of Node', async () => {
  const found = await differences({
    rgb: await raw(3).png().toBuffer(),
    alpha: await raw(4).png().toBuffer(),
    grey: await raw(1).png().toBuffer(),
    'grey with alpha': await raw(2).png().toBuffer(),
    palette: await raw(3, true).png({ palette: true, colours: 16 }).toBuffer(),
    'palette with alpha': await raw(4, true).png({ palette: true, colours: 16 }).toBuffer(),
    interlaced: await raw(3).png({ progressive: true }).toBuffer(),
    webp: await raw(3).webp({ lossless: true }).toBuffer(),
    'webp with alpha': await raw(4).webp({ lossless: true }).toBuffer(),
  });
  expect(beyond(found, 0)).toEqual([]);
});

pages.test('JPEG and lossy WebP files have the pixels of Node', async () => {
  const found = await differences({
    'jpeg 4:2:0': await raw(3, true).jpeg({ quality: 90 }).toBuffer(),
    'jpeg 4:4:4': await raw(3, true).jpeg({ chromaSubsampling: '4:4:4' }).toBuffer(),
    'jpeg of noise': await raw(3).jpeg().toBuffer(),
    'grey jpeg': await raw(1, true).jpeg().toBuffer(),
    'progressive jpeg': await raw(3, true).jpeg({ progressive: true }).toBuffer(),
    webp: await raw(3, true).webp().toBuffer(),
    'webp with alpha': await raw(4, true).webp().toBuffer(),
  });
  expect(beyond(found, 0)).toEqual([]);
});

pages.test(
  'PNG files of 16 bits and files with an ICC profile have the pixels of Node within 2 of 255',
  async () => {
    const found = await differences({
      '16 bits': await deep(3).png().toBuffer(),
      '16 bits with alpha': await deep(4).png().toBuffer(),
      'png in P3': await raw(3).withIccProfile('p3').png().toBuffer(),
      'jpeg in P3': await raw(3, true).withIccProfile('p3').jpeg().toBuffer(),
      'webp in P3': await raw(3, true).withIccProfile('p3').webp({ lossless: true }).toBuffer(),
    });
    expect(beyond(found, 2)).toEqual([]);
    expect(found['16 bits decodeImage']).toBe(0);
  },
);

pages.test('images are turned by their EXIF orientation', async () => {
  const files: Record<string, Buffer> = {};
  for (let orientation = 1; orientation <= 8; orientation++) {
    // sharp adds a profile of sRGB, which is converted to sRGB in both.
    const image = raw(3, true).withMetadata({ orientation });
    files[`jpeg ${orientation}`] = await image.clone().jpeg().toBuffer();
    files[`png ${orientation}`] = await image.clone().png().toBuffer();
    files[`webp ${orientation}`] = await image.clone().webp({ lossless: true }).toBuffer();
  }
  const { orientation } = await sharp(files['png 6']).metadata();
  expect(orientation).toBe(6);
  const found = await differences(files);
  expect(beyond(found, 0)).toEqual([]);
});
