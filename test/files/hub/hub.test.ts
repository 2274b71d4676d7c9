import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { resolveModel } from '../../../src/files/hub/hub.ts';
import { blobOf, commitOf, ID, noise, sha256, tinyModel } from './mock-hub.ts';
import { eventsOf, hubFixture, IMPATIENT } from './mock-hub-fixture.ts';

describe('paths and ids of models', () => {
  test('an existing file or folder is taken as it is, also one named like an id', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'hub-test-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    await mkdir(join(dir, ID), { recursive: true });
    await writeFile(join(dir, 'm.safetensors'), '');
    const before = process.cwd();
    process.chdir(dir);
    try {
      expect((await resolveModel(ID, { env: { HF_ENDPOINT: 'http://127.0.0.1:9' } })).path).toBe(
        join(process.cwd(), ID),
      );
      expect((await resolveModel('m.safetensors')).path).toBe(join(process.cwd(), 'm.safetensors'));
    } finally {
      process.chdir(before);
    }
  });

  test.each([
    ['./nowhere', "no file or folder './nowhere'"],
    ['/nowhere/at/all', 'no file or folder'],
    ['nosuchmodel', 'of the form org/name'],
    ['', 'of the form org/name'],
    ['../x/y', 'no file or folder'],
    ['llama3.2:1b', 'id that the model has on the hub, org/name'],
    ['https://huggingface.co/acme/tiny/tree/main', 'write its id, acme/tiny'],
    ['hf://acme/tiny', 'write its id, acme/tiny'],
    ['https://huggingface.co/acme', 'org/name, without the address'],
    ['./weights/tiny-q4.gguf', 'no file or folder'],
    ['loras/style.safetensors', "no file or folder 'loras/style.safetensors'"],
    ['style.safetensors', 'no file or folder'],
    ['C:/models/tiny', 'no file or folder'],
    ['a--b/c', 'org/name'],
    ['a/b.git', 'org/name'],
    ['a/..', 'org/name'],
    ['a/b c', 'org/name'],
    [`a/${'b'.repeat(100)}`, 'org/name'],
  ])('%j is refused', async (id, words) => {
    const error = await resolveModel(id, {
      env: { HF_HOME: '/nonexistent', HF_ENDPOINT: 'http://127.0.0.1:9' },
    }).catch((e) => e);
    expect(error).toMatchObject({ code: 'model_not_found', param: 'model' });
    expect(error.message).toContain(words);
  });

  test.each(['../main', '/main', 'a//b', 'a/../b', '.hidden', 'a b', '-x'])(
    'revision %j is refused',
    async (revision) => {
      const { resolve } = await hubFixture();
      await expect(resolve({ revision })).rejects.toMatchObject({ code: 'bad_request', param: 'revision' });
    },
  );
});

describe('the cache of the hub', () => {
  test('holds blobs by digest, refs by branch and relative links in snapshots', async () => {
    const files = tinyModel();
    files.set('sub/deep/extra.json', Buffer.from('{"a":1}'));
    files.set('pytorch_model.bin', noise(1000, 9));
    const { repo, resolve, events, hub } = await hubFixture(files);
    const model = await resolve();
    const commit = commitOf('one');
    expect(model).toEqual({ path: join(repo, 'snapshots', commit), id: ID, revision: commit });
    expect(await readFile(join(repo, 'refs', 'main'), 'utf8')).toBe(commit);

    const wanted = ['config.json', 'tokenizer.json', 'model.safetensors', 'sub/deep/extra.json'];
    for (const path of wanted) {
      const bytes = files.get(path) ?? Buffer.alloc(0);
      expect((await readFile(join(model.path, path))).equals(bytes)).toBe(true);
      const up = '../'.repeat(path.split('/').length + 1);
      expect(await readlink(join(model.path, path))).toBe(`${up}blobs/${blobOf(path, bytes)}`);
    }
    expect((await readdir(join(repo, 'blobs'))).length).toBe(wanted.length);
    expect(hub.seenOf('pytorch_model.bin')).toEqual([]);
    expect(hub.seenOf('README.md')).toEqual([]);
    const total = wanted.reduce((sum, path) => sum + (files.get(path)?.length ?? 0), 0);
    expect(events[0]).toMatchObject({ type: 'start', files: 4, received: 0, total, percent: 0 });
    expect(events.at(-1)).toMatchObject({ type: 'done', fetched: total, path: model.path });
    expect(events.at(-2)).toMatchObject({ type: 'progress', received: total, total, percent: 100 });
  });

  test('a second call asks for the list only, a commit not even for that', async () => {
    const { resolve, hub } = await hubFixture();
    const first = await resolve();
    hub.seen.length = 0;
    expect(await resolve()).toEqual(first);
    expect(hub.seen.map(({ path }) => path)).toEqual(['list']);
    hub.seen.length = 0;
    expect(await resolve({ revision: commitOf('one') })).toEqual(first);
    expect(hub.seen).toEqual([]);
  });

  test('a branch that moved brings what changed', async () => {
    const { resolve, hub, repo } = await hubFixture();
    await resolve();
    const files = new Map(tinyModel()).set('config.json', Buffer.from('{"model_type":"new"}'));
    hub.revisions.set('main', { commit: commitOf('two'), files });
    hub.seen.length = 0;
    const model = await resolve();
    expect(model.revision).toBe(commitOf('two'));
    expect(hub.seen.map(({ path }) => path)).toEqual(['list', 'config.json']);
    expect(await readFile(join(model.path, 'config.json'), 'utf8')).toContain('new');
    expect(await readFile(join(repo, 'refs', 'main'), 'utf8')).toBe(commitOf('two'));
  });

  test('branches with slashes, tags and commits', async () => {
    const { resolve, hub, repo } = await hubFixture();
    hub.revisions.set('refs/pr/1', { commit: commitOf('pr'), files: tinyModel() });
    hub.revisions.set('v1.0', { commit: commitOf('tag'), files: tinyModel() });
    expect((await resolve({ revision: 'refs/pr/1' })).revision).toBe(commitOf('pr'));
    expect(await readFile(join(repo, 'refs', 'refs', 'pr', '1'), 'utf8')).toBe(commitOf('pr'));
    expect((await resolve({ revision: 'v1.0' })).revision).toBe(commitOf('tag'));
    await resolve({ revision: commitOf('one') });
    expect((await readdir(join(repo, 'refs'))).sort()).toEqual(['refs', 'v1.0']);
    await expect(resolve({ revision: 'nope' })).rejects.toMatchObject({
      code: 'model_not_found',
      param: 'revision',
    });
  });

  test('two paths with equal content are fetched once', async () => {
    const files = tinyModel().set(
      'copy.safetensors',
      tinyModel().get('model.safetensors') ?? Buffer.alloc(0),
    );
    const { resolve, hub, events } = await hubFixture(files);
    const { path } = await resolve({
      limits: { ...IMPATIENT, partBytes: 1 << 20 },
      onProgress: (event) => events.push(event),
    });
    expect(events[0]).toMatchObject({ type: 'start', files: 4, total: 305_021 });
    expect(hub.seen.filter(({ origin }) => origin === 'store').length).toBe(1);
    expect(sha256(await readFile(join(path, 'copy.safetensors')))).toBe(
      sha256(await readFile(join(path, 'model.safetensors'))),
    );
  });

  test('without links the snapshot holds files, and they count as cached', async () => {
    const { env, resolve, hub, repo } = await hubFixture();
    const plain = { ...env, HF_HUB_DISABLE_SYMLINKS: '1' };
    const { path } = await resolve({ env: plain });
    const found = await lstat(join(path, 'model.safetensors'));
    expect(found.isFile() && found.size).toBe(300_000);
    // The layout that Python leaves without links: the file in the snapshot, no blob.
    await rm(join(repo, 'blobs'), { recursive: true });
    hub.seen.length = 0;
    await resolve({ env: plain });
    expect(hub.seen.map((request) => request.path)).toEqual(['list']);
    expect((await lstat(join(path, 'model.safetensors'))).size).toBe(300_000);
  });

  test('a listing that would leave the cache is refused', async () => {
    for (const bad of [
      '../evil.json',
      '/etc/evil.json',
      'a/../../evil.json',
      'a\\evil.json',
      'a//b.json',
      'c:x.json',
    ]) {
      const { resolve, hub, home } = await hubFixture();
      hub.editListing = (listing) => listing.siblings?.push({ rfilename: bad, size: 1, blobId: 'ab' });
      await expect(resolve()).rejects.toMatchObject({ code: 'bad_checkpoint' });
      expect(await readdir(home)).toEqual([]);
    }
    const { resolve, hub } = await hubFixture();
    hub.editListing = (listing) =>
      listing.siblings?.push({ rfilename: 'x.json', size: 1, blobId: '../../x' });
    await expect(resolve()).rejects.toMatchObject({ code: 'bad_checkpoint' });
    hub.editListing = (listing) => (listing['sha'] = '..');
    await expect(resolve()).rejects.toMatchObject({ code: 'bad_checkpoint' });
  });

  test('a mirror that lists names only is asked file by file', async () => {
    const { resolve, hub, repo } = await hubFixture();
    hub.editListing = (listing) => {
      listing.siblings = listing.siblings?.map(({ rfilename }) => ({ rfilename }));
    };
    await resolve();
    const names = [...tinyModel()]
      .filter(([path]) => path !== 'README.md')
      .map(([path, bytes]) => blobOf(path, bytes));
    expect((await readdir(join(repo, 'blobs'))).sort()).toEqual(names.sort());
    expect(hub.seenOf('model.safetensors')[0]).toMatchObject({ method: 'HEAD', origin: 'hub' });
  });
});

describe('a machine without the network', () => {
  test('the error of an id whose owner is a folder here names both readings', async () => {
    const { resolve, env } = await hubFixture();
    const offline = { ...env, HF_HUB_OFFLINE: '1' };
    const missing = (model: string): Promise<Error> =>
      resolveModel(model, { env: offline }).then(
        () => new Error('it was found'),
        (error: Error) => error,
      );
    expect((await missing('models/no-such-model')).message).toMatch(
      /HF_HUB_OFFLINE.*; as a path, 'models\/no-such-model' is not in the folder 'models' either/,
    );
    expect((await missing('nobody/no-such-model')).message).not.toContain('as a path');
    await expect(resolve({ env: offline })).rejects.toMatchObject({ code: 'model_not_found' });
  });

  test('HF_HUB_OFFLINE finds a branch through refs and asks nobody', async () => {
    const { resolve, env, hub } = await hubFixture();
    const first = await resolve();
    hub.seen.length = 0;
    expect(await resolve({ env: { ...env, HF_HUB_OFFLINE: '1' } })).toEqual(first);
    expect(hub.seen).toEqual([]);
  });

  test('HF_HUB_OFFLINE refuses what is not complete', async () => {
    const { resolve, env, repo } = await hubFixture();
    const offline = { env: { ...env, HF_HUB_OFFLINE: 'yes' } };
    await expect(resolve(offline)).rejects.toMatchObject({
      code: 'model_not_found',
      message: expect.stringContaining('HF_HUB_OFFLINE'),
    });
    const { path } = await resolve();
    await rm(join(repo, 'blobs', sha256(tinyModel().get('model.safetensors') ?? Buffer.alloc(0))));
    await expect(resolve(offline)).rejects.toMatchObject({ code: 'model_not_found' });
    await rm(join(path, 'model.safetensors'));
    await expect(resolve(offline)).rejects.toMatchObject({ code: 'model_not_found' });
  });

  test('a missing shard or pipeline component makes a snapshot incomplete', async () => {
    const { resolve, env } = await hubFixture();
    const { path } = await resolve();
    const offline = { env: { ...env, HF_HUB_OFFLINE: '1' } };
    await writeFile(
      join(path, 'model.safetensors.index.json'),
      '{"weight_map":{"a":"model-00001-of-00002.safetensors"}}',
    );
    await expect(resolve(offline)).rejects.toMatchObject({ code: 'model_not_found' });
    await rm(join(path, 'model.safetensors.index.json'));
    await expect(resolve(offline)).resolves.toBeDefined();
    await writeFile(
      join(path, 'model_index.json'),
      '{"_class_name":"P","vae":["diffusers","AutoencoderKL"],"image_encoder":[null,null]}',
    );
    await expect(resolve(offline)).rejects.toMatchObject({ code: 'model_not_found' });
    await mkdir(join(path, 'vae'));
    await writeFile(join(path, 'vae', 'config.json'), '{}');
    await expect(resolve(offline)).resolves.toBeDefined();
  });

  test('a hub that does not answer gives way to a cached copy, and says so', async () => {
    const fixture = await hubFixture();
    const first = await fixture.resolve();
    fixture.hub.fault = () => ({ finish: 'drop' });
    expect(await fixture.resolve()).toEqual(first);
    expect(eventsOf(fixture, 'offline')[0]).toMatchObject({ id: ID, revision: first.revision });
    await fixture.hub.close();
    expect(await fixture.resolve()).toEqual(first);
    await rm(fixture.repo, { recursive: true });
    await expect(fixture.resolve()).rejects.toMatchObject({
      code: 'network',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test.each([
    ['http://127.0.0.1:9', '127.0.0.1:9 cannot be reached (bad port)'],
    ['http://no-such-host.invalid', 'no-such-host.invalid cannot be reached (E'],
  ])('gives up a hub that is not there, %s, after a second try, with the remedy', async (hub, words) => {
    const { resolve, env, events } = await hubFixture();
    const error = await resolve({ env: { ...env, HF_ENDPOINT: hub } }).catch((e) => e);
    expect(error).toMatchObject({ code: 'network', param: 'endpoint' });
    for (const part of [words, 'HF_ENDPOINT', 'HF_HUB_OFFLINE', 'folder'])
      expect(error.message).toContain(part);
    expect(events.map(({ type }) => type)).toEqual(['retry']);
    expect(error.message).not.toContain('PROXY');
  });

  test('is told how Node takes a proxy, if one is named', async () => {
    const { resolve, env } = await hubFixture();
    const proxied = { ...env, HF_ENDPOINT: 'http://127.0.0.1:9', https_proxy: 'http://proxy:3128' };
    await expect(resolve({ env: proxied })).rejects.toThrow(
      /https_proxy is heeded with NODE_USE_ENV_PROXY=1/,
    );
    const heeded = { ...proxied, NODE_USE_ENV_PROXY: '1' };
    await expect(resolve({ env: heeded })).rejects.toThrow(
      /mirror; HF_HUB_OFFLINE=1 takes only what is cached$/,
    );
  });
});
