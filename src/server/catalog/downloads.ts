// Models that are being fetched from a hub, at the wish of an administrator: one download for all who ask for the same id.

import { EngineError } from '../../index.ts';
import type { ModelSource } from './model-source.ts';

export interface Download {
  readonly id: string;
  /** Bytes that are here, and of all; both are 0 until the hub has answered. */
  received: number;
  total: number;
  /** Settles when the model is in the list, or with the error. */
  readonly done: Promise<void>;
  /** Ends the download; what has arrived is kept for the next one. */
  cancel(): void;
  /** Number of clients that follow it. */
  readers: number;
  /** It goes on when none of them is left. */
  isKept: boolean;
}

export interface DownloadEvents {
  /** A download began or has new figures. */
  changed(download: Download): void;
  /** A download is over; `error`: it failed. */
  ended(download: Download, error: Error | null): void;
}

export class Downloads {
  readonly #source: Pick<ModelSource, 'fetch'>;
  readonly #refresh: () => Promise<void>;
  readonly #events: DownloadEvents;
  readonly #running = new Map<string, Download>();

  constructor(source: Pick<ModelSource, 'fetch'>, refresh: () => Promise<void>, events: DownloadEvents) {
    this.#source = source;
    this.#refresh = refresh;
    this.#events = events;
  }

  get running(): readonly Download[] {
    return [...this.#running.values()];
  }

  /** Fetches a model for a client that follows it; the function that is returned says that it has left, and the last one ends the download. */
  follow(id: string): { download: Download; leave: () => void } {
    const download = this.#running.get(id) ?? this.#start(id, false);
    let isHere = true;
    download.readers += 1;
    const leave = (): void => {
      if (!isHere) return;
      isHere = false;
      download.readers -= 1;
      if (download.readers === 0 && !download.isKept) download.cancel();
    };
    return { download, leave };
  }

  find(id: string): Download | undefined {
    return this.#running.get(id);
  }

  /**
   * Fetches a model, or joins its download that runs, and keeps it when no client follows it. Errors are those of the hub: model_not_found,
   * network, disk_full, cancelled.
   */
  begin(id: string): Download {
    const download = this.#running.get(id) ?? this.#start(id, true);
    download.isKept = true;
    return download;
  }

  #start(id: string, isKept: boolean): Download {
    const abort = new AbortController();
    const onProgress = (received: number, total: number): void => {
      Object.assign(download, { received, total });
      this.#events.changed(download);
    };
    const fetched = (async () => {
      await Promise.resolve(); // until the download is listed
      await this.#source.fetch(id, onProgress, abort.signal);
      await this.#refresh();
    })();
    const download: Download = {
      id,
      received: 0,
      total: 0,
      readers: 0,
      isKept,
      done: fetched.finally(() => this.#running.delete(id)),
      cancel: () => abort.abort(new EngineError('cancelled', `the download of ${id} was cancelled`)),
    };
    this.#running.set(id, download);
    this.#events.changed(download);
    download.done.then(
      () => this.#events.ended(download, null),
      (error: Error) => this.#events.ended(download, error),
    );
    return download;
  }

  /** Ends all downloads. */
  async end(): Promise<void> {
    const { running } = this;
    for (const download of running) download.cancel();
    await Promise.allSettled(running.map(({ done }) => done));
  }
}
