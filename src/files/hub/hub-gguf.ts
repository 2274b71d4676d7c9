// GGUF files of a repository or a folder: a quantization is named behind the model's name, as owner/name:Q4_K_M, and without one the
// repository's Q4_K_M is taken, else the closest that fits.

import { bytesText } from '../bytes-text.ts';
import { badRequest, modelNotFound } from '../error.ts';
import {
  ggufSets,
  hasTag,
  isGgufName,
  isQuantizationName,
  modelFiles,
  setsText,
  type GgufSet,
} from '../gguf/file-names.ts';
import { isLayoutWeights } from '../tensors/tensor-file.ts';
import type { OnHubEvent } from './hub-events.ts';
import { snapshotOf, type RepoCache, type Snapshot } from './hub-cache.ts';

/** A model's name and the quantization named behind it; null: none is. */
export interface TaggedModel {
  id: string;
  tag: string | null;
  /** A file of the repository that is named behind the id; left out: none is. */
  file?: string;
}

const FILE = /^([^:]+\/[^:]+):([^/:][^:]*\.(?:safetensors|gguf))$/i;

export function splitTag(model: string): TaggedModel {
  const [, owner, file] = FILE.exec(model) ?? [];
  if (file !== undefined) return { id: owner!, tag: null, file };
  const colon = model.lastIndexOf(':');
  const tag = model.slice(colon + 1);
  return colon > 0 && isQuantizationName(tag) ? { id: model.slice(0, colon), tag } : { id: model, tag: null };
}

/** Takes the id of a model that is to be removed apart. Throws bad_request for one of its files, which are removed with the model alone. */
export function splitRemoved(model: string): Pick<TaggedModel, 'id' | 'tag'> {
  const { id, tag, file } = splitTag(model);
  if (file === undefined) return { id, tag };
  throw badRequest(
    `${model} names one file: remove all of ${id}, or one quantization of its GGUF files, as ${id}:Q4_K_M`,
    'model',
  );
}

/** Quantizations in the order in which they stand in for Q4_K_M: those of about as many bits first, then more bits before fewer. */
const PREFERRED = [
  'Q4_K_M Q4_K_S UD-Q4_K_XL Q4_K_L Q4_K_XL IQ4_XS IQ4_NL Q4_1 Q4_0 MXFP4 MXFP4_MOE NVFP4',
  'Q5_K_S Q5_K_M Q5_1 Q5_0 Q5_K_L UD-Q5_K_XL Q3_K_L Q3_K_M UD-Q3_K_XL Q3_K_XL Q3_K_S IQ3_M IQ3_S',
  'Q6_K Q6_K_L UD-Q6_K_XL Q8_0 UD-Q8_K_XL Q2_K Q2_K_L UD-Q2_K_XL BF16 F16 F32',
  'IQ3_XS IQ3_XXS UD-IQ3_XXS IQ2_M UD-IQ2_M IQ2_S IQ2_XS IQ2_XXS UD-IQ2_XXS TQ2_0 TQ1_0 IQ1_M UD-IQ1_M IQ1_S UD-IQ1_S Q1_0',
].flatMap((line) => line.split(' '));

const rankOf = ({ tag }: GgufSet): number => {
  const rank = PREFERRED.indexOf(tag ?? '');
  return rank < 0 ? PREFERRED.length : rank;
};

interface Sized {
  path: string;
  size: number | null;
}

export interface ChosenGguf {
  set: GgufSet;
  /** Why this one, where the repository has others and none was named; null: it was named, or is the only one. */
  note: string | null;
}

/** The set that a tag names, or the one that is taken without. `mostBytes`: room for weights. null: there are no GGUF files of a model. */
export function chooseGguf(
  id: string,
  files: readonly Sized[],
  tag: string | null,
  mostBytes = Infinity,
): ChosenGguf | null {
  const sets = ggufSets(files.map(({ path }) => path)).filter(({ names, count }) => names.length === count);
  if (tag !== null) return { set: withTag(id, sets, tag), note: null };
  const [only] = sets;
  if (only === undefined) return null;
  if (sets.length === 1) return { set: only, note: null };
  const sizes = new Map(files.map(({ path, size }) => [path, size ?? 0]));
  const bytesOf = ({ names }: GgufSet): number => names.reduce((sum, name) => sum + sizes.get(name)!, 0);
  const ranked = sets.toSorted((a, b) => rankOf(a) - rankOf(b));
  const fitting = ranked.find((set) => bytesOf(set) <= mostBytes);
  const smallest = ranked.toSorted((a, b) => bytesOf(a) - bytesOf(b))[0]!;
  const set = fitting ?? smallest;
  const room =
    fitting === ranked[0] || mostBytes === Infinity
      ? ''
      : `, as the budget leaves ${bytesText(mostBytes)} for weights`;
  const tags = sets.map(({ tag: own, names }) => own ?? names[0]).join(', ');
  const note = `${id} has GGUF files of ${tags}: ${set.tag ?? set.names[0]} is taken${room}; name another as ${id}:TAG`;
  return { set, note };
}

/** The files of the set that begins with `name`, and its tower. */
export function withTower<F extends Sized>(name: string, files: readonly F[]): F[] {
  const names = modelFiles(
    name,
    files.map(({ path }) => path),
  );
  return names.map((one) => files.find(({ path }) => path === one)!);
}

interface GgufOptions {
  allow?: unknown;
  component?: string;
  mostBytes?: number;
  onProgress?: OnHubEvent;
}

/**
 * The GGUF files to fetch: those of the quantization that is named, or where a repository has no safetensors of the one that is taken.
 * null: other files.
 */
export function ggufFiles<F extends Sized>(
  id: string,
  tag: string | null,
  files: readonly F[],
  { allow, component, mostBytes, onProgress }: GgufOptions,
): F[] | null {
  const isOther =
    allow !== undefined ||
    (component !== undefined && files.some(({ path }) => path === 'model_index.json')) ||
    files.some(({ path }) => isLayoutWeights(path));
  if (tag === null && isOther) return null;
  const chosen = chooseGguf(id, files, tag, mostBytes);
  if (chosen === null) return null;
  if (chosen.note !== null) onProgress?.({ type: 'chosen', id, message: chosen.note });
  return withTower(chosen.set.names[0]!, files);
}

export function withTag(id: string, sets: readonly GgufSet[], tag: string): GgufSet {
  const exact = sets.find(({ tag: own }) => own === tag.toUpperCase());
  const found = exact ?? sets.find((set) => hasTag(set, tag));
  if (found !== undefined) return found;
  const others = sets.length === 0 ? 'it has no GGUF files' : `it has ${setsText(sets)}`;
  throw modelNotFound(`${id} has no GGUF file of ${tag}: ${others}`, 'model');
}

/** The GGUF file of a snapshot in the cache if all its parts are there; without a tag only if the snapshot has no other weights. */
export async function cachedGguf(
  repo: RepoCache,
  revision: string,
  { id, tag }: TaggedModel,
): Promise<Snapshot | null> {
  const { path, commit } = await snapshotOf(repo, revision);
  const files = (await repo.files(commit)).filter(({ size }) => size !== null);
  if (tag === null && files.some(({ path: name }) => isLayoutWeights(name))) return null;
  const sets = ggufSets(files.map(({ path: name }) => name));
  if (tag !== null && !sets.some((set) => hasTag(set, tag))) return null;
  const chosen = chooseGguf(id, files, tag);
  return chosen && { path: `${path}/${chosen.set.names[0]!}`, commit };
}

/** The file that is named behind an id, with the other parts of a split one. Throws model_not_found for one that the repository lacks. */
export function namedFile<F extends Sized>(id: string, name: string, files: readonly F[]): F[] {
  const found = files.find(({ path }) => path === name);
  if (found) {
    const parts = isGgufName(name) ? withTower(name, files) : [found];
    // PEFT's file does not say how strong the LoRA is.
    const settings = name.replace(/(^|\/)adapter_model\.(safetensors|bin)$/, '$1adapter_config.json');
    return [...parts, ...files.filter(({ path }) => path === settings && settings !== name)];
  }
  const kind = name.slice(name.lastIndexOf('.')).toLowerCase();
  const others = files.filter(({ path }) => path.toLowerCase().endsWith(kind)).map(({ path }) => path);
  const more = others.length > MOST_NAMED ? ' …' : '';
  const has = others.length === 0 ? `no ${kind} files` : others.slice(0, MOST_NAMED).join(', ') + more;
  throw modelNotFound(`${id} has no file ${name}: it has ${has}`, 'model');
}

/** Most files that a message names. */
const MOST_NAMED = 8;
