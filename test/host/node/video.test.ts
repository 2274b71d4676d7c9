// Videos that a thread encodes.

import sharp from 'sharp';
import { expect, it } from 'vitest';
import {
  configOfVideo,
  encodeVideo,
  VIDEO_FORMATS,
  type VideoFormat,
  videoFormatOf,
} from '../../../src/index.ts';
import { card } from '../../files/video/clips.ts';

const parameters = {
  prompt: 'a wave, "Größe"',
  negativePrompt: '',
  fields: { Steps: 3 },
  config: { prompt: 'a wave, "Größe" 波', seed: 7, note: 'x'.repeat(600) },
};

it.each<VideoFormat>(['mp4', 'webp', 'gif'])('a video as %s holds how it was made', async (format) => {
  const file = await encodeVideo(card(32, 16, 3), { format, fps: 10, parameters });
  expect(configOfVideo(file)).toEqual(parameters.config);
  expect(configOfVideo(await encodeVideo(card(32, 16, 3), { format }))).toBeNull();
});

it.each([
  ['webp', 16, [63, 62, 63]],
  ['gif', 16, [60, 70, 60]],
  ['gif', 50, [20, 20, 20]],
] as const)('an animation as %s at %i frames a second has frames and times', async (format, fps, delay) => {
  const file = await encodeVideo(card(32, 16, 3), { format, fps });
  expect(await sharp(file, { animated: true }).metadata()).toMatchObject({
    format,
    width: 32,
    pages: 3,
    loop: 0,
    delay,
  });
});

it('videos that a format does not take are refused before a thread starts', async () => {
  const clip = card(32, 16, 3);
  const refused = (options: object, given = clip) =>
    encodeVideo(given, { format: 'mp4', ...options }).catch((error: Error) => error.message);
  expect(await refused({ format: 'avi' })).toBe('format is avi: give mp4, webm, webp, gif');
  expect(await refused({ fps: 0 })).toBe('fps is 0: give a number above 0 and at most 240');
  expect(await refused({ quality: 101 })).toBe('quality is 101: give a whole number from 1 to 100');
  expect(await refused({ format: 'gif', fps: 60 })).toBe(
    'fps is 60, and a GIF has at most 50: give less, or mp4',
  );
  expect(await refused({}, { ...clip, frames: 4 })).toMatch(
    /^a video of 4 frames of 32 × 16 pixels has 6144 bytes, and 4608 are given/,
  );
  const large = { width: 8192, height: 4320, data: new Uint8Array(3 * 8192 * 4320) };
  expect(await refused({}, large)).toMatch(/^8192 × 4320 pixels are more than a frame of mp4 has/);
});

it('a WebM video without its optional package is refused with the command that installs it', async () => {
  await expect(encodeVideo(card(32, 16, 3), { format: 'webm' })).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/run npm install @mediabunny\/server beside svc-engine, or write mp4$/),
  });
});

it('encoding ends when its signal aborts', async () => {
  const stop = new AbortController();
  const encoding = encodeVideo(card(640, 480, 24), { format: 'mp4', signal: stop.signal });
  setTimeout(() => stop.abort(), 20);
  const started = performance.now();
  await expect(encoding).rejects.toMatchObject({ code: 'cancelled' });
  expect(performance.now() - started).toBeLessThan(1000);
});

it('formats are known by the ending of a file name', () => {
  expect(['a.MP4', 'b.webm', 'c.webp', 'd.gif', 'e.png', 'mp4'].map(videoFormatOf)).toEqual([
    ...VIDEO_FORMATS,
    null,
    null,
  ]);
});
