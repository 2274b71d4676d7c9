import { readFileSync } from 'node:fs';
import { inflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import type { MediaBounds } from '../../../src/files/media/media.ts';
import { loadMediabunny } from '../../../src/files/media/container.ts';
import { countDecoded } from '../../../src/files/media/frame-choice.ts';
import { readVideo, type VideoReading } from '../../../src/files/media/read-video.ts';

const golden = (name: string): string =>
  readFileSync(new URL(`../../golden/${name}.json`, import.meta.url), 'utf8');
const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'base64');

interface Animation {
  name: string;
  file: string;
  size: [number, number];
  frames?: string[];
}

const animations = (JSON.parse(golden('media-images')) as Animation[]).filter(({ frames }) => frames);
const videos = JSON.parse(golden('media-videos')) as { name: string; rotation: number; file: string }[];

const bounds: MediaBounds = {
  maxImagePixels: 2 ** 26,
  maxVideoPixels: 2 ** 31,
  maxVideoFrames: 20_000,
  maxMediaSeconds: 3600,
};

const read = (file: string, reading: Partial<VideoReading> = {}) =>
  readVideo(bytesOf(file), 'video', { bounds, ...reading });

async function refusal(file: string, limits: Partial<MediaBounds> = {}): Promise<EngineError> {
  const error = await read(file, { bounds: { ...bounds, ...limits } }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EngineError);
  expect((error as EngineError).param).toBe('video');
  return error as EngineError;
}

it('frames that are larger than their file states are counted when they are decoded', () => {
  const count = countDecoded('video', { maxImagePixels: 100, maxVideoPixels: 250 });
  expect(() => count({ width: 11, height: 10 })).toThrow('video has a frame of 11 × 10 pixels');
  for (let i = 0; i < 2; i++) count({ width: 10, height: 10 });
  expect(() => count({ width: 10, height: 10 })).toThrow('video has frames of 300 pixels to decode');
});

describe('animations as videos', () => {
  it.each(animations)('$name has the frames that PIL decodes', async ({ file, size, frames }) => {
    const clip = await read(file);
    expect([clip.source.width, clip.source.height]).toEqual(size);
    expect(clip.indices).toEqual([0, 1, 2, 3, 4, 5, 6]);
    const pixels = clip.frames.map(({ data }) => Buffer.from(data).toString('base64'));
    expect(pixels).toEqual(frames!.map((frame) => inflateSync(bytesOf(frame)).toString('base64')));
  });

  it('counts a delay below 20 ms as 100 ms, as browsers do', async () => {
    const { source } = await read(animations[0]!.file);
    expect(source.duration).toBeCloseTo(0.97);
    expect(source.fps).toBeCloseTo(7 / 0.97);
  });

  it.each(animations)('$name: takes the frames that are chosen, fitted', async ({ file }) => {
    const all = await read(file);
    const clip = await read(file, {
      frames: ({ frames }) => [2, 2, 4, frames - 1],
      fit: (frame) => ({ width: 1, height: 1, data: frame.data.slice(0, 3) }),
    });
    expect(clip.indices).toEqual([2, 2, 4, 6]);
    expect(clip.frames.map(({ data }) => [...data])).toEqual(
      [2, 2, 4, 6].map((index) => [...all.frames[index]!.data.subarray(0, 3)]),
    );
    expect(clip.source).toEqual(all.source);
  });

  it('takes an image that does not move as one frame', async () => {
    const still = await sharp({ create: { width: 5, height: 4, channels: 3, background: '#102030' } })
      .gif()
      .toBuffer();
    const { frames, source } = await read(still.toString('base64'));
    expect(source).toEqual({ width: 5, height: 4, frames: 1, duration: 0.1, fps: 10 });
    expect([...frames[0]!.data.subarray(0, 3)]).toEqual([16, 32, 48]);
  });

  it('refuses thousands of frames, long ones and large ones by the number', async () => {
    const { file } = animations[0]!;
    expect((await refusal(file, { maxVideoFrames: 6 })).message).toBe(
      'video has 7 frames, above the limit of 6 (`maxVideoFrames`); give a smaller one, or raise the limit',
    );
    expect((await refusal(file, { maxVideoPixels: 979 })).message).toContain(
      'has 7 frames of 14 × 10 pixels, above the limit of 979 (`maxVideoPixels`)',
    );
    expect((await refusal(file, { maxImagePixels: 139 })).message).toContain('(`maxImagePixels`)');
    expect((await refusal(file, { maxMediaSeconds: 0.5 })).message).toContain(
      'lasts 1 seconds, above the limit of 0.5 (`maxMediaSeconds`)',
    );
  });

  it('refuses one that is cut off', async () => {
    const whole = bytesOf(animations[1]!.file);
    const half = Buffer.from(whole.subarray(0, whole.length / 2)).toString('base64');
    expect((await refusal(half)).message).toContain('video cannot be read as a video');
  });

  it('stops when the signal aborts', async () => {
    const reason = new Error('left');
    await expect(read(animations[0]!.file, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

const isInstalled = (await loadMediabunny()) !== null;
if (!isInstalled)
  console.log('NOT RUN: tests of video containers, since @mediabunny/server is not installed');

describe.runIf(!isInstalled)('containers without @mediabunny/server', () => {
  it('says how to install it', async () => {
    const error = await refusal(videos[0]!.file);
    expect(error.code).toBe('unsupported');
    expect(error.message).toBe(
      'video is an MP4 file, which needs the optional package @mediabunny/server: run npm install @mediabunny/server beside svc-engine, or send the video as GIF or animated WebP',
    );
  });
});

describe.runIf(isInstalled)('video containers', () => {
  it.each(videos)('$name has the frames that were encoded', async ({ file, rotation }) => {
    const clip = await read(file, { frames: () => [0, 5, 19] });
    const [width, height] = rotation === 90 ? [38, 50] : [50, 38];
    expect(clip.source).toMatchObject({ width, height, frames: 20 });
    expect(clip.indices).toEqual([0, 5, 19]);
    expect(clip.source.duration).toBeCloseTo(2.5, 1);
    expect(clip.source.fps).toBeCloseTo(8, 0);
    for (const [at, t] of clip.indices.entries()) {
      const frame = clip.frames[at]!;
      expect([frame.width, frame.height]).toEqual([width, height]);
      // Column 25, row 19 as stored.
      const [x, y] = rotation === 90 ? [38 - 1 - 19, 25] : [25, 19];
      const pixel = frame.data.subarray(3 * (y * width + x), 3 * (y * width + x) + 3);
      [12 * t, 100, 255 - 12 * t].forEach((value, channel) =>
        expect(Math.abs(pixel[channel]! - value)).toBeLessThan(14),
      );
    }
  });

  it('refuses a video that is cut off, has too many frames or lasts too long', async () => {
    const { file } = videos[0]!;
    const whole = bytesOf(file);
    const cut = Buffer.from(whole.subarray(0, whole.length - 900)).toString('base64');
    expect((await refusal(cut)).message).toContain('video cannot be read as a video');
    expect((await refusal(file, { maxVideoFrames: 19 })).message).toContain('has more than 19 frames');
    expect((await refusal(file, { maxMediaSeconds: 2 })).message).toContain('lasts 2.5 seconds');
    expect((await refusal(file, { maxVideoPixels: 1900 })).message).toContain('20 frames of 50 × 38 pixels');
  });

  it('stops when the signal aborts', async () => {
    const reason = new Error('left');
    await expect(read(videos[0]!.file, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
