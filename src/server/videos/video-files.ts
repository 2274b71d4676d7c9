// Where the files of videos lie: here in memory, where they are dropped after an hour, and the oldest first where they take too much space.

import { IMAGE_LIFETIME, MOST_BYTES } from '../images/image-store.ts';
import type { VideoRecord } from './video-reply-schema.ts';

/** Where the files of videos lie, and what is known of them. */
export interface VideoFiles {
  /** Limits on what is kept: milliseconds, bytes, number of videos that have ended. */
  readonly lifetime: number;
  readonly mostBytes: number;
  readonly mostVideos: number;
  /** Path of a file; null: it has none. */
  path(record: VideoRecord, at: number): string | null;
  saveRecord(record: VideoRecord): Promise<void>;
  saveFile(record: VideoRecord, at: number, bytes: Uint8Array): Promise<void>;
  /** Returns the bytes of a file; null if it is not there any more. */
  readFile(record: VideoRecord, at: number): Promise<Uint8Array | ReadableStream | null>;
  removeFiles(record: VideoRecord): Promise<void>;
  remove(record: VideoRecord): Promise<void>;
}

const MOST_VIDEOS = 1000;

export class VideosInMemory implements VideoFiles {
  readonly lifetime: number = IMAGE_LIFETIME;
  readonly mostBytes: number = MOST_BYTES;
  readonly mostVideos: number = MOST_VIDEOS;
  readonly #files = new Map<string, Uint8Array[]>();

  path(): null {
    return null;
  }

  async saveRecord(): Promise<void> {}

  async saveFile({ id }: VideoRecord, at: number, bytes: Uint8Array): Promise<void> {
    const files = this.#files.get(id) ?? [];
    files[at] = bytes;
    this.#files.set(id, files);
  }

  async readFile({ id }: VideoRecord, at: number): Promise<Uint8Array | null> {
    return this.#files.get(id)?.[at] ?? null;
  }

  async removeFiles({ id }: VideoRecord): Promise<void> {
    this.#files.delete(id);
  }

  remove(record: VideoRecord): Promise<void> {
    return this.removeFiles(record);
  }
}
