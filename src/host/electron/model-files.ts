// The main process' side of a worker's platform: finds the files of its model on the disk and on the hub, and opens them for reading by ranges.
// A worker can open only folders of its model and folders that its options and calls name.

import { isAbsolute, resolve, sep } from 'node:path';
import { resolveModel } from '../node/hub-models.ts';
import { badRequest, EngineError, internalError } from '../../files/error.ts';
import { folderWithin, openDiskFolder } from '../../files/disk/source-disk.ts';
import type { ByteSource, Folder } from '../../files/source.ts';
import type { WireCalls } from './calls.ts';
import type { ServedFiles } from './served-files.ts';
import { weightsOrigin } from './weights-origin.ts';
import type { MainAnswers, OpenedFile, WorkerAnswers } from './wire.ts';

interface Resolving {
  controller: AbortController;
  /** Opens a file of the hub; null while the model is not inspected. */
  remote: ((name: string) => Promise<ByteSource>) | null;
}

export class ModelFiles {
  readonly #served: ServedFiles;
  /** The calls of the worker, once it is connected. */
  worker: WireCalls<WorkerAnswers> | null = null;
  readonly #allowed = new Set<string>();
  readonly #resolving = new Map<number, Resolving>();
  readonly #folders = new Map<number, Folder>();
  readonly #urls = new Set<string>();
  #nextFolder = 0;
  #isClosed = false;

  constructor(served: ServedFiles) {
    this.#served = served;
  }

  /** Allows the folders that strings in these values name: options, and arguments of calls. */
  allow(value: unknown): void {
    if (typeof value === 'object' && value !== null)
      return Object.values(value).forEach((one) => this.allow(one));
    if (typeof value !== 'string' || value === '') return;
    this.#allowed.add(resolve(value));
    const at = value.indexOf('='); // NAME=PATH of a LoRA adapter
    if (at > 0 && at < value.length - 1) this.#allowed.add(resolve(value.slice(at + 1)));
  }

  readonly answers: MainAnswers = {
    resolveModel: (ticket, model, { inspects, ...options }) =>
      this.#resolve(ticket, model, options, inspects),
    cancel: async (ticket) => this.#resolving.get(ticket)?.controller.abort(),
    openRemote: async (ticket, name) => {
      const remote = this.#resolving.get(ticket)?.remote;
      if (!remote) throw internalError(`no model is being inspected that could hold ${name}`);
      return this.#serve(await remote(name));
    },
    openFolder: async (path) => {
      this.#check(path);
      const folder = await openDiskFolder(path);
      this.#folders.set(this.#nextFolder, folder);
      return { folder: this.#nextFolder++, path: folder.path };
    },
    names: (folder) => this.#folder(folder).names(),
    openFile: async (folder, name) => {
      if (isAbsolute(name) || name.split(/[\\/]/).includes('..')) throw outside(name);
      return this.#serve(await this.#folder(folder).open(name));
    },
    closeFile: async (url) => {
      if (this.#urls.delete(url)) await this.#served.close(url);
    },
    failure: async (url) => {
      const failure = this.#urls.has(url) ? this.#served.failure(url) : null;
      if (failure !== null) throw failure;
    },
    weightsOrigin: async (path, shards) => {
      this.#check(path);
      return weightsOrigin(path, shards);
    },
    folderWithin: async (path, allowed) => {
      for (const one of allowed) this.#check(one);
      const found = await folderWithin(path, allowed);
      if (typeof found === 'object') this.#allowed.add(found.path);
      return found;
    },
  };

  /** Cancels downloads and closes all files. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { controller } of this.#resolving.values()) controller.abort();
    await Promise.allSettled([...this.#urls].map((url) => this.#served.close(url)));
    this.#urls.clear();
    this.#folders.clear();
  }

  async #resolve(
    ticket: number,
    model: string,
    options: Parameters<typeof resolveModel>[1],
    inspects: boolean,
  ): Promise<{ path: string }> {
    const resolving: Resolving = { controller: new AbortController(), remote: null };
    this.#resolving.set(ticket, resolving);
    try {
      const { path } = await resolveModel(model, {
        ...options,
        signal: resolving.controller.signal,
        onProgress: (event) => void this.worker?.call('progress', ticket, event).catch(() => {}),
        ...(inspects && {
          inspect: async (folder, files, remote) => {
            this.#allowed.add(resolve(folder));
            resolving.remote = remote;
            await this.worker?.call('inspect', ticket, folder, files);
          },
        }),
      });
      this.#allowed.add(resolve(path));
      return { path };
    } finally {
      this.#resolving.delete(ticket);
    }
  }

  async #serve(source: ByteSource): Promise<OpenedFile> {
    if (this.#isClosed) {
      await source.close();
      throw new EngineError('cancelled', 'the model is closed: open it again');
    }
    const url = this.#served.add(source);
    this.#urls.add(url);
    return { url, size: source.size };
  }

  #folder(folder: number): Folder {
    const opened = this.#folders.get(folder);
    if (!opened) throw internalError(`no folder ${folder} is open`);
    return opened;
  }

  #check(path: string): void {
    const wanted = resolve(path);
    for (const one of this.#allowed) if (wanted === one || wanted.startsWith(one + sep)) return;
    throw outside(path);
  }
}

function outside(path: string): EngineError {
  return badRequest(
    `${path} belongs to none of the folders that the options of this model name: name its folder there`,
  );
}
