// Colours of videos, and rates of their frames, as FFmpeg decodes them.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadMediabunny } from '../../../src/files/media/container.ts';
import { steadyRate } from '../../../src/files/media/read-container.ts';
import { readVideo } from '../../../src/files/media/read-video.ts';
import { planeFormat, rgbOfPlanes } from '../../../src/files/media/video-colours.ts';

interface Case {
  file: string;
  fps: number;
  /** Digests. */
  frames: string[];
  planes: string;
  matrix: string | null;
  full_range: boolean;
}

const golden = JSON.parse(
  readFileSync(new URL('../../golden/video-colours.json', import.meta.url), 'utf8'),
) as { size: [number, number]; cases: Record<string, Case> };
const [width, height] = golden.size;
const cases = Object.entries(golden.cases);
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));
const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

it.each(cases)('planes of %s become the colours of FFmpeg', (_, { planes, matrix, full_range, frames }) => {
  const colours = { matrix, fullRange: full_range };
  const { data } = rgbOfPlanes(bytesOf(planes), { width, height }, planeFormat('I420', colours)!, colours);
  expect(digest(data)).toBe(frames[0]);
});

it('values of more than eight bits are rounded to eight', () => {
  const [, { planes, frames, matrix }] = cases[0]!;
  const colours = { matrix, fullRange: false };
  const wide = Uint16Array.from(bytesOf(planes), (value) => (value << 2) + 1);
  const layout = planeFormat('I420P10', colours)!;
  const { data } = rgbOfPlanes(new Uint8Array(wide.buffer), { width, height }, layout, colours);
  expect(digest(data)).toBe(frames[0]);
  expect(planeFormat('I444P12', colours)).toEqual({ across: 1, down: 1, bits: 12 });
  expect(planeFormat('I420P10', { matrix: null, fullRange: null })).toBeNull();
  expect(planeFormat('NV12', colours)).toBeNull();
  expect(planeFormat(null, colours)).toBeNull();
});

it('frame rates are those that the clock of a container hides', () => {
  const stamps = (rate: number, count: number, clock = 1e-3) =>
    Array.from({ length: count }, (_, i) => Math.round(i / rate / clock) * clock + 0.2);
  for (const rate of [1, 7.5, 12, 12.5, 15, 25, 30, 60])
    for (const count of [6, 20, 500]) expect(steadyRate(stamps(rate, count))).toBe(rate);
  for (const rate of [24000 / 1001, 30000 / 1001, 60000 / 1001])
    expect(steadyRate(stamps(rate, 20, 1 / 90000))).toBe(rate);
  expect(steadyRate([0, 0.1, 0.3, 0.35])).toBeNull();
  expect(steadyRate([0])).toBeNull();
  expect(steadyRate([])).toBeNull();
  expect(steadyRate([1, 1])).toBeNull();
});

const isInstalled = (await loadMediabunny()) !== null;
if (!isInstalled)
  console.log('NOT RUN: tests of colours of containers, since @mediabunny/server is not installed');

describe.runIf(isInstalled)('colours of containers', () => {
  it.each(cases)('%s has the frames and the rate of FFmpeg', async (_, { file, fps, frames }) => {
    const bounds = { maxImagePixels: 1e6, maxVideoPixels: 1e8, maxVideoFrames: 100, maxMediaSeconds: 60 };
    const clip = await readVideo(bytesOf(file), 'video', { bounds });
    expect(clip.source.fps).toBe(fps);
    expect(clip.frames.map(({ data }) => digest(data))).toEqual(frames);
  });
});
