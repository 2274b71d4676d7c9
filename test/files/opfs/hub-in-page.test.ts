// Models of a hub in the browser's storage: downloaded, resumed, shared by tabs, opened without a network.

import { expect, test } from 'vitest';
import { openStored } from '../../../src/files/opfs/stored-folder.ts';
import { removeStored } from '../../../src/files/opfs/stored-models.ts';
import { commitOf, gitId, ID, noise, sha256, tinyModel } from '../hub/mock-hub.ts';
import { firstly, IMPATIENT, ONE_PART, WEIGHTS, weightsOf } from '../hub/mock-hub-fixture.ts';
import { FOLDER, originFixture, type Tab } from './page-fixture.ts';

const PARTIAL = `${FOLDER}/blobs/${sha256(weightsOf())}.incomplete`;
const BLOB = `${FOLDER}/blobs/${sha256(weightsOf())}`;
/** One attempt, which a busy machine has time for. */
const GIVES_UP = { limits: { ...IMPATIENT, attempts: 1, stallMs: 10_000, partBytes: 1 << 20 } };

const fetchedOf = ({ events }: Tab): number => {
  const done = events.find((event) => event.type === 'done');
  return done?.type === 'done' ? done.fetched : -1;
};

test('a model in a page is stored by its digests, and read by folder and name', async () => {
  const { hub, storage, tab } = await originFixture();
  const page = tab();
  const { path, revision } = await page.resolve();
  expect(path).toBe(`hub:${ID}/${commitOf('one')}`);
  expect(revision).toBe(commitOf('one'));
  expect((await page.read(path, WEIGHTS)).equals(weightsOf())).toBe(true);
  const folder = await openStored(page.stores.models, path);
  expect((await folder.names()).sort()).toEqual(['config.json', WEIGHTS, 'tokenizer.json']);
  await expect(folder.open('README.md')).rejects.toMatchObject({
    code: 'bad_checkpoint',
    param: 'README.md',
  });
  const source = await folder.open(WEIGHTS);
  const part = new Uint8Array(1000);
  await source.readInto(123_456, part);
  expect(Buffer.from(part).equals(weightsOf().subarray(123_456, 124_456))).toBe(true);
  expect(Object.keys(storage.files()).sort()).toEqual(
    [
      'svc-engine/last-use.json',
      `${FOLDER}/model.json`,
      BLOB,
      `${FOLDER}/blobs/${gitId(tinyModel().get('config.json')!)}`,
      `${FOLDER}/blobs/${gitId(tinyModel().get('tokenizer.json')!)}`,
    ].sort(),
  );
  // Credentials go to the hub only; every file is asked for by a range, which is never compressed.
  for (const { origin, path: file, authorization, range } of hub.seen) {
    expect(authorization).toBe(origin === 'hub' ? 'Bearer hf_page' : undefined);
    if (file !== 'list') expect(range).toMatch(/^bytes=\d+-\d+$/);
  }
});

test('an unchanged model costs one listing, and a commit no request at all', async () => {
  const { hub, tab } = await originFixture();
  await tab().resolve();
  hub.seen.length = 0;
  const page = tab();
  await page.resolve();
  expect(hub.seen.map(({ path }) => path)).toEqual(['list']);
  expect(fetchedOf(page)).toBe(0);
  await page.resolve({ revision: commitOf('one') });
  expect(hub.seen).toHaveLength(1);
});

test('a download that breaks off goes on where it stopped, also in another page', async () => {
  const { hub, storage, tab } = await originFixture();
  hub.fault = firstly({ after: 131_072, finish: 'drop' });
  const first = tab();
  await expect(first.resolve(GIVES_UP)).rejects.toMatchObject({ code: 'network' });
  const { [PARTIAL]: kept } = storage.files();
  expect(kept).toBeGreaterThanOrEqual(65_536);
  first.close();
  const second = tab();
  const { path } = await second.resolve(ONE_PART);
  expect(hub.seenOf(WEIGHTS).at(-1)!.range).toBe(`bytes=${kept}-299999`);
  expect(second.events).toContainEqual(
    expect.objectContaining({ type: 'resume', files: [{ path: WEIGHTS, received: kept, size: 300_000 }] }),
  );
  expect(fetchedOf(second)).toBe(300_000 - kept!);
  expect((await second.read(path, WEIGHTS)).equals(weightsOf())).toBe(true);
});

test('a page that is closed during a download leaves what arrived, and nothing locked', async () => {
  const { hub, storage, tab } = await originFixture();
  hub.fault = (path) => (path === WEIGHTS ? { after: 100_000, finish: 'stall' } : undefined);
  const first = tab();
  const ended = first.resolve(GIVES_UP).catch((error: unknown) => error);
  await expect.poll(() => storage.files()[PARTIAL] ?? 0).toBeGreaterThan(50_000);
  first.close();
  await ended;
  hub.fault = () => undefined;
  const second = tab();
  const { path } = await second.resolve(ONE_PART);
  expect(fetchedOf(second)).toBeLessThan(250_000);
  expect((await second.read(path, WEIGHTS)).equals(weightsOf())).toBe(true);
});

test('short writes of the browser are continued', async () => {
  const { storage, tab } = await originFixture();
  storage.mostPerWrite = 1000;
  const page = tab();
  const { path } = await page.resolve();
  expect((await page.read(path, WEIGHTS)).equals(weightsOf())).toBe(true);
});

test('a single file of a repository is a folder with that file, and is not removed alone', async () => {
  const { tab } = await originFixture();
  const page = tab();
  const { path } = await page.resolve({}, `${ID}:${WEIGHTS}`);
  const folder = await openStored(page.stores.models, path);
  expect(await folder.names()).toEqual([WEIGHTS]);
  expect((await page.read(path, WEIGHTS)).equals(weightsOf())).toBe(true);
  const removing = removeStored(page.stores.models, page.stores.use, `${ID}:${WEIGHTS}`);
  await expect(removing).rejects.toMatchObject({ code: 'bad_request', param: 'model' });
  expect((await page.read(path, WEIGHTS)).equals(weightsOf())).toBe(true);
});

test('two tabs fetch a model once', async () => {
  const { hub, tab } = await originFixture();
  hub.fault = (path) => (path === WEIGHTS ? { pauseMs: 20 } : undefined);
  const [first, second] = [tab(), tab()];
  const [one, two] = await Promise.all([first.resolve(ONE_PART), second.resolve(ONE_PART)]);
  expect(one.path).toBe(two.path);
  expect(hub.seenOf(WEIGHTS).filter(({ origin }) => origin === 'store')).toHaveLength(1);
  expect([...first.events, ...second.events]).toContainEqual({
    type: 'wait',
    path: expect.any(String),
    pid: null,
  });
  expect((await second.read(two.path, WEIGHTS)).equals(weightsOf())).toBe(true);
});

test('a tab goes on for another one that ends', async () => {
  const { hub, tab } = await originFixture();
  hub.fault = firstly({ after: 100_000, finish: 'stall' });
  const first = tab();
  const ended = first
    .resolve({ limits: { ...IMPATIENT, partBytes: 1 << 20, stallMs: 60_000 } })
    .catch(() => {});
  await expect.poll(() => first.events.some(({ type }) => type === 'progress')).toBe(true);
  const second = tab();
  const opening = second.resolve(ONE_PART);
  await expect.poll(() => second.events.some(({ type }) => type === 'wait')).toBe(true);
  first.close();
  await ended;
  expect((await second.read((await opening).path, WEIGHTS)).equals(weightsOf())).toBe(true);
});

test('the stored model opens without the hub, with the event that says so', async () => {
  const { hub, tab } = await originFixture();
  await tab().resolve();
  await hub.close();
  const page = tab();
  const { path } = await page.resolve();
  expect(page.events).toContainEqual(
    expect.objectContaining({ type: 'offline', id: ID, revision: commitOf('one') }),
  );
  expect((await page.read(path, WEIGHTS)).equals(weightsOf())).toBe(true);
  await expect(page.resolve({ revision: 'other' })).rejects.toMatchObject({
    code: 'network',
    message: expect.stringMatching(/cannot be reached .*answers pages of other origins, or pass the files/),
  });
});

test('a model that is not whole does not open without the hub', async () => {
  const { hub, tab } = await originFixture();
  hub.fault = (path) => (path === WEIGHTS ? { after: 70_000, finish: 'drop' } : undefined);
  await expect(tab().resolve(GIVES_UP)).rejects.toMatchObject({ code: 'network' });
  await hub.close();
  await expect(tab().resolve()).rejects.toMatchObject({ code: 'network', param: 'endpoint' });
});

test('a cancelled download keeps what arrived', async () => {
  const { hub, storage, tab } = await originFixture();
  hub.fault = (path) => (path === WEIGHTS ? { pauseMs: 20 } : undefined);
  const stop = new AbortController();
  const page = tab();
  const opening = page.resolve({ ...ONE_PART, signal: stop.signal });
  const failure = expect(opening).rejects.toMatchObject({ code: 'cancelled' });
  await expect.poll(() => storage.files()[PARTIAL] ?? 0).toBeGreaterThan(50_000);
  stop.abort();
  await failure;
  const { [PARTIAL]: kept } = storage.files();
  hub.fault = () => undefined;
  await page.resolve(ONE_PART);
  expect(fetchedOf(page)).toBe(300_000 - kept!);
});

test('inspect sees the settings before the weights are fetched, and may refuse them', async () => {
  const { hub, tab } = await originFixture();
  const page = tab();
  const refusal = new Error('no such family');
  let seen = '';
  const inspect = async (path: string, files: readonly string[]): Promise<void> => {
    expect(files).toContain(WEIGHTS);
    seen = String(await page.read(path, 'config.json'));
    throw refusal;
  };
  await expect(page.resolve({ inspect })).rejects.toBe(refusal);
  expect(seen).toBe('{"model_type":"tiny"}');
  expect(hub.seenOf(WEIGHTS)).toEqual([]);
});

test('a quantization is taken by its tag; its path is a folder with that file alone', async () => {
  const files = new Map([
    ['tiny-Q4_K_M.gguf', noise(5000, 4)],
    ['tiny-Q8_0.gguf', noise(9000, 8)],
  ]);
  const { hub, tab } = await originFixture(files);
  const page = tab();
  const { path } = await page.resolve({}, `${ID}:Q8_0`);
  expect(path).toBe(`hub:${ID}/${commitOf('one')}/tiny-Q8_0.gguf`);
  const folder = await openStored(page.stores.models, path);
  expect(await folder.names()).toEqual(['tiny-Q8_0.gguf']);
  expect((await page.read(path, 'tiny-Q8_0.gguf')).equals(files.get('tiny-Q8_0.gguf')!)).toBe(true);
  expect(hub.seenOf('tiny-Q4_K_M.gguf')).toEqual([]);
  expect((await page.resolve({ mostBytes: 6000 })).path).toMatch(/tiny-Q4_K_M\.gguf$/);
  await hub.close();
  expect((await page.resolve({}, `${ID}:Q8_0`)).path).toBe(path);
});

test('components of pipelines are folders', async () => {
  const files = new Map([
    ['model_index.json', Buffer.from('{"_class_name":"StableDiffusionPipeline","unet":["diffusers","U"]}')],
    ['unet/config.json', Buffer.from('{}')],
    ['unet/diffusion_pytorch_model.safetensors', noise(2000, 5)],
  ]);
  const { tab } = await originFixture(files);
  const page = tab();
  const { path } = await page.resolve({ component: 'unet' });
  const unet = await openStored(page.stores.models, `${path}/unet`);
  expect((await unet.names()).sort()).toEqual(['config.json', 'diffusion_pytorch_model.safetensors']);
  await expect(openStored(page.stores.models, `${path}/vae`)).rejects.toMatchObject({
    code: 'model_not_found',
  });
});

test('errors of settings name the options of a page', async () => {
  const { hub, tab } = await originFixture();
  hub.token = 'hf_other';
  await expect(tab().resolve()).rejects.toMatchObject({
    code: 'model_not_found',
    message: expect.stringContaining('the token in hub.token has no access'),
  });
});

test('a page without a private file system is refused with the reason', async () => {
  const { storage, tab } = await originFixture();
  storage.isRefused = true;
  await expect(tab().resolve()).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('no private file system'),
  });
});
