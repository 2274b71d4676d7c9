// The main process' answers to a worker: folders of the model and of its options, and no others.

import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { WireCalls } from '../../../src/host/electron/calls.ts';
import { ModelFiles } from '../../../src/host/electron/model-files.ts';
import { ServedFiles } from '../../../src/host/electron/served-files.ts';
import type { MainAnswers, WorkerAnswers } from '../../../src/host/electron/wire.ts';
import { portPair } from '../port-pair.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-model-files-'));
afterAll(() => rmSync(root, { recursive: true }));

for (const folder of ['model', 'model/unet', 'lora', 'private']) {
  mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, folder, 'config.json'), folder);
}

const served = new ServedFiles(pathToFileURL(`${root}/`));
const textOf = async (url: string): Promise<string> =>
  (await served.answer(new Request(`svc-engine://engine/${url}`))).text();

test('ModelFiles opens the files of the resolved model, and closes them with it', async () => {
  const files = new ModelFiles(served);
  const { answers } = files;
  await expect(answers.openFolder(join(root, 'model'))).rejects.toThrow(/belongs to none of the folders/);
  const { path } = await answers.resolveModel(0, join(root, 'model'), { inspects: false });
  const { folder } = await answers.openFolder(path);
  expect(await answers.names(folder)).toEqual(['config.json']);
  const { url, size } = await answers.openFile(folder, 'config.json');
  expect([await textOf(url), size]).toEqual(['model', 5]);
  const inner = await answers.openFolder(join(path, 'unet'));
  const second = await answers.openFile(inner.folder, 'config.json');
  expect(await textOf(second.url)).toBe('model/unet');
  await files.close();
  expect(await textOf(url)).toBe('');
  await expect(answers.openFile(inner.folder, 'config.json')).rejects.toThrow();
});

test('ModelFiles refuses other folders, and names that lead out of a folder', async () => {
  const files = new ModelFiles(served);
  const { answers } = files;
  await answers.resolveModel(0, join(root, 'model'), { inspects: false });
  for (const path of ['private', 'model/../private', '.'])
    await expect(answers.openFolder(join(root, path))).rejects.toThrow(/belongs to none/);
  const { folder } = await answers.openFolder(join(root, 'model'));
  for (const name of [
    '../private/config.json',
    'unet/../private/config.json',
    join(root, 'private/config.json'),
  ])
    await expect(answers.openFile(folder, name)).rejects.toThrow(/belongs to none/);
  await expect(answers.folderWithin('config.json', [join(root, 'private')])).rejects.toThrow(
    /belongs to none/,
  );
  await files.close();
});

test('ModelFiles opens folders that options name', async () => {
  const files = new ModelFiles(served);
  files.allow({ model: 'x', loraPaths: [`style=${join(root, 'lora')}`], loraDir: '' });
  const { folder } = await files.answers.openFolder(join(root, 'lora'));
  expect(await files.answers.names(folder)).toEqual(['config.json']);
  await expect(files.answers.openFolder(process.cwd())).rejects.toThrow(/belongs to none/);
  await files.close();
});

test('the version of weights changes with their files, and within an archive with the archive', async () => {
  const archive = join(root, 'app.asar');
  const folders = [join(root, 'weights'), join(archive, 'weights')] as const;
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'a.safetensors'), 'x');
  }
  const files = new ModelFiles(served);
  files.allow(folders);
  const versions = (): Promise<unknown[]> =>
    Promise.all(folders.map((folder) => files.answers.weightsOrigin(folder, ['a.safetensors'])));
  utimesSync(archive, 1, 1);
  const before = await versions();
  for (const folder of folders) utimesSync(join(folder, 'a.safetensors'), 9, 9);
  const touched = await versions();
  expect(touched[0]).not.toEqual(before[0]);
  expect(touched[1]).toEqual(before[1]);
  utimesSync(archive, 2, 2);
  expect((await versions())[1]).not.toEqual(before[1]);
  await expect(files.answers.weightsOrigin(join(root, 'private'), ['a'])).rejects.toThrow(/belongs to none/);
});

test('errors of ModelFiles keep their code on the way to the worker', async () => {
  const files = new ModelFiles(served);
  const { near, far } = portPair();
  files.worker = new WireCalls<WorkerAnswers>(near, files.answers);
  const worker = new WireCalls<MainAnswers>(far, {});
  files.allow(join(root, 'absent'));
  await expect(worker.call('openFolder', join(root, 'absent'))).rejects.toMatchObject({
    code: 'model_not_found',
  });
  await expect(worker.call('resolveModel', 0, 'no such//model', { inspects: false })).rejects.toMatchObject({
    code: 'model_not_found',
  });
});
