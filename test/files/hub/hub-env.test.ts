import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openHub } from '../../../src/files/hub/hub-env.ts';

test.each([
  [{}, join(homedir(), '.cache/huggingface/hub')],
  [{ HOME: '/h' }, '/h/.cache/huggingface/hub'],
  [{ XDG_CACHE_HOME: '/x' }, '/x/huggingface/hub'],
  [{ XDG_CACHE_HOME: '/x', HF_HOME: '/hf' }, '/hf/hub'],
  [{ HF_HOME: '~/hf', HOME: '/h' }, '/h/hf/hub'],
  [{ HF_HOME: '$DISK/hf', DISK: '/d' }, '/d/hf/hub'],
  [{ HF_HOME: '/hf', HUGGINGFACE_HUB_CACHE: '/old' }, '/old'],
  [{ HF_HOME: '/hf', HUGGINGFACE_HUB_CACHE: '/old', HF_HUB_CACHE: '/new' }, '/new'],
  [{ HF_HOME: '', HF_HUB_CACHE: '', HOME: '/h' }, '/h/.cache/huggingface/hub'],
  [{ SVC_USE_MODELHUB: '1', HOME: '/h' }, '/h/.cache/modelscope/svc-engine'],
  [{ SVC_USE_MODELHUB: '1', MODELSCOPE_CACHE: '/m', HF_HOME: '/hf' }, '/m/svc-engine'],
])('the environment %j keeps models in %s', async (env, cache) => {
  expect((await openHub(env)).cache).toBe(cache);
});

test('the token comes from the environment, else from the file beside the cache', async () => {
  const home = await mkdtemp(join(tmpdir(), 'hub-test-'));
  onTestFinished(() => rm(home, { recursive: true }));
  expect((await openHub({ HF_HOME: home })).token).toBeNull();
  await writeFile(join(home, 'token'), 'hf_file\n');
  await writeFile(join(home, 'other'), 'hf_other');
  expect((await openHub({ HF_HOME: home })).token).toBe('hf_file');
  expect((await openHub({ HF_HOME: home, HF_TOKEN_PATH: join(home, 'other') })).token).toBe('hf_other');
  expect((await openHub({ HF_HOME: home, HUGGING_FACE_HUB_TOKEN: 'hf_old' })).token).toBe('hf_old');
  expect(
    (await openHub({ HF_HOME: home, HF_TOKEN: ' hf_env ', HUGGING_FACE_HUB_TOKEN: 'hf_old' })).token,
  ).toBe('hf_env');
  const second = await openHub({ HF_HOME: home, HF_TOKEN: 'hf_env', SVC_USE_MODELHUB: '1' });
  expect(second.token).toBeNull();
  expect(second.credentials).toEqual({});
});

test('the environment sets endpoints, offline mode and default revisions', async () => {
  expect(await openHub({})).toMatchObject({
    endpoint: 'https://huggingface.co',
    defaultRevision: 'main',
    offline: null,
  });
  expect((await openHub({ HF_ENDPOINT: 'http://mirror:80/hf//' })).endpoint).toBe('http://mirror:80/hf');
  expect(await openHub({ SVC_USE_MODELHUB: '1' })).toMatchObject({
    endpoint: 'https://www.modelscope.cn',
    defaultRevision: 'master',
  });
  expect((await openHub({ SVC_USE_MODELHUB: '0' })).defaultRevision).toBe('main');
  expect((await openHub({ HF_HUB_OFFLINE: 'TRUE' })).offline).toBe('HF_HUB_OFFLINE');
  expect((await openHub({ HF_HUB_OFFLINE: '0', TRANSFORMERS_OFFLINE: '1' })).offline).toBe(
    'TRANSFORMERS_OFFLINE',
  );
  await expect(openHub({ HF_ENDPOINT: 'mirror' })).rejects.toThrow("HF_ENDPOINT is 'mirror'");
  await expect(openHub({ HF_ENDPOINT: 'ftp://mirror' })).rejects.toMatchObject({ code: 'bad_request' });
});
