// A model on the hub read over HTTP ranges: headers come, weights do not, and nothing is kept.
import { readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { openHubFolder } from '../../../src/files/hub/hub-folder.ts';
import { readJson } from '../../../src/files/source.ts';
import { ID, noise, tinyModel } from './mock-hub.ts';
import { hubFixture, IMPATIENT, WEIGHTS } from './mock-hub-fixture.ts';

const weights = noise(2_000_000, 3);

describe('a folder of the hub', () => {
  test('has the names of its files, and reads bytes of them by ranges', async () => {
    const files = tinyModel(weights);
    files.set('unet/config.json', Buffer.from('{"a":1}'));
    const fixture = await hubFixture(files);
    const openFolder = await openHubFolder(ID, { env: fixture.env, limits: IMPATIENT });
    const folder = await openFolder(ID);
    expect(await folder.names()).toEqual(['config.json', 'tokenizer.json', 'model.safetensors', 'README.md']);
    expect(await readJson(folder, 'config.json')).toEqual({ model_type: 'tiny' });
    expect(await readJson(await openFolder(`${ID}/unet`), 'config.json')).toEqual({ a: 1 });

    const source = await folder.open(WEIGHTS);
    expect(source.size).toBe(2_000_000);
    expect(Buffer.from(await source.read(0, 8)).equals(weights.subarray(0, 8))).toBe(true);
    expect(Buffer.from(await source.read(8, 1000)).equals(weights.subarray(8, 1008))).toBe(true);
    expect(Buffer.from(await source.read(1_500_000, 10)).equals(weights.subarray(1_500_000, 1_500_010))).toBe(
      true,
    );
    const ranges = fixture.hub
      .seenOf(WEIGHTS)
      .flatMap(({ range, method }) => (method === 'GET' && range ? [range] : []));
    expect([...new Set(ranges)]).toEqual(['bytes=0-262143', 'bytes=1500000-1500009']);
    expect(await readdir(fixture.home)).toEqual([]);
    await expect(source.read(1_999_999, 2)).rejects.toThrow('which holds 2000000');
  });

  test('that lacks a file, and an id that is none, are refused', async () => {
    const fixture = await hubFixture(tinyModel(weights));
    const openFolder = await openHubFolder(ID, { env: fixture.env, limits: IMPATIENT });
    await expect((await openFolder(ID)).open('vocab.json')).rejects.toMatchObject({ code: 'bad_checkpoint' });
    await expect(openHubFolder('acme/none', { env: fixture.env, limits: IMPATIENT })).rejects.toMatchObject({
      code: 'model_not_found',
    });
    const offline = { ...fixture.env, HF_HUB_OFFLINE: '1' };
    await expect(openHubFolder(ID, { env: offline })).rejects.toThrow(
      'HF_HUB_OFFLINE forbids asking the hub',
    );
  });

  test('a connection that breaks is made again', async () => {
    const fixture = await hubFixture(tinyModel(weights));
    fixture.hub.fault = (path, count) =>
      path === WEIGHTS && count < 2 ? { after: 100, finish: 'drop' } : undefined;
    const openFolder = await openHubFolder(ID, { env: fixture.env, limits: IMPATIENT });
    const source = await (await openFolder(ID)).open(WEIGHTS);
    expect(Buffer.from(await source.read(0, 5000)).equals(weights.subarray(0, 5000))).toBe(true);
  });
});
