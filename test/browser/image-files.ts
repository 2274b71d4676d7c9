// Images for the tests in pages, and what a page and Node make of their files.

import sharp, { type Sharp } from 'sharp';
import { EngineError } from '../../src/files/error.ts';
import { decodeAlphaMask, decodeImage, decodeMask } from '../../src/files/image/image.ts';
import type { Pixels } from '../../src/files/image/pixels.ts';
import type { Pages } from './chromium.ts';

export const [WIDTH, HEIGHT] = [67, 45];

/** Noise; smooth: waves, as JPEG and WebP are made for. */
export function raw(channels: 1 | 2 | 3 | 4, smooth = false): Sharp {
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

export function deep(channels: 3 | 4): Sharp {
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
export async function decodeInPage(
  pages: Pages,
  files: Record<string, Buffer>,
): Promise<Record<string, Answer>> {
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
export async function differences(
  pages: Pages,
  files: Record<string, Buffer>,
): Promise<Record<string, number | string>> {
  const answers = await decodeInPage(pages, files);
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
export const beyond = (found: Record<string, number | string>, most: number): [string, number | string][] =>
  Object.entries(found).filter(([, difference]) => !(Number(difference) <= most));

/** Messages of Node and of the page. */
export async function refusals(
  pages: Pages,
  files: Record<string, Buffer>,
): Promise<Record<string, [string, string | undefined]>> {
  const answers = await decodeInPage(pages, files);
  const found: Record<string, [string, string | undefined]> = {};
  for (const [name, file] of Object.entries(files)) {
    const error = await decodeImage(file, 'start.png').catch((error: EngineError) => error);
    const inNode = error instanceof EngineError ? `${error.code} ${error.param} ${error.message}` : 'decoded';
    found[name] = [inNode, answers[`${name} decodeImage`]!.error];
  }
  return found;
}
