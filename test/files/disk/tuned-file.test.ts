import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { addTuned, readTuned } from '../../../src/files/disk/tuned-file.ts';

const ADAPTER = { vendor: 'v', architecture: 'a', device: 'Card 9/XT', description: 'driver 1' };

let cache: string;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'svc-tuned-'));
  vi.stubEnv('XDG_CACHE_HOME', cache);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(cache, { recursive: true, force: true });
});

const folder = (): string => join(cache, 'svc-engine', 'tuned');

it('the file of tuned variants keeps them by adapter and driver, and is added to', async () => {
  expect(await readTuned(ADAPTER)).toEqual({});
  await addTuned(ADAPTER, { matmul: { rows: 16 }, conv2d: { rows: 24 } });
  await addTuned(ADAPTER, { conv2d: { rows: 32 } });
  expect(await readTuned(ADAPTER)).toEqual({ matmul: { rows: 16 }, conv2d: { rows: 32 } });
  expect(await readTuned({ ...ADAPTER, description: 'driver 2' })).toEqual({});
  expect(readdirSync(folder())).toEqual([expect.stringMatching(/^Card_9_XT-[0-9a-f]{12}\.json$/)]);
});

it.each(['', '{"matmul":', '[]', '{"matmul":{"rows":"16"}}', '{"matmul":null}'])(
  'a damaged file of tuned variants, %j, is replaced by a new one',
  async (text) => {
    await addTuned(ADAPTER, { matmul: { rows: 16 } });
    writeFileSync(join(folder(), readdirSync(folder())[0]!), text);
    expect(await readTuned(ADAPTER)).toEqual({});
    await addTuned(ADAPTER, { matmul: { rows: 24 } });
    expect(await readTuned(ADAPTER)).toEqual({ matmul: { rows: 24 } });
  },
);

it('tuned variants are not kept in a cache that cannot be written', async () => {
  mkdirSync(join(cache, 'svc-engine'));
  writeFileSync(folder(), 'a file');
  await addTuned(ADAPTER, { matmul: { rows: 16 } });
  expect(await readTuned(ADAPTER)).toEqual({});
});
