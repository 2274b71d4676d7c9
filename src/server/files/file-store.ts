// The files of a server: under the folder of --output-path, where a later server finds them, or in a temporary folder that ends with the
// server. Each lies beside a JSON file that says what it is.

import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { RequestError } from '../http/errors.ts';
import { isOwn } from '../service/caller.ts';
import { KeptFolder } from '../service/kept-folder.ts';
import type { Service } from '../service/service.ts';
import { type FileRecord, fileRecord } from './file-reply-schema.ts';

const RECORD = /^(file-[\da-f-]{36})\.json$/;
const MOST_FILES = 10_000;
const MOST_BYTES = 16 * 2 ** 30;

interface NewFile {
  filename: string;
  purpose: string;
  owner: string;
  /** Seconds after which it is deleted. */
  lifetime?: number;
}

const stores = new WeakMap<Service, Promise<FileStore>>();

/** The files of a server; their folder is made at the first call. */
export function fileStoreOf(service: Service): Promise<FileStore> {
  const known = stores.get(service);
  if (known) return known;
  const made = openStore(service);
  stores.set(service, made);
  made.catch(() => stores.delete(service));
  return made;
}

/** Where files lie below the folder of --output-path. */
export const filesFolder = (outputPath: string): string => join(outputPath, 'files');

async function openStore({ options, closing, log }: Service): Promise<FileStore> {
  const { outputPath } = options;
  if (outputPath !== undefined) {
    const folder = await KeptFolder.open(filesFolder(outputPath), 'files');
    const store = new FileStore(folder);
    await store.load((name, reason) => log.warn(`${folder.at(name)} is left out of /v1/files: ${reason}`));
    return store;
  }
  const path = await mkdtemp(join(tmpdir(), 'svc-files-'));
  closing.push(() => rm(path, { recursive: true, force: true }));
  return new FileStore(await KeptFolder.open(path, 'files'));
}

export class FileStore {
  readonly folder: KeptFolder;
  /** By id, in the order of their creation. */
  readonly #files = new Map<string, FileRecord>();

  constructor(folder: KeptFolder) {
    this.folder = folder;
  }

  /** Finds the files of earlier servers; `leaveOut` hears of those that are damaged. */
  async load(leaveOut: (name: string, reason: string) => void): Promise<void> {
    const found: FileRecord[] = [];
    for (const name of await this.folder.names()) {
      if (!RECORD.test(name)) continue;
      try {
        const record = fileRecord.parse(JSON.parse(await readFile(this.folder.at(name), 'utf8')));
        const { size } = await stat(this.folder.at(record.id));
        found.push({ ...record, bytes: size });
      } catch (error) {
        leaveOut(name, error instanceof Error ? error.message : String(error));
      }
    }
    for (const record of found.toSorted((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1)))
      this.#files.set(record.id, record);
  }

  /** Throws RequestError where there are too many. */
  async add(file: NewFile, content: string | Uint8Array): Promise<FileRecord> {
    await this.#expire();
    if (this.#files.size >= MOST_FILES)
      throw new RequestError(
        'overloaded',
        `there are ${MOST_FILES} files, which is as many as the server keeps; delete some`,
      );
    const bytes = [...this.#files.values()].reduce((sum, each) => sum + each.bytes, 0);
    if (bytes + Buffer.byteLength(content) > MOST_BYTES)
      throw new RequestError(
        'disk_full',
        `the files have ${MOST_BYTES / 2 ** 30} GiB, which is as much as the server keeps; delete some`,
      );
    const created = Math.floor(Date.now() / 1000);
    const record: FileRecord = {
      id: `file-${randomUUID()}`,
      bytes: Buffer.byteLength(content),
      created_at: created,
      filename: file.filename,
      purpose: file.purpose,
      owner: file.owner,
      ...(file.lifetime !== undefined && { expires_at: created + file.lifetime }),
    };
    await this.folder.save(record.id, content);
    await this.folder.save(`${record.id}.json`, JSON.stringify(record));
    this.#files.set(record.id, record);
    return record;
  }

  /** Writes at the end of a file. */
  async append(record: FileRecord, text: string): Promise<void> {
    await this.folder.append(record.id, text);
    record.bytes += Buffer.byteLength(text);
  }

  /** A file by its id, of any owner; null: there is none, or no longer. */
  async find(id: string): Promise<FileRecord | null> {
    await this.#expire();
    return this.#files.get(id) ?? null;
  }

  /** Files of the caller, the oldest first. */
  async all(): Promise<FileRecord[]> {
    await this.#expire();
    return [...this.#files.values()].filter(({ owner }) => isOwn(owner));
  }

  text(record: FileRecord): Promise<string> {
    return readFile(this.folder.at(record.id), 'utf8');
  }

  /** The lines of a file that were written whole; the rest of one that was cut short is removed. */
  async wholeLines(record: FileRecord): Promise<string[]> {
    const text = await this.text(record);
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole.length < text.length) {
      await this.folder.save(record.id, whole);
      record.bytes = Buffer.byteLength(whole);
    }
    return whole.split('\n').filter((line) => line !== '');
  }

  /** The first `bytes` of a file, which may be growing. */
  stream({ id, bytes }: FileRecord): ReadableStream | null {
    if (bytes === 0) return null;
    return Readable.toWeb(createReadStream(this.folder.at(id), { end: bytes - 1 })) as ReadableStream;
  }

  async delete({ id }: FileRecord): Promise<void> {
    this.#files.delete(id);
    // Without its record a file is none of this server's.
    await this.folder.remove(`${id}.json`);
    await this.folder.remove(id);
  }

  async #expire(): Promise<void> {
    for (const record of this.#files.values())
      if ((record.expires_at ?? Infinity) <= Date.now() / 1000) await this.delete(record);
  }
}
