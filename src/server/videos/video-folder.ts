// Videos in a folder: each file lies beside a JSON file that says what it is, so that a later server finds them. Files are written under
// temporary names and then renamed.

import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { EngineError } from '../../index.ts';
import { badRequest } from '../../files/error.ts';
import type { Log } from '../http/request-log.ts';
import { type VideoRecord, videoRecord } from './video-reply-schema.ts';
import type { VideoFiles } from './video-files.ts';

const RECORD = /^(video_[\da-f-]{36})\.json$/;
const PARTIAL = /^\.svc\.[\da-f-]{36}\.part$/;
/** Age from which a temporary file is left over from a server that was killed; writing takes far less. */
const LEFTOVER_AGE = 3_600_000;

/** Creates the folder if it is not there. Throws EngineError if files cannot be written in it. */
export async function openVideoFolder(folder: string): Promise<VideoFolder> {
  try {
    await mkdir(folder, { recursive: true });
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const { mtimeMs } = (PARTIAL.test(name) && (await stat(path).catch(() => null))) || { mtimeMs: NaN };
      if (Date.now() - mtimeMs > LEFTOVER_AGE) await rm(path, { force: true });
    }
    const probe = partialName(folder);
    await writeFile(probe, '');
    await rm(probe);
  } catch (error) {
    throw unwritable(folder, error);
  }
  return new VideoFolder(folder);
}

export class VideoFolder implements VideoFiles {
  readonly lifetime = Infinity;
  readonly mostBytes = Infinity;
  readonly mostVideos = Infinity;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns the videos of earlier servers, the oldest first. Those that are damaged are left out with a warning. */
  async load(log: Log): Promise<VideoRecord[]> {
    const found: VideoRecord[] = [];
    for (const name of await readdir(this.#folder)) {
      const id = RECORD.exec(name)?.[1];
      if (id === undefined) continue;
      const read = await this.#read(id).catch((error: unknown) => {
        log.warn(`${join(this.#folder, name)} is left out of /v1/videos: ${reasonOf(error)}`);
      });
      if (read) found.push(read);
    }
    return found.toSorted((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1));
  }

  async #read(id: string): Promise<VideoRecord> {
    const { data, error } = videoRecord.safeParse(
      JSON.parse(await readFile(join(this.#folder, `${id}.json`), 'utf8')),
    );
    if (error) throw new Error(`${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}`);
    if (data.id !== id) throw new Error(`its id is ${data.id}`);
    for (const [at, bytes] of data.bytes.entries()) {
      const { size } = await stat(this.path(data, at));
      if (size !== bytes) throw new Error(`${this.path(data, at)} has ${size} bytes in place of ${bytes}`);
    }
    return data;
  }

  path({ id, num_outputs, output_format }: VideoRecord, at: number): string {
    return join(this.#folder, `${id}${num_outputs > 1 ? `_${at}` : ''}.${output_format}`);
  }

  async saveRecord(record: VideoRecord): Promise<void> {
    await this.#save(join(this.#folder, `${record.id}.json`), JSON.stringify(record));
  }

  async saveFile(record: VideoRecord, at: number, bytes: Uint8Array): Promise<void> {
    await this.#save(this.path(record, at), bytes);
  }

  async #save(path: string, content: string | Uint8Array): Promise<void> {
    const partial = partialName(this.#folder);
    try {
      await writeFile(partial, content, { flag: 'wx' });
      await rename(partial, path);
    } catch (error) {
      await rm(partial, { force: true });
      throw unwritable(path, error);
    }
  }

  async readFile(record: VideoRecord, at: number): Promise<ReadableStream | null> {
    const path = this.path(record, at);
    const isThere = await stat(path).then(
      ({ size }) => size === record.bytes[at],
      () => false,
    );
    return isThere ? (Readable.toWeb(createReadStream(path)) as ReadableStream) : null;
  }

  async removeFiles(record: VideoRecord): Promise<void> {
    for (let at = 0; at < record.num_outputs; at++) await rm(this.path(record, at), { force: true });
  }

  async remove(record: VideoRecord): Promise<void> {
    // Without its record a file is none of this server's.
    await rm(join(this.#folder, `${record.id}.json`), { force: true });
    await this.removeFiles(record);
  }
}

const partialName = (folder: string): string => join(folder, `.svc.${randomUUID()}.part`);

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function unwritable(path: string, cause: unknown): EngineError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new EngineError('disk_full', `no space is left for ${path}: free some, or delete videos`, {
      cause,
    });
  return badRequest(`${path} cannot be written (${code}): start the server with another --output-path`);
}
