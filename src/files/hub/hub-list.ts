// Lists and removes models of the cache. Downloads of other programs in the same layout are listed too.
import { readdir, readlink, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { badRequest, modelNotFound } from '../error.ts';
import { shippedFolder } from '../shipped.ts';
import { ggufSets, hasTag, isRest } from '../gguf/file-names.ts';
import type { PipelineFolders } from '../pipeline/pipeline-classes.ts';
import { checkCached, describeModels } from './cached-models.ts';
import type { CachedModel, RemovedModel } from './hub-cache.ts';
import { DiskCache, listFiles, type DiskRepo } from './hub-disk.ts';
import { openHub, type Env } from './hub-env.ts';
import { splitRemoved } from './hub-gguf.ts';
import { lockHolder } from './hub-lock.ts';

export interface ListOptions {
  /** Replaces process.env. */
  env?: Env;
  /** Components of pipelines; left out: none is known. */
  pipelines?: PipelineFolders;
}

/** The models in the cache of the hub in use, by id. */
export async function listModels(options: ListOptions = {}): Promise<CachedModel[]> {
  return describeModels(new DiskCache(await openHub(options.env ?? process.env)), options.pipelines);
}

const namesIn = (dir: string): Promise<string[]> => readdir(dir).catch((): string[] => []);

/**
 * Removes a model, one revision of it (a branch, tag or commit) or one quantization of its GGUF files (owner/name:Q4_K_M) from the cache;
 * files that other revisions use stay. Accepts only names of cached models, never paths.
 */
export async function removeModel(
  model: string,
  options: { revision?: string; env?: Env } = {},
): Promise<RemovedModel> {
  const { id, tag } = splitRemoved(model);
  const cache = new DiskCache(await openHub(options.env ?? process.env));
  if (shippedFolder(id) !== null)
    throw modelNotFound(
      `'${id}' ships with the package and is not in the cache ${cache.place}: it is removed with the package`,
      'model',
    );
  await checkCached(id, cache, 'cached');
  const repo = cache.repo(id);
  await refuseIfBusy(repo, id);
  const before = await repo.bytes();
  if (tag !== null) {
    await removeGguf(repo, { id, tag }, options.revision);
    return { id: model, bytes: before - (await repo.bytes()) };
  }
  if (options.revision === undefined) {
    await rm(repo.path, { recursive: true });
    await rm(repo.locks, { recursive: true, force: true });
    return { id, bytes: before };
  }
  await removeRevision(repo, id, options.revision);
  return { id, bytes: before - (await repo.bytes()) };
}

async function removeRevision(repo: DiskRepo, id: string, revision: string): Promise<void> {
  const refs = await repo.refs();
  const commit = refs.get(revision) ?? revision;
  const commits = await repo.commits();
  if (!commits.includes(commit)) {
    throw modelNotFound(
      `${id} has no revision '${revision}' in the cache; it has ${[...refs.keys(), ...commits].join(', ')}`,
      'revision',
    );
  }
  await rm(join(repo.snapshots, commit), { recursive: true });
  for (const [name, target] of refs) if (target === commit) await rm(join(repo.refsFolder, name));
  await removeUnused(repo);
}

/** Removes the files of a quantization from the snapshot of a revision, or from all. */
async function removeGguf(
  repo: DiskRepo,
  { id, tag }: { id: string; tag: string },
  revision: string | undefined,
): Promise<void> {
  const refs = await repo.refs();
  const only = revision === undefined ? null : (refs.get(revision) ?? revision);
  const paths = (await listFiles(repo.snapshots)).filter(
    (path) => only === null || path.startsWith(`${only}/`),
  );
  const sets = ggufSets(paths);
  const removed = sets.filter((set) => hasTag(set, tag));
  if (removed.length === 0) {
    const tags = [...new Set(sets.flatMap((set) => set.tag ?? []))].join(', ') || 'none';
    throw modelNotFound(
      `${id} has no GGUF file of ${tag} in the cache; quantizations there: ${tags}`,
      'model',
    );
  }
  for (const path of removed.flatMap(({ names }) => names)) await rm(join(repo.snapshots, path));
  if (!isRest(await listFiles(repo.snapshots))) return removeUnused(repo);
  await rm(repo.path, { recursive: true });
  await rm(repo.locks, { recursive: true, force: true });
}

/** Removes the blobs that no snapshot refers to. */
async function removeUnused(repo: DiskRepo): Promise<void> {
  const used = new Set<string>();
  for (const path of await listFiles(repo.snapshots)) {
    used.add(basename(await readlink(join(repo.snapshots, path)).catch(() => '')));
  }
  for (const blob of await namesIn(repo.blobs)) {
    if (!used.has(blob)) await rm(join(repo.blobs, blob));
  }
}

async function refuseIfBusy(repo: DiskRepo, id: string): Promise<void> {
  for (const name of await namesIn(repo.locks)) {
    const holder = name.endsWith('.svc.lock') ? await lockHolder(join(repo.locks, name)) : null;
    if (holder !== null && holder !== 'dead') {
      throw badRequest(`${id} is being fetched by process ${holder.pid}; stop that first`);
    }
  }
}
