// The videos of a server, from the request to their deletion.

import type { Service } from '../service/service.ts';
import type { Turn } from '../service/turns.ts';
import { type VideoFiles, VideosInMemory } from './video-files.ts';
import { openVideoFolder } from './video-folder.ts';
import type { VideoRecord } from './video-reply-schema.ts';

export interface Video {
  record: VideoRecord;
  /** null: it has ended. */
  running: { abort: AbortController; turn: Turn } | null;
}

const stores = new WeakMap<Service, VideoStore>();

/** Opens the store of a server that keeps videos in a folder; those of an earlier one that were not complete have failed. */
export async function openVideoStore(service: Service): Promise<void> {
  const folder = service.options.outputPath;
  if (folder === undefined) return;
  const files = await openVideoFolder(folder);
  const records = await files.load(service.log);
  for (const record of records.filter(isUnfinished)) {
    record.status = 'failed';
    record.error = {
      code: 'stopping',
      message: 'the server ended before the video was complete; ask for it again',
    };
    await files.removeFiles({ ...record, bytes: [] });
    await files.saveRecord(record);
  }
  stores.set(service, new VideoStore(files, records));
}

export function videoStoreOf(service: Service): VideoStore {
  const known = stores.get(service);
  if (known) return known;
  const made = new VideoStore(new VideosInMemory());
  stores.set(service, made);
  return made;
}

const isUnfinished = ({ status }: VideoRecord): boolean =>
  status === 'queued' || status === 'in_progress' || status === 'cancelling';

export class VideoStore {
  readonly files: VideoFiles;
  /** By id, in the order of their creation. */
  readonly #videos: Map<string, Video>;

  constructor(files: VideoFiles, records: readonly VideoRecord[] = []) {
    this.files = files;
    this.#videos = new Map(records.map((record) => [record.id, { record, running: null }]));
    if (files.lifetime === Infinity) return;
    // The timer frees memory also while no requests arrive.
    setInterval(() => this.#expire(), 60_000).unref();
  }

  async add(video: Video): Promise<void> {
    await this.files.saveRecord(video.record);
    this.#videos.set(video.record.id, video);
  }

  /** Returns a video; null if it never existed, was deleted or has been dropped. */
  find(id: string): Video | null {
    this.#expire();
    return this.#videos.get(id) ?? null;
  }

  /** All videos, the oldest first. */
  all(): Video[] {
    this.#expire();
    return [...this.#videos.values()];
  }

  async keep({ record }: Video, bytes: Uint8Array, seed: number): Promise<void> {
    await this.files.saveFile(record, record.bytes.length, bytes);
    record.bytes.push(bytes.length);
    record.seeds.push(seed);
  }

  /** Records how a video ended, on the disk before others see it. One that is not complete loses its files. */
  async end(video: Video, outcome: Pick<VideoRecord, 'status' | 'error'>): Promise<void> {
    const { record } = video;
    const ended = { ...record, ...outcome, completed_at: Math.floor(Date.now() / 1000) };
    if (outcome.status === 'completed') ended.progress = 100;
    else {
      await this.files.removeFiles(record);
      Object.assign(ended, { bytes: [], seeds: [] });
    }
    const isKept = (): boolean => this.#videos.has(record.id);
    if (isKept()) await this.files.saveRecord(ended);
    Object.assign(record, ended);
    video.running = null;
    // It may have been deleted, now or before.
    if (!isKept()) await this.files.remove(record);
    this.#expire();
  }

  /** Removes a video; one that is being drawn is aborted. */
  async delete(video: Video): Promise<void> {
    this.#videos.delete(video.record.id);
    video.running?.abort.abort();
    await this.files.remove(video.record);
  }

  /** When a video is dropped, in seconds since 1970; null: not by time. */
  expiry({ completed_at }: VideoRecord): number | null {
    const { lifetime } = this.files;
    return completed_at === null || lifetime === Infinity ? null : completed_at + lifetime / 1000;
  }

  #expire(): void {
    const ended = [...this.#videos.values()].filter(({ running }) => running === null);
    let bytes = ended.reduce((sum, { record }) => sum + bytesOf(record), 0);
    for (const [at, { record }] of ended.entries()) {
      const expiry = this.expiry(record) ?? Infinity;
      // The newest video stays, however large it is.
      const isExcess =
        at < ended.length - 1 && (bytes > this.files.mostBytes || ended.length - at > this.files.mostVideos);
      if (expiry > Date.now() / 1000 && !isExcess) continue;
      bytes -= bytesOf(record);
      this.#videos.delete(record.id);
      void this.files.remove(record);
    }
  }
}

const bytesOf = ({ bytes }: VideoRecord): number => bytes.reduce((sum, each) => sum + each, 0);
