// A device that is lost and an interrupt lose the image that is being drawn, and no other: svc generate with the engine and a tiny pipeline.

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

/** Opens the engine's model; `fail` is called after the first step of the second prompt. */
const failing =
  (fail: () => void): OpenImageModel =>
  async (options, onEvent) => {
    const model = await openInline(IMAGE, platform, options, onEvent);
    let prompts = 0;
    return {
      ...model,
      async *generate(request, more) {
        prompts += 1;
        for await (const event of model.generate(request, more)) {
          if (prompts === 2 && event.type === 'step' && event.step === 1) fail();
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
