// The files of a worker in Electron: the main process finds folders and opens files, and the worker reads ranges of them from the engine's
// scheme.

import type { Platform } from '../../engine/platform/platform.ts';
import type { Port } from '../../engine/platform/port.ts';
import { badCheckpoint } from '../../files/error.ts';
import { sourceOf, type ByteSource, type Folder } from '../../files/source.ts';
import { WireCalls } from './calls.ts';
import type { WeightsOrigin } from '../../files/checkpoint/packed-file.ts';
import type { MainAnswers, OpenedFile, WorkerAnswers } from './wire.ts';

type ResolveOptions = Parameters<Platform['resolveModel']>[1];

export class WorkerFiles {
  readonly #main: WireCalls<MainAnswers>;
  /** Options of resolveModel() in progress, by ticket. */
  readonly #resolving = new Map<number, ResolveOptions>();
  readonly #further: WireCalls<object>[] = [];
  #nextTicket = 0;

  constructor(port: Port, extra: Partial<WorkerAnswers> = {}) {
    const answers: Partial<WorkerAnswers> = {
      ...extra,
      progress: async (ticket, event) => this.#resolving.get(ticket)?.onProgress?.(event),
      inspect: async (ticket, path, files) =>
        this.#resolving
          .get(ticket)
          ?.inspect?.(path, files, async (name) =>
            this.#source(name, await this.#main.call('openRemote', ticket, name)),
          ),
    };
    this.#main = new WireCalls<MainAnswers>(port, answers);
  }

  /** Answers the calls of a further worker that only opens folders. */
  serve(port: Port): void {
    const answers: Pick<MainAnswers, 'openFolder' | 'names' | 'openFile' | 'closeFile' | 'failure'> = {
      openFolder: (path) => this.#main.call('openFolder', path),
      names: (folder) => this.#main.call('names', folder),
      openFile: (folder, name) => this.#main.call('openFile', folder, name),
      closeFile: (url) => this.#main.call('closeFile', url),
      failure: (url) => this.#main.call('failure', url),
    };
    this.#further.push(new WireCalls<object>(port, answers));
  }

  weightsOrigin(path: string, shards: readonly string[]): Promise<WeightsOrigin> {
    return this.#main.call('weightsOrigin', path, shards);
  }

  folderWithin(path: string, allowed: readonly string[]): ReturnType<Platform['folderWithin']> {
    return this.#main.call('folderWithin', path, allowed);
  }

  async resolveModel(model: string, options: ResolveOptions): Promise<{ path: string }> {
    const ticket = this.#nextTicket++;
    const { signal, onProgress: _progress, inspect, ...plain } = options;
    const cancel = (): void => void this.#main.call('cancel', ticket).catch(() => {});
    this.#resolving.set(ticket, options);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      const resolving = this.#main.call('resolveModel', ticket, model, {
        ...plain,
        inspects: inspect !== undefined,
      });
      if (signal?.aborted) cancel();
      return await resolving;
    } finally {
      signal?.removeEventListener('abort', cancel);
      this.#resolving.delete(ticket);
    }
  }

  async openFolder(given: string): Promise<Folder> {
    const { folder, path } = await this.#main.call('openFolder', given);
    return {
      path,
      names: () => this.#main.call('names', folder),
      open: async (name) => this.#source(name, await this.#main.call('openFile', folder, name)),
    };
  }

  #source(path: string, { url, size }: OpenedFile): ByteSource {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const fill: ByteSource['readInto'] = async (offset, target) => {
      if (target.length === 0) return;
      try {
        await readRange(url, offset, target);
      } catch (cause) {
        await this.#main.call('failure', url); // throws the reason, if reading the disk failed
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw badCheckpoint(`${name} could not be read (${reason}): open the model again`, name, cause);
      }
    };
    return sourceOf({ name, size }, fill, () => this.#main.call('closeFile', url));
  }
}

/** Fills `target` from `offset` on. */
async function readRange(url: string, offset: number, target: Uint8Array): Promise<void> {
  const response = await fetch(url, { headers: { range: `bytes=${offset}-${offset + target.length - 1}` } });
  if (response.status !== 206 || !response.body) throw new Error(`status ${response.status} in place of 206`);
  let filled = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (filled + value.length > target.length) throw new Error('more bytes came than were asked for');
    target.set(value, filled);
    filled += value.length;
  }
  if (filled < target.length) throw new Error(`${filled} bytes came in place of ${target.length}`);
}
