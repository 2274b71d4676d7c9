// The LoRA adapters of a text model: which are loaded, which request has which, and which folders a request may name. They come and
// go while requests run: an unloaded one gets no new requests, and leaves the device when its last request has ended.

import { countText } from '../../files/count-text.ts';
import { EngineError } from '../../files/error.ts';
import { openLora, type LoraFile } from '../../files/checkpoint/lora.ts';
import { DEFAULTS } from '../../options/limits.ts';
import type { Platform } from '../platform.ts';
import type { LoraInfo, TextModelOptions } from './text-model.ts';

/** One that requests hold. */
export interface Adapter {
  readonly name: string;
  readonly path: string;
  readonly rank: number;
  /** The same for the same weights: what the prefix cache tells adapters apart by. */
  readonly identity: string;
  /** Its number on the device now. */
  number: number;
  /** Those that run with it. */
  requests: number;
  /** Why it could not be loaded again after a lost device: its requests end with that. */
  lost: EngineError | null;
  /** Loaded because a request named its folder: makes room for others while nobody uses it. */
  readonly onDemand: boolean;
}

/** Who holds their weights. */
export interface AdapterHost {
  add(adapter: Adapter, file: LoraFile): Promise<void>;
  remove(adapter: Adapter): Promise<void>;
}

export interface Adapters {
  /** To a host that has none: those of the options at first; after a lost device all that were loaded and can still be read. */
  attach(host: AdapterHost): Promise<void>;
  load(name: string, path: string): Promise<LoraInfo[]>;
  unload(name: string): Promise<LoraInfo[]>;
  list(): LoraInfo[];
  /** Loaded at once. */
  readonly most: number;
  /** The one a request names, until it is released. Throws bad_request, model_not_found, overloaded and what loading throws. */
  acquire(lora: string): Promise<Adapter>;
  release(adapter: Adapter): void;
}

type Options = Pick<TextModelOptions, 'loraPaths' | 'loraDir' | 'maxLoras' | 'maxLoraRank'>;

export function createAdapters(
  platform: Pick<Platform, 'openFolder' | 'folderWithin'>,
  { loraPaths = [], loraDir, maxLoras = DEFAULTS.adapters, maxLoraRank = DEFAULTS.adapterRank }: Options,
  onNote: (message: string) => void,
): Adapters {
  const named = new Map<string, Adapter>();
  /** Unloaded, with requests that still run, or where the device had no room for the change. */
  const retired = new Set<Adapter>();
  const given = loraPaths.map(splitNamed);
  const allowed = [...(loraDir === undefined ? [] : [loraDir]), ...given.map(({ path }) => path)];
  let host: AdapterHost | null = null;
  let last: Promise<unknown> = Promise.resolve();

  /** Changes are made one after the other. */
  const inTurn = <T>(change: () => Promise<T>): Promise<T> => {
    const result = last.then(change, change);
    last = result.catch(() => {});
    return result;
  };

  const list = (): LoraInfo[] =>
    [...named.values()].map(({ name, path, rank, requests }) => ({ name, path, rank, requests }));

  const open = async (path: string): Promise<LoraFile> => {
    const file = await openLora(await platform.openFolder(path).catch(notFound));
    if (file.rank <= maxLoraRank) return file;
    await file.close();
    throw new EngineError(
      'bad_request',
      `${path} has rank ${file.rank}, \`maxLoraRank\` allows ${maxLoraRank}: raise it`,
      { param: 'maxLoraRank' },
    );
  };

  /** null: it is not there as it was, and one of these the less. */
  const openAgain = async (adapter: Adapter): Promise<LoraFile | null> => {
    const { name, path, identity } = adapter;
    let problem = 'has changed';
    try {
      const file = await open(path);
      if (file.identity === identity) return file;
      await file.close();
    } catch (error) {
      problem = `cannot be read (${error instanceof Error ? error.message : String(error)})`;
    }
    const message = `the GPU device was lost, and the adapter ${name} is gone with it, since ${path} ${problem}: load it again`;
    adapter.lost = new EngineError('model_not_found', message, { param: 'lora' });
    named.delete(name);
    retired.delete(adapter);
    onNote(message);
    return null;
  };

  /** `param`: what named it. */
  const add = async (name: string, path: string, param: 'lora' | 'path' | 'loraPaths'): Promise<Adapter> => {
    try {
      return await addFile(name, await open(path), param === 'lora');
    } catch (error) {
      throw aboutFolder(error, param);
    }
  };

  const addFile = async (name: string, file: LoraFile, onDemand: boolean): Promise<Adapter> => {
    try {
      await makeRoom();
      const { rank, identity } = file;
      const nobody = { number: 0, requests: 0, lost: null };
      const adapter: Adapter = { name, path: file.path, rank, identity, ...nobody, onDemand };
      await host!.add(adapter, file);
      named.set(name, adapter);
      return adapter;
    } finally {
      await file.close();
    }
  };

  const makeRoom = async (): Promise<void> => {
    if (named.size + retired.size < maxLoras) return;
    const idle =
      [...retired].find(({ requests }) => requests === 0) ??
      [...named.values()].find(({ onDemand, requests }) => onDemand && requests === 0);
    if (!idle) {
      throw new EngineError(
        'overloaded',
        `${countText(maxLoras, 'adapter')} ${maxLoras === 1 ? 'is' : 'are'} loaded, the most that \`maxLoras\` allows: unload one, or raise it`,
        { param: 'lora' },
      );
    }
    await drop(idle);
  };

  /** Requests would only be told that there is no such adapter. */
  const checkFolder = async (path: string): Promise<void> => {
    await platform.openFolder(path).catch((error: unknown) => {
      throw aboutFolder(error, 'loraDir');
    });
  };

  const drop = async (adapter: Adapter): Promise<void> => {
    if (named.get(adapter.name) === adapter) named.delete(adapter.name);
    retired.add(adapter);
    if (adapter.requests === 0) await remove(adapter);
  };

  const remove = async (adapter: Adapter): Promise<void> => {
    if (!retired.has(adapter)) return; // made room for another already
    await host!.remove(adapter);
    retired.delete(adapter);
  };

  const use = (adapter: Adapter): Adapter => {
    adapter.requests++;
    // The least lately used one is the first.
    named.delete(adapter.name);
    named.set(adapter.name, adapter);
    return adapter;
  };

  /** The folder that a request names, if it may. */
  const folderOf = async (lora: string): Promise<string> => {
    const isPath = /[/\\]/.test(lora) || lora === '..' || lora === '.';
    const refuse = (problem: string): EngineError =>
      new EngineError('bad_request', `lora ${JSON.stringify(lora)} ${problem}`, { param: 'lora' });
    if (isPath && allowed.length === 0)
      throw refuse('is a path, and none is allowed: start with `loraDir` or `loraPaths`');
    const found = await platform.folderWithin(lora, allowed);
    if (found === 'outside') throw refuse('lies outside the folders that `loraDir` and `loraPaths` allow');
    if (found !== 'missing') return found.path;
    throw unknown(lora, 'lora');
  };

  const unknown = (name: string, param: string): EngineError => {
    const names = [...named.keys()].join(', ');
    return new EngineError(
      'model_not_found',
      `there is no adapter ${JSON.stringify(name)} here; ${names === '' ? 'none is loaded' : `loaded are ${names}`}`,
      { param },
    );
  };

  return {
    attach: (next) =>
      inTurn(async () => {
        const isFirst = host === null;
        host = next;
        if (isFirst && loraDir !== undefined) await checkFolder(loraDir);
        for (const adapter of [...named.values(), ...retired]) {
          const file = await openAgain(adapter);
          if (!file) continue;
          try {
            await host.add(adapter, file);
          } finally {
            await file.close();
          }
        }
        if (isFirst) for (const { name, path } of given) await add(name, path, 'loraPaths');
      }),
    load: (name, path) =>
      inTurn(async () => {
        if (named.has(name)) {
          throw new EngineError(
            'bad_request',
            `an adapter ${JSON.stringify(name)} is loaded already: unload it first`,
            {
              param: 'name',
            },
          );
        }
        await add(name, path, 'path');
        return list();
      }),
    unload: (name) =>
      inTurn(async () => {
        const adapter = named.get(name);
        if (!adapter) throw unknown(name, 'name');
        await drop(adapter);
        return list();
      }),
    list,
    most: maxLoras,
    async acquire(lora) {
      const known = named.get(lora);
      if (known) return use(known);
      const path = await folderOf(lora);
      return inTurn(async () => {
        const same = named.get(lora) ?? [...named.values()].find((adapter) => adapter.path === path);
        return use(same ?? (await add(lora, path, 'lora')));
      });
    },
    release(adapter) {
      adapter.requests--;
      if (adapter.requests > 0 || !retired.has(adapter)) return;
      // Where there is no room for the change, it stays until another one needs its place.
      inTurn(() => remove(adapter)).catch(() => {});
    },
  };
}

/** The one error for every reason that keeps a folder from being opened: no adapter was found there. */
function notFound(cause: unknown): never {
  if (!(cause instanceof EngineError)) throw cause;
  throw new EngineError('model_not_found', cause.message, { cause });
}

/** What is wrong with a folder is said of what named it; a request that names one itself is to blame. */
function aboutFolder(error: unknown, param: string): unknown {
  if (!(error instanceof EngineError)) return error;
  const { code, message } = error;
  if (!/^(bad_checkpoint|unsupported|model_not_found|bad_request)$/.test(code)) return error;
  const blamed = code === 'bad_checkpoint' && param === 'lora' ? 'bad_request' : code;
  return new EngineError(blamed, message, { param, cause: error });
}

/** NAME=PATH, or a path whose last segment is the name. */
function splitNamed(given: string): { name: string; path: string } {
  const at = given.indexOf('=');
  if (at > 0) return { name: given.slice(0, at), path: given.slice(at + 1) };
  const name = given
    .replace(/[/\\]+$/, '')
    .split(/[/\\]/)
    .at(-1)!;
  return { name, path: given };
}
