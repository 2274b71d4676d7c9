// A device that is lost and an interrupt lose the image or clip that is being drawn, and no other: svc generate with the engine and tiny pipelines.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import type { OpenImageModel } from '../../../src/cli/generate/generate.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import type { Platform } from '../../../src/engine/platform/platform.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { decodeImage } from '../../../src/index.ts';
import { useOwnDevices } from '../../engine/kept-devices.ts';
import { tinyPipeline } from '../../engine/image/pipeline-golden.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { generateWith } from './generate-harness.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
afterEach(() => devices.splice(0));

const folderOf = temporaryFolders();
const devices: Device[] = [];
const platform: Platform = {
  ...nodePlatform,
  async openDevice(options) {
    devices.push(await nodePlatform.openDevice(options));
    return devices.at(-1)!;
  },
};

/** Opens the engine's model; `fail` is called after a step of the second prompt. */
const failing =
  (fail: () => void, step = 1): OpenImageModel =>
  async (options, onEvent) => {
    const model = await openInline(IMAGE, platform, options, onEvent);
    let prompts = 0;
    return {
      ...model,
      async *generate(request, more) {
        prompts += 1;
        for await (const event of model.generate(request, more)) {
          if (prompts === 2 && event.type === 'step' && event.step === step) fail();
          yield event;
        }
      },
    };
  };

const run = (out: string, fail: () => void) =>
  generateWith(failing(fail), [
    ...['--model-path', tinyPipeline('z-image'), '--output-path', out, '--seed', '1'],
    ...['--prompt', 'a house', '--prompt', 'a boat', '--prompt', 'a house'],
    ...['--width', '32', '--height', '32', '--num-inference-steps', '2', '--guidance-scale', '0'],
  ]);

/** Draws clips of three frames, two of latents, one at a time. */
const runClips = (out: string, fail: () => void, step?: number) =>
  generateWith(failing(fail, step), [
    ...['--model-path', tinyPipeline('wan'), '--output-path', out, '--output-file-name', 'wave/'],
    ...['--prompt', 'a wave', '--prompt', 'a boat', '--prompt', 'a wave', '--seed', '1', '--num-frames', '3'],
    ...['--width', '32', '--height', '16', '--num-inference-steps', '2', '--guidance-scale', '1'],
    ...['--batch-size', '1'],
  ]);

/** The frames of the clips in a folder, which holds no other file. */
async function clipsIn(folder: string): Promise<Uint8Array[][]> {
  const clips = (await readdir(folder)).toSorted();
  return Promise.all(
    clips.map(async (clip) => {
      const names = (await readdir(join(folder, clip))).toSorted();
      const files = await Promise.all(names.map((name) => readFile(join(folder, clip, name))));
      return Promise.all(files.map(async (file) => (await decodeImage(file, clip)).data));
    }),
  );
}

/** Images in a folder, which holds no other file. */
async function imagesIn(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).toSorted();
  for (const name of names) {
    const image = await decodeImage(await readFile(join(folder, name)), name);
    expect(image).toMatchObject({ width: 32, height: 32 });
  }
  return names;
}

it('the image before an interrupt stays, and nothing else', async () => {
  const out = join(await folderOf({}), 'out');
  const { code, err } = await run(out, () => void process.emit('SIGINT'));
  expect(code).toBe(130);
  expect(err).toContain('Interrupted: 1 image saved before');
  expect(await imagesIn(out)).toHaveLength(1);
});

it('the images before and after a lost device are saved, and the last is drawn on a new one', async () => {
  useOwnDevices();
  const out = join(await folderOf({}), 'out');
  const { code, err, out: paths } = await run(out, () => devices[0]!.destroy());
  expect(code).toBe(1);
  expect(err).toContain('Prompt 2/3 failed: the GPU device was lost');
  expect(err).toMatch(/Generated 2 images in .*; 1 prompt failed/);
  const names = await imagesIn(out);
  expect(names).toHaveLength(2);
  expect(paths.trimEnd().split('\n')).toHaveLength(2);
  const [first, last] = await Promise.all(names.map((name) => readFile(join(out, name))));
  const pixels = async (bytes: Uint8Array) => (await decodeImage(bytes, 'image')).data;
  expect(await pixels(last!)).toEqual(await pixels(first!));
  expect(devices).toHaveLength(2);
});

it('the clip before an interrupt stays, and nothing of the one that was drawn', async () => {
  const out = join(await folderOf({}), 'out');
  const { code, err } = await runClips(out, () => void process.emit('SIGINT'));
  expect(code).toBe(130);
  expect(err).toContain('Interrupted: 1 video saved before');
  expect((await clipsIn(out)).map((frames) => frames.length)).toEqual([3]);
});

it('a device that is lost while a clip is decoded loses that clip alone', async () => {
  useOwnDevices();
  const out = join(await folderOf({}), 'out');
  const { code, err } = await runClips(out, () => devices[0]!.destroy(), 2);
  expect(code).toBe(1);
  expect(err).toContain('Prompt 2/3 failed: the GPU device was lost');
  expect(err).toMatch(/Generated 2 videos in .*; 1 prompt failed/);
  const [first, last, ...more] = await clipsIn(out);
  expect(more).toEqual([]);
  expect(first).toHaveLength(3);
  expect(last).toEqual(first);
  expect(devices).toHaveLength(2);
});
