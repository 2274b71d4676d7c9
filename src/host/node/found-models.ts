// The models in a folder of models, or in the hub's cache, with what their files tell without their weights.

import type { Stats } from 'node:fs';
import { lstat, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openDiskFolder } from '../../files/disk/source-disk.ts';
import { ggufSets, isGgufName, setOf } from '../../files/gguf/file-names.ts';
import type { Env } from '../../files/hub/hub-env.ts';
import type { ModelKind } from '../../options/setting.ts';
import { listModels } from './hub-models.ts';

export interface FoundModel {
  /**
   * The name of its folder or file, or owner/name; `:TAG` follows where a folder has several quantizations. Files that would have the name of
   * another model have their full names in its place.
   */
  name: string;
  /** What it is opened by: a path, or an id of the hub whose files are in the cache. */
  model: string;
  kind: ModelKind;
  /** Bytes on disk. */
  bytes: number;
  /** The class that its configuration names; null: none. */
  architecture: string | null;
  /** Tokens that it was made for; null: unknown, or it reads none. */
  contextLength: number | null;
  /** Whether an image model draws clips unless a request says otherwise, as far as its files or its name tell. */
  drawsClips: boolean;
}

type Place = Pick<FoundModel, 'name' | 'model' | 'bytes'> & {
  /** A name that says which file it is; that of a folder is its name. */
  fullName: string;
  /** The files, as openDiskFolder takes them. */
  path: string;
  /** Changes where the files do. */
  stamp: string;
};

/** Files by which a folder shows that it is a model. */
const SIGNS = ['config.json', 'model_index.json', 'modules.json'];

type Facts = Pick<FoundModel, 'kind' | 'architecture' | 'contextLength' | 'drawsClips'>;

/** What was read of files, by their stamps. */
const known = new Map<string, Facts>();

/**
 * Finds the models in a folder: subfolders with a model as `modelPath` takes it, .gguf files, image models in one .safetensors file, and the same
 * one level deeper as owner/name. Names that begin with a dot are skipped. Sorted by name. Errors: model_not_found where there is no such folder.
 */
export async function findModels(folder: string): Promise<FoundModel[]> {
  // Throws for a folder that is not there.
  await openDiskFolder(folder);
  return withFacts(await placesIn(folder, '', 1));
}

/** Finds the complete models in the hub's cache, by their ids. `env` replaces process.env; `byPath`: they are opened by their paths. */
export async function findCachedModels({
  env,
  byPath = false,
}: { env?: Env; byPath?: boolean } = {}): Promise<FoundModel[]> {
  const places: Place[] = [];
  for (const { id, revisions } of await listModels(env ? { env } : {})) {
    const revision = revisions.find(({ complete, refs }) => complete && refs.includes('main'));
    if (!revision) continue;
    for (const place of await modelsOf(revision.path, id, await filesOf(revision.path)))
      places.push(byPath ? place : { ...place, model: place.name });
  }
  return withFacts(places);
}

/** Removes the files of a model that findModels found. Errors: those of the file system. */
export async function removeFound({ model }: Pick<FoundModel, 'model'>): Promise<void> {
  const found = await lstat(model);
  // Links to files are removed, those of all parts, and not what they lead to.
  const isFile = found.isSymbolicLink() ? await leadsToFile(model) : found.isFile();
  if (!isFile) return rm(model, { recursive: true });
  const { names } = setOf(basename(model), await readdir(dirname(model)));
  for (const name of names) await rm(join(dirname(model), name));
}

const leadsToFile = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => null))?.isFile() ?? false;

/** Gives files that share a name with another model their longer one. */
function withOwnNames(places: readonly Place[]): Place[] {
  const count = new Map<string, number>();
  for (const { name } of places) count.set(name, (count.get(name) ?? 0) + 1);
  return places.map((place) => (count.get(place.name)! > 1 ? { ...place, name: place.fullName } : place));
}

async function withFacts(places: readonly Place[]): Promise<FoundModel[]> {
  const found = await Promise.all(
    withOwnNames(places).map(async ({ path, stamp, name, model, bytes }) => ({
      name,
      model,
      bytes,
      ...(await factsOf(path, stamp)),
    })),
  );
  return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** `deeper`: levels of folders below this one that are searched. */
async function placesIn(folder: string, owner: string, deeper: number): Promise<Place[]> {
  const places = [...(await singleFiles(folder, owner))];
  for (const entry of await entriesOf(folder)) {
    if (!entry.isDirectory()) continue;
    const path = join(folder, entry.name);
    const name = `${owner}${entry.name}`;
    const files = await filesOf(path);
    const isModel = SIGNS.some((sign) => files.has(sign)) || ggufSets([...files.keys()]).length > 0;
    if (isModel) places.push(...(await modelsOf(path, name, files)));
    else if (isOneFile(files)) places.push(await placeOf(name, path, files));
    else if (deeper > 0) places.push(...(await placesIn(path, `${name}/`, deeper - 1)));
  }
  return places;
}

const isOneFile = (files: ReadonlyMap<string, Stats>): boolean =>
  [...files.keys()].filter((file) => /\.safetensors$/i.test(file)).length === 1;

/** Models of a folder, each in a file of its own. */
async function singleFiles(folder: string, owner: string): Promise<Place[]> {
  const files = await filesOf(folder);
  const names = [...files.keys()];
  const places = ggufSets(names).map(({ names: parts }) => {
    const name = `${owner}${parts[0]!.replace(/(-\d{5}-of-\d{5})?\.gguf$/i, '')}`;
    return placeOf(name, join(folder, parts[0]!), only(files, parts), `${owner}${parts[0]!}`);
  });
  for (const file of names.filter((one) => /\.safetensors$/i.test(one)))
    places.push(
      placeOf(
        `${owner}${file.replace(/\.safetensors$/i, '')}`,
        join(folder, file),
        only(files, [file]),
        `${owner}${file}`,
      ),
    );
  return Promise.all(places);
}

/** A model in a folder, or of several quantizations as GGUF files each. */
async function modelsOf(path: string, name: string, files: ReadonlyMap<string, Stats>): Promise<Place[]> {
  const sets = ggufSets([...files.keys()]);
  const isPlain =
    [...files.keys()].some((file) => /\.safetensors$/i.test(file)) || files.has('model_index.json');
  if (isPlain || sets.length === 0) return [await placeOf(name, path, files)];
  return Promise.all(
    sets.map(({ tag, names: parts }) => {
      const suffix = sets.length > 1 ? `:${tag ?? parts[0]!}` : '';
      const fullName = sets.length > 1 ? `${name}:${parts[0]!}` : name;
      return placeOf(`${name}${suffix}`, join(path, parts[0]!), only(files, parts), fullName);
    }),
  );
}

async function placeOf(
  name: string,
  path: string,
  files: ReadonlyMap<string, Stats>,
  fullName = name,
): Promise<Place> {
  const all = files.has('model_index.json') ? await filesBelow(path) : [...files.values()];
  const bytes = all.reduce((sum, { size }) => sum + size, 0);
  const latest = Math.max(0, ...all.map(({ mtimeMs }) => mtimeMs));
  return { name, fullName, model: path, path, bytes, stamp: `${path} ${bytes} ${latest}` };
}

function only(files: ReadonlyMap<string, Stats>, names: readonly string[]): ReadonlyMap<string, Stats> {
  return new Map([...files].filter(([name]) => names.includes(name)));
}

async function entriesOf(folder: string) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const isLink = entries.filter((entry) => entry.isSymbolicLink());
  const folders = new Set<string>();
  for (const { name } of isLink)
    if ((await stat(join(folder, name)).catch(() => null))?.isDirectory()) folders.add(name);
  return entries
    .filter(({ name }) => !name.startsWith('.'))
    .map((entry) => ({
      name: entry.name,
      isDirectory: () => entry.isDirectory() || folders.has(entry.name),
    }));
}

/** The files that lie loose in a folder, by name; links count as what they lead to. */
async function filesOf(folder: string): Promise<Map<string, Stats>> {
  const files = new Map<string, Stats>();
  for (const name of await readdir(folder).catch((): string[] => [])) {
    const found = name.startsWith('.') ? null : await stat(join(folder, name)).catch(() => null);
    if (found?.isFile()) files.set(name, found);
  }
  return files;
}

async function filesBelow(folder: string): Promise<Stats[]> {
  const own = [...(await filesOf(folder)).values()];
  const folders = (await entriesOf(folder)).filter((entry) => entry.isDirectory());
  const below = await Promise.all(folders.map(({ name }) => filesBelow(join(folder, name))));
  return [...own, ...below.flat()];
}

/** What files tell without weights; a model whose files cannot be read is listed, and says why when it is opened. */
async function factsOf(path: string, stamp: string): Promise<Facts> {
  const before = known.get(stamp);
  if (before) return before;
  const { readFacts } = await import('../model-facts.ts');
  const fallback = isGgufName(path) || !/\.safetensors$/i.test(path) ? 'text' : 'image';
  const facts = await openDiskFolder(path)
    .then((folder) => readFacts(folder))
    .catch((): Facts => ({ kind: fallback, architecture: null, contextLength: null, drawsClips: false }));
  known.set(stamp, facts);
  return facts;
}
