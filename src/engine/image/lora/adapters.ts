// The adapters of an image model: which are open, and which of them a request draws with. Those of the options are opened with the model,
// those of `loraDir` when a request first names them; only their headers stay in memory.

import { LRUCache } from 'lru-cache';
import { countText } from '../../../files/count-text.ts';
import { EngineError } from '../../../files/error.ts';
import { option, say, type Prose } from '../../../files/message.ts';
import type { Platform } from '../../platform/platform.ts';
import type { WeightChange, WeightChanges } from '../../weights/change.ts';
import type { ImageModelOptions, CompleteImageRequest } from '../calls/image-model.ts';
import { openAdapter, unmatchedNote, type AdapterTarget, type OpenAdapter } from './open-adapter.ts';

/** An adapter with the scale that a request gives it. */
export interface AppliedAdapter {
  adapter: OpenAdapter;
  scale: number;
}

export interface AdapterChoice {
  /** The prompt without the tags that name adapters. */
  prompt: string;
  applied: readonly AppliedAdapter[];
}

export interface AdapterFiles {
  platform: Pick<Platform, 'openFolder' | 'folderWithin'>;
  /** Finds the folder or file of an adapter, and downloads it where it is an id of the hub. */
  find(path: string): Promise<string>;
  onNote(message: Prose): void;
}

type Options = Pick<
  ImageModelOptions,
  'loraPath' | 'loraNickname' | 'loraScale' | 'loraTargetModules' | 'loraDir'
>;

/** <lora:nickname> or <lora:nickname:scale>, as other programs write it. */
const TAG = /<(?:lora|lyco):([^:<>]+)(?::\s*(-?(?:\d+(?:\.\d*)?|\.\d+))\s*)?>/gi;
/** Most adapters of `loraDir` whose headers are kept, each with an open file. */
const MOST_NAMED = 64;
/** Name of the only adapter that is given without one. */
const ONLY = 'default';

export class ImageAdapters {
  readonly #files: AdapterFiles;
  readonly #options: Options;
  readonly #target: AdapterTarget;
  /** Adapters of the options, with their scales. */
  readonly #given: AppliedAdapter[] = [];
  /** Adapters that requests named, by their paths; those that were named last stay open. */
  readonly #named: LRUCache<string, Promise<OpenAdapter>>;
  #isClosed = false;

  private constructor(files: AdapterFiles, options: Options, target: AdapterTarget) {
    this.#files = files;
    this.#options = options;
    this.#target = target;
    this.#named = new LRUCache<string, Promise<OpenAdapter>>({
      max: MOST_NAMED,
      dispose: (opening) => void closeOpened(opening),
    });
  }

  /** Opens the adapters of the options. Throws bad_request, model_not_found, bad_checkpoint and unsupported. */
  static async open(files: AdapterFiles, options: Options, target: AdapterTarget): Promise<ImageAdapters> {
    const adapters = new ImageAdapters(files, options, target);
    try {
      const { loraDir } = options;
      if (loraDir !== undefined)
        await files.platform.openFolder(loraDir).catch((error: unknown) => {
          throw aboutAdapter(error, 'loraDir');
        });
      for (const { path, name, scale } of givenOf(options)) {
        const opening = files.find(path).then((found) => adapters.#open(found, path, name));
        const adapter = await opening.catch((error: unknown) => {
          throw aboutAdapter(error, 'loraPath');
        });
        adapters.#given.push({ adapter, scale: scale ?? ownScale(adapter) });
      }
      return adapters;
    } catch (error) {
      await adapters.close();
      throw error;
    }
  }

  /** Returns the adapters that a request draws with. Throws bad_request, model_not_found, bad_checkpoint and unsupported. */
  async choose({ prompt, lora, loraScale }: CompleteImageRequest): Promise<AdapterChoice> {
    const isUsed = this.#given.length > 0 || this.#options.loraDir !== undefined;
    const tags = isUsed ? [...prompt.matchAll(TAG)] : [];
    if (loraScale !== undefined && lora === undefined)
      throw new EngineError('bad_request', 'scales of adapters are given, and no adapters: name them too', {
        param: 'loraScale',
      });
    if (lora === undefined && tags.length === 0) return { prompt, applied: this.#given };
    const scales = spread(loraScale, lora?.length ?? 0, 'loraScale');
    const applied: AppliedAdapter[] = [];
    for (const [i, name] of (lora ?? []).entries()) applied.push(await this.#apply(name, scales[i]));
    for (const [, name, scale] of tags)
      applied.push(await this.#apply(name!.trim(), scale === undefined ? undefined : Number(scale)));
    const shown =
      tags.length === 0
        ? prompt
        : prompt
            .replaceAll(TAG, '')
            .replaceAll(/\s{2,}/g, ' ')
            .trim();
    return { prompt: shown, applied };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const named = [...this.#named.values()];
    this.#named.clear();
    await Promise.all([...named.map(closeOpened), ...this.#given.map(({ adapter }) => adapter.file.close())]);
  }

  async #apply(name: string, scale: number | undefined): Promise<AppliedAdapter> {
    const given = this.#given.find(({ adapter }) => adapter.name === name || adapter.file.name === name);
    if (given) return { adapter: given.adapter, scale: scale ?? given.scale };
    const adapter = await this.#fromFolder(name);
    return { adapter, scale: scale ?? ownScale(adapter) };
  }

  /** The adapter of this name in `loraDir`. */
  async #fromFolder(name: string): Promise<OpenAdapter> {
    const { loraDir } = this.#options;
    const { platform } = this.#files;
    const found = loraDir === undefined ? 'missing' : await within(platform, name, loraDir);
    if (found === 'outside')
      throw new EngineError(
        'bad_request',
        say`the adapter ${JSON.stringify(name)} lies outside the folder that ${option('loraDir')} allows: name one in it`,
        { param: 'lora' },
      );
    if (found === 'missing') throw this.#unknown(name);
    const { path } = found;
    const known = this.#named.get(path);
    if (known) return known;
    if (this.#isClosed) throw new EngineError('cancelled', 'the model was closed');
    const opening = this.#open(path, name, name).catch((error: unknown) => {
      if (this.#named.get(path) === opening) this.#named.delete(path); // another request may find it repaired
      throw aboutAdapter(error, 'lora');
    });
    this.#named.set(path, opening);
    return opening;
  }

  async #open(path: string, given: string, name: string | null): Promise<OpenAdapter> {
    const { platform, onNote } = this.#files;
    const folder = await platform.openFolder(path);
    const targets = this.#options.loraTargetModules;
    const above = /^(.*[/\\])?adapter_model\.safetensors$/.exec(path);
    const beside = above ? await platform.openFolder(above[1] ?? '.') : undefined;
    const named = { given, name: name ?? stemOf(given), targets, beside };
    const adapter = await openAdapter(folder, named, this.#target);
    const note = unmatchedNote(adapter);
    if (note !== null) onNote(note);
    return adapter;
  }

  #unknown(name: string): EngineError {
    const names = this.#given.map(({ adapter }) => adapter.name);
    const loaded = names.length === 0 ? 'none was given' : `those given are ${names.join(', ')}`;
    const inFolder = this.#options.loraDir === undefined ? '' : say`, or a file in ${option('loraDir')}`;
    const remedy = names.length === 0 ? 'give it with the model' : 'name one of them';
    return new EngineError(
      'model_not_found',
      say`there is no adapter ${JSON.stringify(name)} here; ${loaded}: ${remedy}${inFolder}`,
      { param: 'lora' },
    );
  }
}

/** Closes the file of an adapter that may be opening. Requests that draw with it open it for each reading. */
async function closeOpened(opening: Promise<OpenAdapter>): Promise<void> {
  const adapter = await opening.catch(() => null);
  await adapter?.file.close();
}

/** The changes that adapters make to each component; those of scale 0 make none. */
export function changesOf(applied: readonly AppliedAdapter[]): ReadonlyMap<string, WeightChanges> {
  const changes = new Map<string, Map<string, WeightChange[]>>();
  for (const { adapter, scale } of applied) {
    if (scale === 0) continue;
    for (const [component, tensors] of adapter.changes) {
      const own = changes.get(component) ?? new Map<string, WeightChange[]>();
      changes.set(component, own);
      for (const [tensor, each] of tensors)
        own.set(tensor, [...(own.get(tensor) ?? []), ...each.map((change) => ({ ...change, scale }))]);
    }
  }
  return changes;
}

/** The scale of an adapter where none is given. */
const ownScale = ({ fewSteps }: OpenAdapter): number => fewSteps?.settings.scale ?? 1;

function givenOf({ loraPath = [], loraNickname, loraScale }: Options) {
  const count = loraPath.length;
  if (loraNickname !== undefined && loraNickname.length !== count)
    throw new EngineError(
      'bad_request',
      say`${option('loraNickname')} has ${countText(loraNickname.length, 'name')} for ${countText(count, 'adapter')}: give one for each`,
      { param: 'loraNickname' },
    );
  const scales = spread(loraScale, count, 'loraScale');
  const given = loraPath.map((path, i) => ({
    path,
    name: loraNickname?.[i] ?? (count === 1 ? ONLY : null),
    scale: scales[i],
  }));
  const names = given.map(({ path, name }) => name ?? stemOf(path));
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice === undefined) return given;
  throw new EngineError(
    'bad_request',
    say`two adapters are named ${twice}: give each a name of its own with ${option('loraNickname')}`,
    { param: 'loraNickname' },
  );
}

/** One scale for each adapter; a single one is that of all. */
function spread(scales: readonly number[] | undefined, count: number, param: string): (number | undefined)[] {
  if (scales === undefined) return [];
  if (scales.some((scale) => !Number.isFinite(scale)))
    throw new EngineError(
      'bad_request',
      `a scale of an adapter is ${scales.find((scale) => !Number.isFinite(scale))}: give a finite number`,
      { param },
    );
  if (scales.length === 1) return Array.from({ length: count }, () => scales[0]);
  if (scales.length === count) return [...scales];
  throw new EngineError(
    'bad_request',
    `${countText(scales.length, 'scale')} are given for ${countText(count, 'adapter')}: give one for each, or one for all`,
    { param },
  );
}

/** A file or folder in a folder, with or without its ending. */
async function within(
  platform: Pick<Platform, 'folderWithin'>,
  name: string,
  folder: string,
): Promise<{ path: string } | 'outside' | 'missing'> {
  const found = await platform.folderWithin(name, [folder]);
  return found === 'missing' ? platform.folderWithin(`${name}.safetensors`, [folder]) : found;
}

/** The last part of a path or id, without an ending. */
function stemOf(path: string): string {
  return path
    .replace(/[/\\]+$/, '')
    .split(/[/\\:]/)
    .at(-1)!
    .replace(/\.safetensors$/i, '');
}

/** Attributes an error about an adapter's files to an option or a field; a damaged file that a request names is a bad request. */
export function aboutAdapter(error: unknown, param: 'lora' | 'loraPath' | 'loraDir'): unknown {
  if (!(error instanceof EngineError)) return error;
  const { code } = error;
  if (!/^(bad_checkpoint|unsupported|model_not_found|bad_request|network)$/.test(code)) return error;
  if (error.param === 'loraTargetModules') return error;
  const blamed = code === 'bad_checkpoint' && param === 'lora' ? 'bad_request' : code;
  return new EngineError(blamed, error, { param, cause: error });
}
