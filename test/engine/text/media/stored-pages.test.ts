// Pages in storage that hold media are found by a model with the same towers and processors only.

import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { openMediaGolden, openMediaModel, requestOf } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const PAIR = fileURLToPath(new URL('../../../golden/gguf-towers/qwen2-5-vl', import.meta.url));

/** Prompt tokens of a conversation with an image that were found in the storage. */
async function foundBy(path: string, storageCache: string): Promise<number> {
  const golden = await openMediaGolden('qwen2-5-vl');
  const model = await openMediaModel({ path }, { storageCache });
  let found = -1;
  for await (const event of model.generate(requestOf(golden, golden.cases[0]!)))
    if (event.type === 'prefill') found = event.cached?.storage ?? -1;
  await model.close();
  return found;
}

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'svc-stored-pages-'));

function copyOf(path: string): string {
  const folder = newFolder();
  cpSync(path, folder, { recursive: true });
  return folder;
}

it('stored pages of media are found with the same processors only', async () => {
  const [path, pages] = [copyOf((await openMediaGolden('qwen2-5-vl')).path), newFolder()];
  expect(await foundBy(path, pages)).toBe(0);
  expect(await foundBy(path, pages)).toBe(32);
  const file = join(path, 'preprocessor_config.json');
  const json = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...json, image_mean: [0.1, 0.2, 0.3] }));
  expect(await foundBy(path, pages)).toBe(0);
});

it('stored pages of media are found with the same tower in a file of its own only', async () => {
  const [path, pages] = [copyOf(PAIR), newFolder()];
  expect(await foundBy(path, pages)).toBe(0);
  expect(await foundBy(path, pages)).toBe(32);
  const file = join(path, 'mmproj-qwen2-5-vl-F16.gguf');
  const bytes = readFileSync(file);
  bytes[bytes.length - 100]! ^= 1; // a weight
  writeFileSync(file, bytes);
  expect(await foundBy(path, pages)).toBe(0);
});
