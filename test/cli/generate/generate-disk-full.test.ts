// On a full disk, images that cannot be saved are reported, leave no partial file, and do not stop the others.

import type * as disk from 'node:fs/promises';
import { readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { temporaryFolders } from '../../files/folders.ts';
import { generate } from './generate-harness.ts';

type Disk = typeof disk;

/** Indices of the written files for which there is no space. */
const full = vi.hoisted(() => ({ files: new Set<number>(), written: 0 }));

vi.mock('node:fs/promises', async (original) => {
  const real = await original<Disk>();
  const writeFile = async (path: string, bytes: Uint8Array, options?: { flag: string }) => {
    if (!path.includes('.part') || !full.files.has(full.written++))
      return real.writeFile(path, bytes, options);
    await real.writeFile(path, bytes.subarray(0, 9), options);
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  };
  return { ...real, default: { ...real, writeFile }, writeFile };
});

const folderOf = temporaryFolders();
const BASE = ['--model-path', 'm', '--prompt', 'a house', '--prompt', 'a boat', '--num-samples', '2'];

afterEach(() => {
  full.files.clear();
  full.written = 0;
});

it('a full disk costs one image, and the others are there', async () => {
  full.files.add(1);
  const out = join(await folderOf({}), 'out');
  const { code, err } = await generate(...BASE, '--output-path', out);
  expect(code).toBe(1);
  expect(err).toContain(
    `Prompt 1/2 failed: no space is left for ${join(out, 'generated_image_1.png')}: free some, or name another folder`,
  );
  expect(err).toMatch(/Generated 3 images in .*; 1 prompt failed/);
  // The next image takes the first free name.
  expect(await readdir(out)).toEqual([0, 1, 2].map((index) => `generated_image_${index}.png`));
});

it.each([
  ['a file', 1, 'wave.webp', ['wave_0.webp']],
  ['a folder of frames', 4, 'wave/', ['wave_0']],
])('a full disk costs one clip as %s, and the other is there', async (_, file, name, expected) => {
  full.files.add(file);
  const out = join(await folderOf({}), 'out');
  const clips = ['--prompt', 'a wave', '--num-frames', '3', '--num-samples', '2', '--output-file-name', name];
  const { code, err } = await generate('--model-path', 'm', '--output-path', out, ...clips);
  expect([code, await readdir(out)]).toEqual([1, expected]);
  expect(err).toMatch(/Prompt 1\/1 failed: no space is left for \S+wave_1/);
});

it('a full disk costs a preview, which is noted once', async () => {
  for (let step = 0; step < 100; step += 1) full.files.add(step);
  const out = join(await folderOf({}), 'out');
  const { code, err } = await generate(
    '--model-path',
    'm',
    '--prompt',
    'a house',
    '--preview',
    '--output-path',
    out,
  );
  expect(code).toBe(1);
  expect(err.match(/no space is left for \S+preview\.png/g)).toHaveLength(1);
  expect(await readdir(out)).toEqual([]);
});

it.runIf(process.platform === 'linux')(
  'a full disk costs the performance file, and the images are there',
  async () => {
    const folder = await folderOf({});
    const [out, perf] = [join(folder, 'out'), join(folder, 'perf.json')];
    await symlink('/dev/full', perf);
    const { code, err, out: paths } = await generate(...BASE, '--output-path', out, '--perf-dump-path', perf);
    expect(code).toBe(1);
    expect(err).toContain(`no space is left for ${perf}: free some, or name another folder`);
    expect(paths.trimEnd().split('\n')).toHaveLength(4);
    expect(await readdir(out)).toHaveLength(4);
  },
);
