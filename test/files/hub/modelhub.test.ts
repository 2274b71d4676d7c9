import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resolveModel } from '../../../src/files/hub/hub.ts';
import { listModels } from '../../../src/files/hub/hub-list.ts';
import { commitOf, ID, sha256, tinyModel } from './mock-hub.ts';
import { hubFixture, type Fixture } from './mock-hub-fixture.ts';

async function secondHub(): Promise<Fixture> {
  const fixture = await hubFixture();
  // The other hub's variables point nowhere: they must not matter.
  const env = {
    SVC_USE_MODELHUB: '1',
    MODELSCOPE_ENDPOINT: fixture.hub.url,
    MODELSCOPE_CACHE: join(fixture.home, 'ms'),
    HF_HOME: join(fixture.home, 'hf'),
    HF_ENDPOINT: 'http://127.0.0.1:9',
  };
  const { resolve } = fixture;
  return {
    ...fixture,
    env,
    repo: join(fixture.home, 'ms/svc-engine/models--acme--tiny'),
    resolve: (options) => resolve({ env, ...options }),
  };
}

test('the second hub fills a cache of its own, master by default, every file checked by sha256', async () => {
  const { resolve, hub, repo, home, env } = await secondHub();
  const { path, revision } = await resolve();
  expect(path).toBe(join(repo, 'snapshots', revision ?? ''));
  expect(revision).toMatch(/^[0-9a-f]{40}$/);
  expect(await readFile(join(repo, 'refs', 'master'), 'utf8')).toBe(revision);
  const wanted = [...tinyModel()].filter(([name]) => name !== 'README.md');
  expect((await readdir(join(repo, 'blobs'))).sort()).toEqual(
    wanted.map(([, bytes]) => sha256(bytes)).sort(),
  );
  for (const [name, bytes] of wanted) expect((await readFile(join(path, name))).equals(bytes)).toBe(true);
  expect(await readdir(home)).toEqual(['ms']);
  expect((await listModels({ env })).map(({ id, complete }) => [id, complete])).toEqual([[ID, true]]);

  hub.seen.length = 0;
  expect((await resolve()).revision).toBe(revision);
  expect(hub.seen.map((request) => request.path)).toEqual(['list']);
});

test('snapshots of the second hub are named by content: a changed branch gets a new one', async () => {
  const { resolve, hub } = await secondHub();
  const first = await resolve();
  hub.revisions.set('dev', { commit: commitOf('x'), files: new Map([...tinyModel()].toReversed()) });
  expect((await resolve({ revision: 'dev' })).revision).toBe(first.revision);
  hub.revisions.set('dev', {
    commit: commitOf('x'),
    files: tinyModel().set('config.json', Buffer.from('{}')),
  });
  expect((await resolve({ revision: 'dev' })).revision).not.toBe(first.revision);
  await expect(resolve({ revision: 'nope' })).rejects.toMatchObject({
    code: 'model_not_found',
    param: 'revision',
  });
});

test('the token of the second hub is a header and a cookie, sent to it alone, and named when missing', async () => {
  const { resolve, hub, env } = await secondHub();
  hub.token = 'ms-1';
  await expect(resolve()).rejects.toMatchObject({
    code: 'model_not_found',
    message: expect.stringContaining('MODELSCOPE_API_TOKEN'),
  });
  hub.seen.length = 0;
  await resolve({ env: { ...env, MODELSCOPE_API_TOKEN: 'ms-1' } });
  for (const { origin, authorization, cookie } of hub.seen) {
    const expected = origin === 'hub' ? ['Bearer ms-1', 'm_session_id=ms-1'] : [undefined, undefined];
    expect([authorization, cookie]).toEqual(expected);
  }
  expect(new Set(hub.seen.map(({ origin }) => origin))).toEqual(new Set(['hub', 'store']));
});

test('files of the second hub are resumed, and refused when corrupt', async () => {
  const { resolve, hub } = await secondHub();
  hub.fault = (path, count) =>
    path === 'model.safetensors' && count === 0 ? { after: 40_000, finish: 'drop' } : undefined;
  await resolve();
  const broken = await secondHub();
  broken.hub.fault = (path) => (path === 'tokenizer.json' ? { corrupt: true } : undefined);
  await expect(broken.resolve()).rejects.toMatchObject({ code: 'bad_checkpoint', param: 'tokenizer.json' });
});

test('an id that the second hub does not know is named', async () => {
  const { env } = await secondHub();
  await expect(resolveModel('acme/none', { env })).rejects.toMatchObject({
    code: 'model_not_found',
    message: expect.stringContaining('no model acme/none'),
  });
});
