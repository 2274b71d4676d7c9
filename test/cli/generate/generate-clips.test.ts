// Clips as files of several formats and as folders of frames, by the name that is asked for.

import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { beforeEach, describe, expect, it } from 'vitest';
import { configOfVideo } from '../../../src/index.ts';
import { boxAt } from '../../../src/files/video/mp4-boxes.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { generate, type Outcome } from './generate-harness.ts';

const folderOf = temporaryFolders();
let out: string;
beforeEach(async () => {
  out = join(await folderOf({}), 'out');
});

const draw = (...args: string[]): Promise<Outcome> =>
  generate('--model-path', 'm', '--output-path', out, '--prompt', 'a wave', ...args);
const CLIP = ['--num-frames', '3', '--seed', '5'];
const named = (name: string) => [...CLIP, '--output-file-name', name];
const names = async (inside = '.') => (await readdir(join(out, inside))).sort();

it('a clip is an MP4 file by default, at its rate, and is told with its frames', async () => {
  const { code, out: told, err } = await draw(...CLIP, '--fps', '12', '--num-samples', '2', '--json');
  expect([code, await names()]).toEqual([0, ['generated_video_0.mp4', 'generated_video_1.mp4']]);
  const saved = told.split('\n').filter((line) => line.includes('"saved"'));
  expect(JSON.parse(saved[0]!)).toMatchObject({ seed: 5, width: 32, height: 24, frames: 3, fps: 12 });
  expect(err).toMatch(/Generated 2 videos in/);
  const header = Buffer.from(boxAt(await readFile(join(out, 'generated_video_0.mp4')), 'moov/mvhd')!);
  expect(header.readUInt32BE(16) / header.readUInt32BE(12)).toBe(3 / 12);
});

it('a clip is drawn again from its file, as it was drawn', async () => {
  await draw(...CLIP, '--fps', '12');
  const file = join(out, 'generated_video_0.mp4');
  expect(configOfVideo(await readFile(file))).toMatchObject({
    num_frames: 3,
    fps: 12,
    seed: 5,
    prompt: 'a wave',
  });
  const { code, fake } = await generate('--config', file, '--output-path', out);
  expect([code, fake.requests[0]]).toMatchObject([0, { prompt: 'a wave', frames: 3, fps: 12, seed: 5 }]);
});

it.each(['webp', 'gif'])('a clip is an animation by the ending .%s', async (ending) => {
  expect((await draw(...named(`wave.${ending}`))).code).toBe(0);
  const bytes = await readFile(join(out, `wave.${ending}`));
  expect(await sharp(bytes, { animated: true }).metadata()).toMatchObject({ pages: 3, width: 32, loop: 0 });
  expect(configOfVideo(bytes)).toMatchObject({ num_frames: 3, seed: 5 });
});

it('a clip is a folder of frames by a slash at the end, and a folder that is taken gets a number', async () => {
  await mkdir(join(out, 'wave'), { recursive: true });
  for (let run = 0; run < 2; run++) expect((await draw(...named('wave/'))).code).toBe(0);
  expect(await names()).toEqual(['wave', 'wave_1', 'wave_2']);
  expect(await names('wave')).toEqual([]);
  expect(await names('wave_2')).toEqual([0, 1, 2].map((i) => `frame_000${i}.png`));
  const frames = await Promise.all(
    (await names('wave_1')).map(async (name) =>
      sharp(join(out, 'wave_1', name))
        .raw()
        .toBuffer(),
    ),
  );
  expect(frames.map((frame) => [frame.length, frame[0]])).toEqual(
    [5, 65, 125].map((value) => [3 * 32 * 24, value]),
  );
});

it('a preview of a clip moves', async () => {
  await draw(...CLIP, '--preview', '--num-inference-steps', '2');
  expect(await names()).toEqual(['generated_video_0.mp4', 'preview.webp']);
  const preview = sharp(await readFile(join(out, 'preview.webp')), { animated: true });
  expect(await preview.metadata()).toMatchObject({ pages: 3, width: 32, pageHeight: 24 });
});

describe('an output that cannot be written is refused before anything is drawn', () => {
  it.each<[string[], number, string]>([
    [
      named('wave.png'),
      2,
      '--output-file-name is for an image, and a clip of 3 frames is drawn: end it with .mp4, .webm,',
    ],
    [
      ['--output-file-name', 'wave.mp4'],
      2,
      '--output-file-name is for a clip, and an image is drawn: end it with .png,',
    ],
    [['--output-file-name', 'wave/'], 2, '--output-file-name is for a clip, and an image is drawn'],
    [
      [...CLIP, '--output-template', '{seed}.jpg'],
      2,
      '--output-template is for an image, and a clip of 3 frames',
    ],
    [['--output-quality', '80'], 2, '--output-quality is for JPEG and WebP, and these images are PNG'],
    [
      [...named('x.gif'), '--output-quality', '80'],
      2,
      '--output-quality is for MP4, WebM and WebP, and GIF and PNG have none',
    ],
    [[...named('x.gif'), '--fps', '60'], 2, '--fps is 60, and a GIF has at most 50: give less, or mp4'],
    [named('x.webm'), 3, 'run npm install @mediabunny/server beside svc-engine, or write mp4'],
  ])('%j', async (args, code, message) => {
    const { fake, ...told } = await draw(...args);
    expect([told.code, fake.requests]).toEqual([code, []]);
    expect(told.err).toContain(message);
    await expect(readdir(out)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

it('an interrupt while a clip is encoded loses that clip alone', async () => {
  const polling = setInterval(() => {
    if (!existsSync(out) || !readdirSync(out).some((name) => name.endsWith('.mp4'))) return;
    clearInterval(polling);
    process.emit('SIGINT');
  }, 1);
  const { code, err } = await draw(...CLIP, '--num-samples', '3').finally(() => clearInterval(polling));
  expect([code, await names()]).toEqual([130, ['generated_video_0.mp4']]);
  expect(err).toContain('Interrupted: 1 video saved before');
});

it('a file that is no drawn video is refused as a configuration', async () => {
  await mkdir(out);
  await writeFile(join(out, 'x.mp4'), 'none');
  const { code, err } = await generate('--config', join(out, 'x.mp4'));
  expect([code, err]).toEqual([
    2,
    expect.stringContaining('does not say how it was drawn: give an image or a video'),
  ]);
});
