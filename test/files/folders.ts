// Folders that a test makes up.

import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** File name → content: objects as JSON, strings and bytes as they are. */
export type Files = Record<string, unknown>;

/** Makes folders in one of its own, which is removed after the run of the tests. */
export function temporaryFolders(): (files: Files) => Promise<string> {
  let root: Promise<string> | null = null;
  let count = 0;
  return async (files) => {
    root ??= mkdtemp(join(tmpdir(), 'svc-folder-'));
    const path = join(await root, `folder-${(count += 1)}`);
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
