// The LoRA adapters of a text model: which are loaded, and which requests use them. Adapters come and go while requests run: an
// unloaded one gets no new requests, and leaves the device when its last request has ended.

import { option, say } from '../../../files/message.ts';
import { countText } from '../../../files/count-text.ts';
import { EngineError } from '../../../files/error.ts';
import type { LoraFile } from '../../../files/checkpoint/lora.ts';
import type { LoraBase } from '../../../files/gguf/lora.ts';
import { DEFAULTS } from '../../../options/limits.ts';
import type { Platform } from '../../platform/platform.ts';
import { aboutFolder, AdapterFolders, type FolderParam } from './adapter-folders.ts';
import type { LoraInfo, TextModelOptions } from '../calls/text-model.ts';

/** A loaded adapter. */
export interface Adapter {
  readonly name: string;
  readonly path: string;
  readonly rank: number;
  /** Equal for equal weights: the prefix cache distinguishes adapters by it. */
  readonly identity: string;
  /** Number of its slot on the device. */
  number: number;
  /** Number of requests that use it. */
  requests: number;
  /** Why it could not be loaded again after a lost device, which ends its requests; null: it is loaded. */
  lost: EngineError | null;
  /** Loaded because a request named its folder: it is unloaded for others while no request uses it. */
  readonly onDemand: boolean;
}

/** Holds the weights of adapters on the device. */
export interface AdapterHost {
  add(adapter: Adapter, file: LoraFile): Promise<void>;
  remove(adapter: Adapter): Promise<void>;
}

type Options = Pick<TextModelOptions, 'loraPaths' | 'loraDir' | 'maxLoras' | 'maxLoraRank'>;

export class Adapters {
  /** Most adapters that are loaded at once. */
  readonly most: number;
  readonly #folders: AdapterFolders;
  readonly #onNote: (message: string) => void;
  /** Loaded adapters by name, least recently used first. */
  readonly #named = new Map<string, Adapter>();
  /** Unloaded adapters that are still on the device, because requests use them or the device had no room for the change. */
  readonly #retired = new Set<Adapter>();
  #host: AdapterHost | null = null;
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(
    platform: Pick<Platform, 'openFolder' | 'folderWithin'>,
    { loraPaths = [], loraDir, maxLoras = DEFAULTS.adapters, maxLoraRank = DEFAULTS.adapterRank }: Options,
    onNote: (message: string) => void,
    base: LoraBase | null = null,
  ) {
    this.most = maxLoras;
    this.#folders = new AdapterFolders(platform, { loraPaths, loraDir, maxLoraRank, base });
    this.#onNote = onNote;
  }

  /** Loads adapters to an empty host: those of the options at first; after a lost device those that were loaded and can be read again. */
  attach(host: AdapterHost): Promise<void> {
    return this.#inTurn(async () => {
      const isFirst = this.#host === null;
      this.#host = host;
      if (isFirst) await this.#folders.check();
      for (const adapter of [...this.#named.values(), ...this.#retired]) {
        const file = await this.#openAgain(adapter);
        if (!file) continue;
        try {
          await host.add(adapter, file);
        } finally {
          await file.close();
        }
      }
      if (isFirst) for (const { name, path } of this.#folders.given) await this.#add(name, path, 'loraPaths');
    });
  }

  load(name: string, path: string): Promise<LoraInfo[]> {
    return this.#inTurn(async () => {
      if (this.#named.has(name)) {
        throw new EngineError(
          'bad_request',
          `an adapter ${JSON.stringify(name)} is loaded already: unload it first`,
          { param: 'name' },
        );
      }
      await this.#add(name, path, 'path');
      return this.list();
    });
  }

  unload(name: string): Promise<LoraInfo[]> {
    return this.#inTurn(async () => {
      const adapter = this.#named.get(name);
      if (!adapter) throw this.#unknown(name, 'name');
      await this.#retire(adapter);
      return this.list();
    });
  }

  list(): LoraInfo[] {
    return [...this.#named.values()].map(({ name, path, rank, requests }) => ({
      name,
      path,
      rank,
      requests,
    }));
  }

  /**
   * Returns the adapter that a request names and loads it if necessary; the caller must release it. Throws bad_request,
   * model_not_found, overloaded, and the errors of loading.
   */
  async acquire(lora: string): Promise<Adapter> {
    const known = this.#named.get(lora);
    if (known) return this.#use(known);
    const path = await this.#folders.find(lora);
    if (path === null) throw this.#unknown(lora, 'lora');
    return this.#inTurn(async () => {
      const same =
        this.#named.get(lora) ?? [...this.#named.values()].find((adapter) => adapter.path === path);
      return this.#use(same ?? (await this.#add(lora, path, 'lora')));
    });
  }

  release(adapter: Adapter): void {
    adapter.requests--;
    if (adapter.requests > 0 || !this.#retired.has(adapter)) return;
    // If the device has no room for the change, the adapter stays until its place is needed.
    this.#inTurn(() => this.#remove(adapter)).catch(() => {});
  }

  /** Runs changes one after the other. */
  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#lastChange.then(change, change);
    this.#lastChange = result.catch(() => {});
    return result;
  }

  #use(adapter: Adapter): Adapter {
    adapter.requests++;
    this.#named.delete(adapter.name);
    this.#named.set(adapter.name, adapter);
    return adapter;
  }

  /** Opens and loads an adapter. `param`: the option or field that names its folder. */
  async #add(name: string, path: string, param: FolderParam): Promise<Adapter> {
    try {
      return await this.#addFile(name, await this.#folders.open(path), param === 'lora');
    } catch (error) {
      throw aboutFolder(error, param);
    }
  }

  async #addFile(name: string, file: LoraFile, onDemand: boolean): Promise<Adapter> {
    try {
      await this.#makeRoom();
      const { path, rank, identity } = file;
      const adapter: Adapter = { name, path, rank, identity, number: 0, requests: 0, lost: null, onDemand };
      await this.#host!.add(adapter, file);
      this.#named.set(name, adapter);
      return adapter;
    } finally {
      await file.close();
    }
  }

  /**
   * Opens an adapter's folder again after a lost device; returns null, and gives the adapter up, if its files are missing or have
   * changed.
   */
  async #openAgain(adapter: Adapter): Promise<LoraFile | null> {
    const { name, path, identity } = adapter;
    let problem = 'has changed';
    try {
      const file = await this.#folders.open(path);
      if (file.identity === identity) return file;
      await file.close();
    } catch (error) {
      problem = `cannot be read (${error instanceof Error ? error.message : String(error)})`;
    }
    const message = `the GPU device was lost, and the adapter ${name} is gone with it, since ${path} ${problem}: load it again`;
    adapter.lost = new EngineError('model_not_found', message, { param: 'lora' });
    this.#named.delete(name);
    this.#retired.delete(adapter);
    this.#onNote(message);
    return null;
  }

  /** Removes an unused adapter if the maximum number of adapters is loaded. */
  async #makeRoom(): Promise<void> {
    const { most } = this;
    if (this.#named.size + this.#retired.size < most) return;
    const idle =
      [...this.#retired].find(({ requests }) => requests === 0) ??
      [...this.#named.values()].find(({ onDemand, requests }) => onDemand && requests === 0);
    if (!idle) {
      throw new EngineError(
        'overloaded',
        say`${countText(most, 'adapter')} ${most === 1 ? 'is' : 'are'} loaded, the most that ${option('maxLoras')} allows: unload one, or raise it`,
        { param: 'lora' },
      );
    }
    await this.#retire(idle);
  }

  async #retire(adapter: Adapter): Promise<void> {
    if (this.#named.get(adapter.name) === adapter) this.#named.delete(adapter.name);
    this.#retired.add(adapter);
    if (adapter.requests === 0) await this.#remove(adapter);
  }

  async #remove(adapter: Adapter): Promise<void> {
    if (!this.#retired.has(adapter)) return; // another request's makeRoom has removed it already
    await this.#host!.remove(adapter);
    this.#retired.delete(adapter);
  }

  #unknown(name: string, param: string): EngineError {
    const names = [...this.#named.keys()].join(', ');
    return new EngineError(
      'model_not_found',
      `there is no adapter ${JSON.stringify(name)} here; ${names === '' ? 'none is loaded' : `loaded are ${names}`}`,
      { param },
    );
  }
}
