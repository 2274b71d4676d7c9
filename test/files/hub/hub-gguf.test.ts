// Repositories of GGUF files: which quantization is fetched, found in the cache, listed and removed.

import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openHubFolder } from '../../../src/files/hub/hub-folder.ts';
import { chooseGguf, splitTag } from '../../../src/files/hub/hub-gguf.ts';
import { listModels, removeModel } from '../../../src/files/hub/hub-list.ts';
import { resolveModel } from '../../../src/files/hub/hub.ts';
import { eventsOf, hubFixture, IMPATIENT } from './mock-hub-fixture.ts';
import { commitOf, ID, noise, tinyModel } from './mock-hub.ts';

const SIZES = { Q8_0: 3000, Q4_K_M: 2000, Q3_K_M: 1500, IQ2_XXS: 500 };

/** A repository of quantizations, one of them in two files in a folder of its own. */
function repository(): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  Object.entries(SIZES).forEach(([tag, size], seed) => files.set(`tiny-${tag}.gguf`, noise(size, seed + 1)));
  for (const part of [1, 2]) files.set(`BF16/tiny-BF16-0000${part}-of-00002.gguf`, noise(700, 20 + part));
  files.set('mmproj-tiny-F16.gguf', noise(900, 30));
  files.set('README.md', Buffer.from('# tiny'));
  return files;
}

async function fixture(files = repository()) {
  const found = await hubFixture(files);
  const open = (model: string, options: object = {}) =>
    resolveModel(model, {
      env: found.env,
      limits: IMPATIENT,
      onProgress: (event) => found.events.push(event),
      ...options,
    });
  const path = (name: string) => join(found.repo, 'snapshots', commitOf('one'), name);
  return { ...found, open, path };
}

describe('a quantization behind the id', () => {
  test.each([
    ['acme/tiny:Q4_K_M', 'acme/tiny', 'Q4_K_M'],
    ['acme/tiny:ud-q4_k_xl', 'acme/tiny', 'ud-q4_k_xl'],
    ['acme/tiny:main', 'acme/tiny:main', null],
    ['llama3.2:1b', 'llama3.2:1b', null],
    ['C:/models/tiny', 'C:/models/tiny', null],
    ['acme/tiny', 'acme/tiny', null],
  ])('%s', (model, id, tag) => {
    expect(splitTag(model)).toEqual({ id, tag });
  });

  test('is fetched with its tower alone, and found in the cache from then on', async () => {
    const { open, path, hub, repo, events } = await fixture();
    const model = await open(`${ID}:q8_0`);
    expect(model).toEqual({ path: path('tiny-Q8_0.gguf'), id: ID, revision: commitOf('one') });
    expect(await readdir(path('.'))).toEqual(['mmproj-tiny-F16.gguf', 'tiny-Q8_0.gguf']);
    expect(await readdir(join(repo, 'blobs'))).toHaveLength(2);
    expect(events.filter(({ type }) => type === 'chosen')).toEqual([]);
    hub.seen.length = 0;
    const env = { HF_HUB_OFFLINE: '1' };
    expect((await open(`${ID}:Q8_0`, { env: { ...env, HF_HOME: join(repo, '..', '..') } })).path).toBe(
      model.path,
    );
    expect(hub.seen).toEqual([]);
    await expect(
      open(`${ID}:Q3_K_M`, { env: { ...env, HF_HOME: join(repo, '..', '..') } }),
    ).rejects.toMatchObject({
      code: 'model_not_found',
    });
  });

  test('in several files and a folder is fetched whole', async () => {
    const { open, path } = await fixture();
    expect((await open(`${ID}:BF16`)).path).toBe(path('BF16/tiny-BF16-00001-of-00002.gguf'));
    expect((await readdir(path('BF16'))).sort()).toEqual([
      'tiny-BF16-00001-of-00002.gguf',
      'tiny-BF16-00002-of-00002.gguf',
    ]);
  });

  test('that is not there is refused with those that are', async () => {
    const { open } = await fixture();
    await expect(open(`${ID}:Q6_K`)).rejects.toThrow(
      /has no GGUF file of Q6_K: it has BF16 \(BF16\/tiny-BF16-00001-of-00002\.gguf\), IQ2_XXS/,
    );
  });

  test('is found in a folder on the disk', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'hub-test-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    await mkdir(join(dir, 'x'));
    for (const tag of ['Q4_K_M', 'Q8_0']) await writeFile(join(dir, `m-${tag}.gguf`), '');
    expect((await resolveModel(`${dir}:q8_0`)).path).toBe(join(dir, 'm-Q8_0.gguf'));
    await expect(resolveModel(`${dir}:Q2_K`)).rejects.toThrow(
      /has no GGUF file of Q2_K: it has Q4_K_M \(m-Q4_K_M\.gguf\)/,
    );
  });

  test('of one file, and a file that its folder does not have, are refused by what is there', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'hub-test-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    await writeFile(join(dir, 'm-Q8_0.gguf'), '');
    await mkdir(join(dir, 'empty'));
    const refusals = [
      [
        'm-Q8_0.gguf:Q4_0',
        /m-Q8_0\.gguf is one file, whose tensors have types of their own: leave out :Q4_0/,
      ],
      ['m-Q4_0.gguf', /no file '.*m-Q4_0\.gguf': its folder has Q8_0 \(m-Q8_0\.gguf\)/],
      ['empty/m.gguf', /no file '.*empty\/m\.gguf': check the path/],
    ] as const;
    for (const [name, message] of refusals) {
      const refusal = resolveModel(join(dir, name));
      await expect(refusal).rejects.toMatchObject({ code: 'model_not_found', param: 'model' });
      await expect(refusal).rejects.toThrow(message);
    }
  });

  test('is fetched beside safetensors only where it is named', async () => {
    const { open, path } = await fixture(new Map([...tinyModel(), ...repository()]));
    expect((await open(ID)).path).toBe(path('.').replace(/\/$/, ''));
    expect((await open(`${ID}:Q4_K_M`)).path).toBe(path('tiny-Q4_K_M.gguf'));
    expect(await readdir(path('.'))).not.toContain('tiny-Q8_0.gguf');
  });
});

describe('an id of GGUF files without a quantization', () => {
  test('fetches Q4_K_M, with a note', async () => {
    const found = await fixture();
    expect((await found.open(ID)).path).toBe(found.path('tiny-Q4_K_M.gguf'));
    expect(eventsOf(found, 'chosen').map(({ message }) => message)).toEqual([
      'acme/tiny has GGUF files of BF16, IQ2_XXS, Q3_K_M, Q4_K_M, Q8_0: Q4_K_M is taken; name another as acme/tiny:TAG',
    ]);
  });

  const files = (...tags: [string, number][]) => tags.map(([tag, size]) => ({ path: `m-${tag}.gguf`, size }));
  test.each([
    [
      files(['Q4_K_M', 2000], ['Q3_K_M', 1500], ['Q8_0', 3000]),
      1800,
      'Q3_K_M',
      /Q3_K_M is taken, as the budget leaves 1\.8 KiB for weights; name another/,
    ],
    [files(['Q4_K_M', 2000], ['Q8_0', 3000]), 10, 'Q4_K_M', /the budget leaves 10 B for weights/],
    [files(['Q8_0', 3000], ['IQ2_XXS', 5]), 10, 'IQ2_XXS', /IQ2_XXS is taken, as the budget leaves 10 B/],
    [files(['Q5_K_M', 3], ['Q8_0', 4], ['Q4_0', 2]), Infinity, 'Q4_0', /Q4_0 is taken; name/],
  ])('fetches of %j the closest that fits into %d bytes', (given, mostBytes, tag, note) => {
    const chosen = chooseGguf('a/b', given, null, mostBytes)!;
    expect(chosen.set.tag).toBe(tag);
    expect(chosen.note).toMatch(note);
  });

  test('fetches the only one without a note', () => {
    expect(chooseGguf('a/b', files(['Q8_0', 1]), null)).toMatchObject({ set: { tag: 'Q8_0' }, note: null });
    expect(chooseGguf('a/b', [{ path: 'README.md', size: 1 }], null)).toBeNull();
  });
});

describe('a file behind the id', () => {
  const files = new Map([
    ['split/model one.safetensors', noise(400, 40)],
    ['split/vae.safetensors', noise(300, 41)],
    ['tiny-Q8_0.gguf', noise(200, 42)],
    ['README.md', Buffer.from('# tiny')],
  ]);

  test('is fetched alone, in whatever folder, and found in the cache from then on', async () => {
    const { open, path, repo, hub } = await fixture(files);
    const model = await open(`${ID}:split/model one.safetensors`, { singleFiles: true });
    expect(model.path).toBe(path('split/model one.safetensors'));
    expect(await readdir(join(repo, 'blobs'))).toHaveLength(1);
    hub.seen.length = 0;
    const env = { HF_HUB_OFFLINE: '1', HF_HOME: join(repo, '..', '..') };
    expect((await open(`${ID}:split/model one.safetensors`, { env })).path).toBe(model.path);
    expect(hub.seen).toEqual([]);
    expect((await open(`${ID}:tiny-Q8_0.gguf`)).path).toBe(path('tiny-Q8_0.gguf'));
  });

  test('that is not there is refused with those that are', async () => {
    const { open } = await fixture(files);
    await expect(open(`${ID}:vae.safetensors`)).rejects.toThrow(
      'acme/tiny has no file vae.safetensors: it has split/model one.safetensors, split/vae.safetensors',
    );
  });

  test('is asked for where a model may be any of several, and not where there is one', async () => {
    const { open, path, hub } = await fixture(files);
    await expect(open(ID, { singleFiles: true })).rejects.toThrow(
      /holds 2 files of tensors and no model_index\.json: name one as acme\/tiny:split\/model one\.safetensors/,
    );
    expect(hub.seenOf('split/vae.safetensors')).toEqual([]);
    const one = await fixture(new Map([['deep/only.safetensors', noise(100, 43)]]));
    expect((await one.open(ID, { singleFiles: true })).path).toBe(
      path('deep/only.safetensors').replace(path('.'), one.path('.')),
    );
  });
});

test('quantizations in the cache are listed, and removed one by one, and the tower with the last', async () => {
  const { open, env, home } = await fixture();
  await open(`${ID}:Q8_0`);
  await open(`${ID}:Q3_K_M`);
  const [listed] = await listModels({ env });
  expect(listed).toMatchObject({ id: ID, complete: true, bytes: expect.any(Number) });
  expect(listed!.revisions[0]!.quantizations).toEqual(['Q3_K_M', 'Q8_0']);
  expect(await removeModel(`${ID}:Q8_0`, { env })).toEqual({ id: `${ID}:Q8_0`, bytes: SIZES.Q8_0 });
  expect((await listModels({ env }))[0]!.revisions[0]!.quantizations).toEqual(['Q3_K_M']);
  await expect(removeModel(`${ID}:Q8_0`, { env })).rejects.toThrow(
    /no GGUF file of Q8_0 in the cache; quantizations there: Q3_K_M/,
  );
  await removeModel(`${ID}:Q3_K_M`, { env });
  expect(await listModels({ env })).toEqual([]);
  expect(await readdir(join(home, 'hub'))).not.toContain('models--acme--tiny');
});

test('a folder on the hub has the files of one quantization, and its tower', async () => {
  const { env } = await fixture();
  const names = async (model: string) =>
    (await (await openHubFolder(model, { env, limits: IMPATIENT }))(model)).names();
  expect(await names(ID)).toEqual(['tiny-Q4_K_M.gguf', 'mmproj-tiny-F16.gguf']);
  expect(await names(`${ID}:Q8_0`)).toEqual(['tiny-Q8_0.gguf', 'mmproj-tiny-F16.gguf']);
  const folder = await (await openHubFolder(`${ID}:BF16`, { env, limits: IMPATIENT }))(`${ID}:BF16`);
  const [, second] = await folder.names();
  const source = await folder.open(second!);
  expect(Buffer.from(await source.read(10, 5))).toEqual(noise(700, 22).subarray(10, 15));
});
