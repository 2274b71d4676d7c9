// The LoRAs of a text model: which are loaded, and which requests use them. They come and go while requests run: an
// unloaded one gets no new requests, and leaves the device when its last request has ended.

import { option, say } from '../../../files/message.ts';
import { countText } from '../../../files/count-text.ts';
import { badRequest, EngineError, modelNotFound, unsupported } from '../../../files/error.ts';
import type { LoraFile } from '../../../files/checkpoint/lora.ts';
import type { LoraBase } from '../../../files/gguf/lora.ts';
import { DEFAULTS } from '../../../options/limits.ts';
import type { Platform } from '../../platform/platform.ts';
import { aboutFolder, LoraFolders, type FolderParam } from './lora-folders.ts';
import type { LoraInfo, TextModelOptions } from '../calls/text-model.ts';

/** A loaded LoRA. */
export interface Lora {
  readonly name: string;
  readonly path: string;
  readonly rank: number;
  /** Equal for equal weights: the prefix cache distinguishes LoRAs by it. */
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

/** Holds the weights of LoRAs on the device. */
export interface LoraHost {
  add(lora: Lora, file: LoraFile): Promise<void>;
  remove(lora: Lora): Promise<void>;
}

/** The error of a LoRA for a model that reads sources. */
export const noLoras = (param: string): EngineError =>
  unsupported('LoRAs of encoder-decoder models are not built: merge the LoRA into the checkpoint', param);

type Options = Pick<TextModelOptions, 'loraPaths' | 'loraDir' | 'maxLoras' | 'maxLoraRank' | 'tpSize'>;

export class Loras {
  /** Most of them that are loaded at once. */
  readonly most: number;
  readonly #folders: LoraFolders;
  /** Devices that the model is divided among. */
  readonly #ranks: number;
  readonly #onNote: (message: string) => void;
  /** Those that are loaded, by name, least recently used first. */
  readonly #named = new Map<string, Lora>();
  /** Unloaded ones that are still on the device, because requests use them or the device had no room for the change. */
  readonly #retired = new Set<Lora>();
  #host: LoraHost | null = null;
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(
    platform: Pick<Platform, 'openFolder' | 'folderWithin'>,
    {
      loraPaths = [],
      loraDir,
      maxLoras = DEFAULTS.adapters,
      maxLoraRank = DEFAULTS.adapterRank,
      tpSize = 1,
    }: Options,
    onNote: (message: string) => void,
    base: LoraBase | null = null,
  ) {
    this.most = maxLoras;
    this.#ranks = tpSize;
    this.#folders = new LoraFolders(platform, { loraPaths, loraDir, maxLoraRank, base });
    this.#onNote = onNote;
  }

  /** Loads LoRAs to an empty host: those of the options at first; after a lost device those that were loaded and can be read again. */
  attach(host: LoraHost): Promise<void> {
    return this.#inTurn(async () => {
      const isFirst = this.#host === null;
      this.#host = host;
      if (isFirst) await this.#folders.check();
      for (const lora of [...this.#named.values(), ...this.#retired]) {
        const file = await this.#openAgain(lora);
        if (!file) continue;
        try {
          await host.add(lora, file);
        } finally {
          await file.close();
        }
      }
      if (isFirst) for (const { name, path } of this.#folders.given) await this.#add(name, path, 'loraPaths');
    });
  }

  load(name: string, path: string): Promise<LoraInfo[]> {
    return this.#inTurn(async () => {
      this.#refuseDivided('name');
      if (this.#named.has(name)) {
        throw badRequest(`a LoRA ${JSON.stringify(name)} is loaded already: unload it first`, 'name');
      }
      await this.#add(name, path, 'path');
      return this.list();
    });
  }

  #refuseDivided(param: string): void {
    if (this.#ranks === 1) return;
    throw unsupported(
      say`LoRA does not go with ${option('tpSize')} ${this.#ranks} yet: open the model without it, or on replicas (${option('dpSize')})`,
      param,
    );
  }

  unload(name: string): Promise<LoraInfo[]> {
    return this.#inTurn(async () => {
      const lora = this.#named.get(name);
      if (!lora) throw this.#unknown(name, 'name');
      await this.#retire(lora);
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
   * Returns the LoRA that a request names and loads it if necessary; the caller must release it. Throws bad_request,
   * model_not_found, overloaded, and the errors of loading.
   */
  async acquire(asked: string): Promise<Lora> {
    const known = this.#named.get(asked);
    if (known) return this.#use(known);
    this.#refuseDivided('lora');
    const path = await this.#folders.find(asked);
    if (path === null) throw this.#unknown(asked, 'lora');
    return this.#inTurn(async () => {
      const same = this.#named.get(asked) ?? [...this.#named.values()].find((lora) => lora.path === path);
      return this.#use(same ?? (await this.#add(asked, path, 'lora')));
    });
  }

  release(lora: Lora): void {
    lora.requests--;
    if (lora.requests > 0 || !this.#retired.has(lora)) return;
    // If the device has no room for the change, it stays until its place is needed.
    this.#inTurn(() => this.#remove(lora)).catch(() => {});
  }

  /** Runs changes one after the other. */
  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#lastChange.then(change, change);
    this.#lastChange = result.catch(() => {});
    return result;
  }

  #use(lora: Lora): Lora {
    lora.requests++;
    this.#named.delete(lora.name);
    this.#named.set(lora.name, lora);
    return lora;
  }

  /** Opens and loads a LoRA. `param`: the option or field that names its folder. */
  async #add(name: string, path: string, param: FolderParam): Promise<Lora> {
    try {
      return await this.#addFile(name, await this.#folders.open(path), param === 'lora');
    } catch (error) {
      throw aboutFolder(error, param);
    }
  }

  async #addFile(name: string, file: LoraFile, onDemand: boolean): Promise<Lora> {
    try {
      await this.#makeRoom();
      const { path, rank, identity } = file;
      const lora: Lora = { name, path, rank, identity, number: 0, requests: 0, lost: null, onDemand };
      await this.#host!.add(lora, file);
      this.#named.set(name, lora);
      return lora;
    } finally {
      await file.close();
    }
  }

  /**
   * Opens a LoRA's folder again after a lost device; returns null, and gives it up, if its files are missing or have
   * changed.
   */
  async #openAgain(lora: Lora): Promise<LoraFile | null> {
    const { name, path, identity } = lora;
    let problem = 'has changed';
    try {
      const file = await this.#folders.open(path);
      if (file.identity === identity) return file;
      await file.close();
    } catch (error) {
      problem = `cannot be read (${error instanceof Error ? error.message : String(error)})`;
    }
    const message = `the GPU device was lost, and the LoRA ${name} is gone with it, since ${path} ${problem}: load it again`;
    lora.lost = modelNotFound(message, 'lora');
    this.#named.delete(name);
    this.#retired.delete(lora);
    this.#onNote(message);
    return null;
  }

  /** Removes an unused LoRA if as many are loaded as may be. */
  async #makeRoom(): Promise<void> {
    const { most } = this;
    if (this.#named.size + this.#retired.size < most) return;
    const idle =
      [...this.#retired].find(({ requests }) => requests === 0) ??
      [...this.#named.values()].find(({ onDemand, requests }) => onDemand && requests === 0);
    if (!idle) {
      throw new EngineError(
        'overloaded',
        say`${countText(most, 'LoRA')} ${most === 1 ? 'is' : 'are'} loaded, the most that ${option('maxLoras')} allows: unload one, or raise it`,
        { param: 'lora' },
      );
    }
    await this.#retire(idle);
  }

  async #retire(lora: Lora): Promise<void> {
    if (this.#named.get(lora.name) === lora) this.#named.delete(lora.name);
    this.#retired.add(lora);
    if (lora.requests === 0) await this.#remove(lora);
  }

  async #remove(lora: Lora): Promise<void> {
    if (!this.#retired.has(lora)) return; // another request's makeRoom has removed it already
    await this.#host!.remove(lora);
    this.#retired.delete(lora);
  }

  #unknown(name: string, param: string): EngineError {
    const names = [...this.#named.keys()].join(', ');
    return modelNotFound(
      `there is no LoRA ${JSON.stringify(name)} here; ${names === '' ? 'none is loaded' : `loaded are ${names}`}`,
      param,
    );
  }
}
