// svc generate as processes of their own: signals, runs at the same time, a run that is killed.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { decodeImage } from '../../../src/index.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { nodeArgs } from '../../started.ts';

const FAKE = new URL('../fake-svc.ts', import.meta.url);

/** Each process loads the engine again, which is slow on a busy machine. */
vi.setConfig({ testTimeout: 60_000 });
const PATIENCE = { timeout: 30_000 };

const folderOf = temporaryFolders();
let folder: string;
beforeEach(async () => {
  folder = await folderOf({});
});
const children: ChildProcessWithoutNullStreams[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function launch(...args: string[]) {
  const child = spawn(process.execPath, nodeArgs(FAKE, 'generate', '--model-path', 'm', ...args), {
    cwd: folder,
  });
  children.push(child);
  const seen = { out: '', err: '' };
  child.stdout.on('data', (bytes) => (seen.out += String(bytes)));
  child.stderr.on('data', (bytes) => (seen.err += String(bytes)));
  const ended = new Promise<typeof seen & { code: number | null }>((resolve) =>
    child.once('close', (code) => resolve({ code, ...seen })),
  );
  return { child, seen, ended };
}

const images = async () =>
  (await readdir(join(folder, 'outputs'))).filter((name) => name.endsWith('.png')).sort();

it('svc generate draws into outputs/ and prints only the path on standard output', async () => {
  const { code, out, err } = await launch('--prompt', 'a house').ended;
  expect({ code, out }).toEqual({ code: 0, out: 'outputs/generated_image_0.png\n' });
  expect(err).toContain('[success] Saved outputs/generated_image_0.png');
});

it('svc generate never shares a file name between runs at the same time', async () => {
  const runs = Array.from({ length: 4 }, () => launch('--prompt', 'a house', '--num-samples', '5').ended);
  const outs = (await Promise.all(runs)).map(({ out }) => out.trimEnd().split('\n'));
  expect(new Set(outs.flat()).size).toBe(20);
  expect(await images()).toHaveLength(20);
});

it('svc generate goes on when nobody reads the paths any more, and reports success after all are saved', async () => {
  const { child, ended } = launch('--prompt', 'a house', '--num-samples', '40');
  child.stdout.once('data', () => child.stdout.destroy());
  expect((await ended).code).toBe(0);
  expect(await images()).toHaveLength(40);
});

it.each(['SIGINT', 'SIGTERM'] as const)('svc ends with 130 at %s, and keeps its images', async (signal) => {
  const { child, seen, ended } = launch('--prompt', 'a house', '--prompt', 'hang');
  await expect.poll(() => seen.err, PATIENCE).toContain('Prompt 2/2: step 1/20');
  child.kill(signal);
  const { code, out, err } = await ended;
  expect({ code, out }).toEqual({ code: 130, out: 'outputs/generated_image_0.png\n' });
  expect(err).toContain('Interrupted: 1 image saved before');
  expect(err).not.toContain('failed');
  expect(await images()).toEqual(['generated_image_0.png']);
});

it('svc generate leaves whole images only when it is killed while it saves', async () => {
  const { child, seen, ended } = launch(
    ...['--prompt', 'a house', '--num-samples', '1000', '--num-inference-steps', '1'],
    ...['--width', '512', '--height', '512'],
  );
  child.stdout.on('data', () => {
    if (seen.out.split('\n').length > 5) child.kill('SIGKILL');
  });
  expect((await ended).code).toBeNull();
  const names = await images();
  expect(names.length).toBeGreaterThanOrEqual(5);
  for (const name of names) {
    const image = await decodeImage(await readFile(join(folder, 'outputs', name)), name);
    expect(image).toMatchObject({ width: 512, height: 512 });
  }
});
