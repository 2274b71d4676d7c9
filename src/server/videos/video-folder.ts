// Videos in a folder: each file lies beside a JSON file that says what it is, so that a later server finds them.

import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Log } from '../http/request-log.ts';
import { KeptFolder } from '../service/kept-folder.ts';
import { type VideoRecord, videoRecord } from './video-reply-schema.ts';
import type { VideoFiles } from './video-files.ts';

const RECORD = /^(video_[\da-f-]{36})\.json$/;

/** Creates the folder if it is not there. Throws EngineError if files cannot be written in it. */
export async function openVideoFolder(folder: string): Promise<VideoFolder> {
  return new VideoFolder(await KeptFolder.open(folder, 'videos'));
}

type Named = Pick<VideoRecord, 'id' | 'num_outputs' | 'output_format'>;

export class VideoFolder implements VideoFiles {
  readonly lifetime = Infinity;
  readonly mostBytes = Infinity;
  readonly mostVideos = Infinity;
  readonly #folder: KeptFolder;

  constructor(folder: KeptFolder) {
    this.#folder = folder;
  }

  /** Returns the videos of earlier servers, the oldest first. Those that are damaged are left out with a warning. */
  async load(log: Log): Promise<VideoRecord[]> {
    const found: VideoRecord[] = [];
    for (const name of await this.#folder.names()) {
      const id = RECORD.exec(name)?.[1];
      if (id === undefined) continue;
      const read = await this.#read(id).catch((error: unknown) => {
        log.warn(`${this.#folder.at(name)} is left out of /v1/videos: ${reasonOf(error)}`);
      });
      if (read) found.push(read);
    }
    return found.toSorted((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1));
  }

  async #read(id: string): Promise<VideoRecord> {
    const { data, error } = videoRecord.safeParse(
      JSON.parse(await readFile(this.#folder.at(`${id}.json`), 'utf8')),
    );
    if (error) throw new Error(`${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}`);
    if (data.id !== id) throw new Error(`its id is ${data.id}`);
    for (const [at, bytes] of data.bytes.entries()) {
      const { size } = await stat(this.path(data, at));
      if (size !== bytes) throw new Error(`${this.path(data, at)} has ${size} bytes in place of ${bytes}`);
    }
    return data;
  }

  #name({ id, num_outputs, output_format }: Named, at: number): string {
    return `${id}${num_outputs > 1 ? `_${at}` : ''}.${output_format}`;
  }

  path(record: VideoRecord, at: number): string {
    return this.#folder.at(this.#name(record, at));
  }

  async saveRecord(record: VideoRecord): Promise<void> {
    await this.#folder.save(`${record.id}.json`, JSON.stringify(record));
  }

  async saveFile(record: VideoRecord, at: number, bytes: Uint8Array): Promise<void> {
    await this.#folder.save(this.#name(record, at), bytes);
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
    for (let at = 0; at < record.num_outputs; at++) await this.#folder.remove(this.#name(record, at));
  }

  async remove(record: VideoRecord): Promise<void> {
    // Without its record a file is none of this server's.
    await this.#folder.remove(`${record.id}.json`);
    await this.removeFiles(record);
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
