// The record of one stored model, model.json: the commits of its branches and tags, and the files of each commit.

import { isRecord, jsonObject } from '../source.ts';
import type { PrivateFolder } from './storage.ts';

const RECORD = 'model.json';

export interface StoredFile {
  /** Name in the folder of blobs. */
  blob: string;
  /** Bytes. */
  size: number;
}

export interface ModelRecord {
  /** Commits by branch or tag. */
  refs: Map<string, string>;
  /** Files by path, by commit. */
  snapshots: Map<string, Map<string, StoredFile>>;
}

/** Returns an empty record if there is none, or if it is damaged; stored blobs are found again by their names then. */
export async function readModelRecord(folder: PrivateFolder): Promise<ModelRecord> {
  const value = jsonObject((await folder.readText(RECORD)) ?? '');
  const refs = Object.entries(objectIn(value, 'refs'));
  const snapshots = Object.entries(objectIn(value, 'snapshots'));
  return {
    refs: new Map(refs.filter((entry): entry is [string, string] => typeof entry[1] === 'string')),
    snapshots: new Map(
      snapshots.map(([commit, files]) => [
        commit,
        new Map(
          Object.entries(isRecord(files) ? files : {}).filter((entry): entry is [string, StoredFile] =>
            isStoredFile(entry[1]),
          ),
        ),
      ]),
    ),
  };
}

export async function writeModelRecord(
  folder: PrivateFolder,
  { refs, snapshots }: ModelRecord,
): Promise<void> {
  const files = [...snapshots].map(([commit, paths]) => [commit, Object.fromEntries(paths)]);
  const value = { refs: Object.fromEntries(refs), snapshots: Object.fromEntries(files) };
  await folder.writeText(RECORD, JSON.stringify(value));
}

function objectIn(value: Record<string, unknown> | null, key: string): Record<string, unknown> {
  const inner = value?.[key];
  return isRecord(inner) ? inner : {};
}

function isStoredFile(value: unknown): value is StoredFile {
  return isRecord(value) && typeof value['blob'] === 'string' && typeof value['size'] === 'number';
}
