// LoRA of an image model: which LoRAs are open, and which of them a request draws with. Those of the options are opened with the model,
// those of `loraDir` when a request first names them; only their headers stay in memory.

import { LRUCache } from 'lru-cache';
import { countText } from '../../../files/count-text.ts';
import { badRequest, EngineError, modelNotFound } from '../../../files/error.ts';
import { option, say, type Prose } from '../../../files/message.ts';
import { tensorStem } from '../../../files/tensors/tensor-file.ts';
import type { Platform } from '../../platform/platform.ts';
import type { WeightChange, WeightChanges } from '../../weights/change.ts';
import type { CompleteImageRequest, ImageModelInfo, ImageModelOptions } from '../calls/image-model.ts';
import { openLora, unmatchedNote, type LoraTarget, type OpenLora } from './open-lora.ts';

/** A LoRA with the scale that a request gives it. */
export interface AppliedLora {
  lora: OpenLora;
  scale: number;
}

export interface LoraChoice {
  /** The prompt without the tags that name adapters. */
  prompt: string;
  applied: readonly AppliedLora[];
}

export interface LoraFiles {
  platform: Pick<Platform, 'openFolder' | 'folderWithin'>;
  /** Finds the folder or file of a LoRA, and downloads it where it is an id of the hub. */
  find(path: string): Promise<string>;
  onNote(message: Prose): void;
}

type Options = Pick<
  ImageModelOptions,
  'loraPath' | 'loraNickname' | 'loraScale' | 'loraTargetModules' | 'loraDir'
>;

/** <lora:nickname> or <lora:nickname:scale>, as other programs write it. */
const TAG = /<(?:lora|lyco):([^:<>]+)(?::\s*(-?(?:\d+(?:\.\d*)?|\.\d+))\s*)?>/gi;
/** Most LoRAs of `loraDir` whose headers are kept, each with an open file. */
const MOST_NAMED = 64;
/** Name of the only LoRA that is given without one. */
const ONLY = 'default';

export class ImageLoras {
  readonly #files: LoraFiles;
  readonly #options: Options;
  readonly #target: LoraTarget;
  /** LoRAs of the options, with their scales. */
  readonly #given: AppliedLora[] = [];
  /** LoRAs that requests named, by their paths; those that were named last stay open. */
  readonly #named: LRUCache<string, Promise<OpenLora>>;
  #isClosed = false;

  private constructor(files: LoraFiles, options: Options, target: LoraTarget) {
    this.#files = files;
    this.#options = options;
    this.#target = target;
    this.#named = new LRUCache<string, Promise<OpenLora>>({
      max: MOST_NAMED,
      dispose: (opening) => void closeOpened(opening),
    });
  }

  /** Opens the LoRAs of the options. Throws bad_request, model_not_found, bad_checkpoint and unsupported. */
  static async open(files: LoraFiles, options: Options, target: LoraTarget): Promise<ImageLoras> {
    const loras = new ImageLoras(files, options, target);
    try {
      const { loraDir } = options;
      if (loraDir !== undefined)
        await files.platform.openFolder(loraDir).catch((error: unknown) => {
          throw aboutLora(error, 'loraDir');
        });
      for (const { path, name, scale } of givenOf(options)) {
        const opening = files.find(path).then((found) => loras.#open(found, path, name));
        const lora = await opening.catch((error: unknown) => {
          throw aboutLora(error, 'loraPath');
        });
        loras.#given.push({ lora, scale: scale ?? ownScale(lora) });
      }
      return loras;
    } catch (error) {
      await loras.close();
      throw error;
    }
  }

  /** What the model's description says of them. */
  shown(): Pick<ImageModelInfo, 'loras'> {
    const hasFolder = this.#options.loraDir !== undefined;
    if (this.#given.length === 0 && !hasFolder) return {};
    const given = this.#given.map(({ lora, scale }) => ({ name: lora.name ?? lora.file.name, scale }));
    return { loras: { given, hasFolder } };
  }

  /** Returns the LoRAs that a request draws with. Throws bad_request, model_not_found, bad_checkpoint and unsupported. */
  async choose({ prompt, lora, loraScale }: CompleteImageRequest): Promise<LoraChoice> {
    const isUsed = this.#given.length > 0 || this.#options.loraDir !== undefined;
    const tags = isUsed ? [...prompt.matchAll(TAG)] : [];
    if (loraScale !== undefined && lora === undefined)
      throw badRequest('scales of LoRAs are given, and no LoRAs: name them too', 'loraScale');
    if (lora === undefined && tags.length === 0) return { prompt, applied: this.#given };
    const scales = spread(loraScale, lora?.length ?? 0, 'loraScale');
    const applied: AppliedLora[] = [];
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
    await Promise.all([...named.map(closeOpened), ...this.#given.map(({ lora }) => lora.file.close())]);
  }

  async #apply(name: string, scale: number | undefined): Promise<AppliedLora> {
    const given = this.#given.find(({ lora }) => lora.name === name || lora.file.name === name);
    if (given) return { lora: given.lora, scale: scale ?? given.scale };
    const lora = await this.#fromFolder(name);
    return { lora, scale: scale ?? ownScale(lora) };
  }

  /** The LoRA of this name in `loraDir`. */
  async #fromFolder(name: string): Promise<OpenLora> {
    const { loraDir } = this.#options;
    const { platform } = this.#files;
    const found = loraDir === undefined ? 'missing' : await within(platform, name, loraDir);
    if (found === 'outside')
      throw badRequest(
        say`the LoRA ${JSON.stringify(name)} lies outside the folder that ${option('loraDir')} allows: name one in it`,
        'lora',
      );
    if (found === 'missing') throw this.#unknown(name);
    const { path } = found;
    const known = this.#named.get(path);
    if (known) return known;
    if (this.#isClosed) throw new EngineError('cancelled', 'the model was closed');
    const opening = this.#open(path, name, name).catch((error: unknown) => {
      if (this.#named.get(path) === opening) this.#named.delete(path); // another request may find it repaired
      throw aboutLora(error, 'lora');
    });
    this.#named.set(path, opening);
    return opening;
  }

  async #open(path: string, given: string, name: string | null): Promise<OpenLora> {
    const { platform, onNote } = this.#files;
    const folder = await platform.openFolder(path);
    const targets = this.#options.loraTargetModules;
    const above = /^(.*[/\\])?adapter_model\.(safetensors|bin)$/.exec(path);
    const beside = above ? await platform.openFolder(above[1] ?? '.') : undefined;
    const named = { given, name: name ?? stemOf(given), targets, beside };
    const lora = await openLora(folder, named, this.#target);
    const note = unmatchedNote(lora);
    if (note !== null) onNote(note);
    return lora;
  }

  #unknown(name: string): EngineError {
    const names = this.#given.map(({ lora }) => lora.name);
    const loaded = names.length === 0 ? 'none was given' : `those given are ${names.join(', ')}`;
    const inFolder = this.#options.loraDir === undefined ? '' : say`, or a file in ${option('loraDir')}`;
    const remedy = names.length === 0 ? 'give it with the model' : 'name one of them';
    return modelNotFound(
      say`there is no LoRA ${JSON.stringify(name)} here; ${loaded}: ${remedy}${inFolder}`,
      'lora',
    );
  }
}

/** Closes the file of a LoRA that may be opening. Requests that draw with it open it for each reading. */
async function closeOpened(opening: Promise<OpenLora>): Promise<void> {
  const lora = await opening.catch(() => null);
  await lora?.file.close();
}

/** The changes that LoRAs make to each component; those of scale 0 make none. */
export function changesOf(applied: readonly AppliedLora[]): ReadonlyMap<string, WeightChanges> {
  const changes = new Map<string, Map<string, WeightChange[]>>();
  for (const { lora, scale } of applied) {
    if (scale === 0) continue;
    for (const [component, tensors] of lora.changes) {
      const own = changes.get(component) ?? new Map<string, WeightChange[]>();
      changes.set(component, own);
      for (const [tensor, each] of tensors)
        own.set(tensor, [...(own.get(tensor) ?? []), ...each.map((change) => ({ ...change, scale }))]);
    }
  }
  return changes;
}

/** The scale of a LoRA where none is given. */
const ownScale = ({ fewSteps }: OpenLora): number => fewSteps?.settings.scale ?? 1;

function givenOf({ loraPath = [], loraNickname, loraScale }: Options) {
  const count = loraPath.length;
  if (loraNickname !== undefined && loraNickname.length !== count)
    throw badRequest(
      say`${option('loraNickname')} has ${countText(loraNickname.length, 'name')} for ${countText(count, 'LoRA')}: give one for each`,
      'loraNickname',
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
  throw badRequest(
    say`two LoRAs are named ${twice}: give each a name of its own with ${option('loraNickname')}`,
    'loraNickname',
  );
}

/** One scale for each LoRA; a single one is that of all. */
function spread(scales: readonly number[] | undefined, count: number, param: string): (number | undefined)[] {
  if (scales === undefined) return [];
  if (scales.some((scale) => !Number.isFinite(scale)))
    throw badRequest(
      `a scale of a LoRA is ${scales.find((scale) => !Number.isFinite(scale))}: give a finite number`,
      param,
    );
  if (scales.length === 1) return Array.from({ length: count }, () => scales[0]);
  if (scales.length === count) return [...scales];
  throw badRequest(
    `${countText(scales.length, 'scale')} are given for ${countText(count, 'LoRA')}: give one for each, or one for all`,
    param,
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
  const last = path
    .replace(/[/\\]+$/, '')
    .split(/[/\\:]/)
    .at(-1)!;
  return tensorStem(last);
}

/** Attributes an error about a LoRA's files to an option or a field; a damaged file that a request names is a bad request. */
export function aboutLora(error: unknown, param: 'lora' | 'loraPath' | 'loraDir'): unknown {
  if (!(error instanceof EngineError)) return error;
  const { code } = error;
  if (!/^(bad_checkpoint|unsupported|model_not_found|bad_request|network)$/.test(code)) return error;
  if (error.param === 'loraTargetModules') return error;
  const blamed = code === 'bad_checkpoint' && param === 'lora' ? 'bad_request' : code;
  return new EngineError(blamed, error, { param, cause: error });
}
