// Folders that a test makes up.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

/** File name → content: objects as JSON, strings and bytes as they are. */
export type Files = Record<string, unknown>;

/** Makes folders in one that is removed after the tests of the file. */
export function temporaryFolders(): (files: Files) => Promise<string> {
  let root = '';
  let count = 0;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'svc-folder-'));
  });
  afterAll(() => rm(root, { recursive: true, force: true }));
  return async (files) => {
    const path = join(root, `folder-${(count += 1)}`);
    await mkdir(path);
    for (const [name, content] of Object.entries(files)) {
      const place = join(path, name);
      await mkdir(dirname(place), { recursive: true });
      const isPlain = typeof content === 'string' || content instanceof Uint8Array;
      await writeFile(place, isPlain ? content : JSON.stringify(content));
    }
    return path;
  };
}
