// Tuned kernel variants, stored on disk: one small JSON file per adapter and driver.

import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheFolder } from './cache-folder.ts';

/** Numbers by name, by the key they were measured for. */
export type TunedEntries = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Names an adapter and its driver. */
export interface TunedFor {
  vendor: string;
  architecture: string;
  device: string;
  description: string;
}

/** Returns nothing if the file is missing or unreadable; the variants are then measured again. */
export async function readTuned(adapter: TunedFor): Promise<TunedEntries> {
  const text = await readFile(fileOf(adapter), 'utf8').catch(() => null);
  if (text === null) return {};
  try {
    const entries: unknown = JSON.parse(text);
    return isTuned(entries) ? entries : {};
  } catch {
    return {};
  }
}

/** Adds entries to the file. Errors of writing are ignored. */
export async function addTuned(adapter: TunedFor, entries: TunedEntries): Promise<void> {
  const file = fileOf(adapter);
  const all = { ...(await readTuned(adapter)), ...entries };
  const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(temporary, `${JSON.stringify(all, null, 1)}\n`);
    await rename(temporary, file);
  } catch {
    await rm(temporary, { force: true }).catch(() => {});
  }
}

function fileOf({ vendor, architecture, device, description }: TunedFor): string {
  const identity = JSON.stringify([vendor, architecture, device, description]);
  const stem = (device || vendor).replace(/[^\w.-]+/g, '_').slice(0, 60);
  return join(
    cacheFolder('tuned'),
    `${stem}-${createHash('sha256').update(identity).digest('hex').slice(0, 12)}.json`,
  );
}

function isTuned(entries: unknown): entries is TunedEntries {
  const isObject = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  return (
    isObject(entries) &&
    Object.values(entries).every(
      (variant) => isObject(variant) && Object.values(variant).every((value) => Number.isFinite(value)),
    )
  );
}
