// Tuned kernel variants, stored on disk: one small JSON file per adapter and driver.

import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheFolder } from './cache-folder.ts';
import { parseTuned, tunedFileName, tunedText, type TunedEntries, type TunedFor } from '../tuned-entries.ts';

/** Returns nothing if the file is missing or unreadable; the variants are then measured again. */
export async function readTuned(adapter: TunedFor): Promise<TunedEntries> {
  return parseTuned(await readFile(fileOf(adapter), 'utf8').catch(() => null));
}

/** Adds entries to the file. Errors of writing are ignored. */
export async function addTuned(adapter: TunedFor, entries: TunedEntries): Promise<void> {
  const file = fileOf(adapter);
  const all = { ...(await readTuned(adapter)), ...entries };
  const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(temporary, tunedText(all));
    await rename(temporary, file);
  } catch {
    await rm(temporary, { force: true }).catch(() => {});
  }
}

function fileOf(adapter: TunedFor): string {
  const name = tunedFileName(adapter, (text) => createHash('sha256').update(text).digest('hex'));
  return join(cacheFolder('tuned'), name);
}
