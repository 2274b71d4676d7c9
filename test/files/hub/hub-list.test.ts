import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listModels, removeModel } from '../../../src/files/hub/hub-list.ts';
import { commitOf, ID, noise, sha256, tinyModel } from './mock-hub.ts';
import { hubFixture } from './mock-hub-fixture.ts';

const TOTAL = 305_021;

test('removeModel() refuses a path to a file of a model', async () => {
  const { env, resolve } = await hubFixture();
  await resolve();
  await expect(removeModel(`${ID}:model.safetensors`, { env })).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining(`remove all of ${ID}, or one quantization`) as string,
  });
  expect(await listModels({ env })).toMatchObject([{ id: ID, complete: true }]);
});

test('listModels() returns cached models with their revisions and whether they are complete', async () => {
  const { env, resolve, hub, repo } = await hubFixture();
  expect(await listModels({ env })).toEqual([]);
  await resolve();
  hub.revisions.set('v2', {
    commit: commitOf('two'),
    files: tinyModel().set('config.json', Buffer.from('{}')),
  });
  await resolve({ revision: 'v2' });
  const [model, ...others] = await listModels({ env });
  expect(others).toEqual([]);
  expect(model).toMatchObject({ id: ID, path: repo, files: 3, complete: true });
  expect(model?.bytes).toBe(TOTAL + 2 + 40 + 40);
  const byRef = new Map(model?.revisions.map(({ commit, refs }) => [refs.join(), commit]));
  expect(byRef.get('main')).toBe(commitOf('one'));
  expect(byRef.get('v2')).toBe(commitOf('two'));
  expect(byRef.size).toBe(2);
  await rm(join(repo, 'blobs', sha256(tinyModel().get('model.safetensors') ?? Buffer.alloc(0))));
  expect((await listModels({ env }))[0]).toMatchObject({ complete: false });
});

test('a file with a name in blobs and one in a snapshot counts once', async () => {
  const { env, resolve } = await hubFixture();
  await resolve({ env: { ...env, HF_HUB_DISABLE_SYMLINKS: '1' } });
  expect((await listModels({ env }))[0]?.bytes).toBe(TOTAL + 40);
});

test('an unfinished download is listed with its bytes; data sets and stray files are not', async () => {
  const { env, resolve, hub, home } = await hubFixture();
  hub.fault = (path) => (path === 'model.safetensors' ? { status: 404 } : undefined);
  await expect(resolve()).rejects.toMatchObject({ code: 'network' });
  await mkdir(join(home, 'hub', 'datasets--a--b'));
  await writeFile(join(home, 'hub', 'models--file'), '');
  const models = await listModels({ env });
  expect(models).toMatchObject([{ id: ID, revisions: [], files: 0, complete: false }]);
  expect(models[0]?.bytes).toBeGreaterThan(0);
});

test('removing a model frees all of it and nothing else', async () => {
  const { env, resolve, home } = await hubFixture();
  await resolve();
  await mkdir(join(home, 'hub', 'models--other--one', 'blobs'), { recursive: true });
  expect(await removeModel(ID, { env })).toEqual({ id: ID, bytes: TOTAL + 40 });
  expect(await readdir(join(home, 'hub'))).toEqual(['.locks', 'models--other--one']);
  expect((await listModels({ env })).map(({ id }) => id)).toEqual(['other/one']);
});

test('removing a revision keeps what another one uses', async () => {
  const { env, resolve, hub, repo } = await hubFixture();
  await resolve();
  const files = tinyModel(noise(1000, 3));
  hub.revisions.set('v2', { commit: commitOf('two'), files });
  await resolve({ revision: 'v2' });
  expect(await removeModel(ID, { env, revision: 'v2' })).toEqual({ id: ID, bytes: 1000 + 40 });
  expect(await readdir(join(repo, 'snapshots'))).toEqual([commitOf('one')]);
  expect(await readdir(join(repo, 'refs'))).toEqual(['main']);
  const { path } = await resolve();
  expect((await readFile(join(path, 'model.safetensors'))).length).toBe(300_000);
  await expect(removeModel(ID, { env, revision: 'v2' })).rejects.toMatchObject({
    code: 'model_not_found',
    param: 'revision',
  });
  await removeModel(ID, { env, revision: commitOf('one') });
  expect(await readdir(join(repo, 'blobs'))).toEqual([]);
});

test.each([
  '../hub/models--acme--tiny',
  '/etc',
  '.',
  '',
  '..',
  'acme',
  'acme/tin',
  'acme/tiny/',
  '../../x',
  'models--acme--tiny',
])('removing %j is refused', async (id) => {
  const { env, resolve, repo } = await hubFixture();
  await resolve();
  await expect(removeModel(id, { env })).rejects.toMatchObject({ code: 'model_not_found' });
  expect((await stat(repo)).isDirectory()).toBe(true);
});

test.each(['../snapshots', '..', '.', ''])('removing the revision %j is refused', async (revision) => {
  const { env, resolve, repo } = await hubFixture();
  const { path } = await resolve();
  await expect(removeModel(ID, { env, revision })).rejects.toMatchObject({ code: 'model_not_found' });
  expect((await stat(path)).isDirectory()).toBe(true);
  expect((await readdir(join(repo, 'blobs'))).length).toBe(3);
});

test('removing a model removes its links, not their targets', async () => {
  const { env, resolve, home, repo } = await hubFixture();
  await resolve();
  await mkdir(join(home, 'precious'));
  await writeFile(join(home, 'precious', 'file'), 'x');
  await symlink(join(home, 'precious'), join(repo, 'snapshots', 'link'));
  await symlink(join(home, 'precious'), join(home, 'hub', 'models--acme--linked'));
  await expect(removeModel('acme/linked', { env })).rejects.toMatchObject({ code: 'model_not_found' });
  await removeModel(ID, { env });
  expect(await readdir(join(home, 'precious'))).toEqual(['file']);
});

test('a model that is being fetched stays', async () => {
  const { env, resolve, home } = await hubFixture();
  await resolve();
  const locks = join(home, 'hub', '.locks', 'models--acme--tiny');
  await writeFile(join(locks, 'abc.svc.lock'), JSON.stringify({ pid: process.pid, host: hostname() }));
  await expect(removeModel(ID, { env })).rejects.toThrow(`is being fetched by process ${process.pid}`);
});
