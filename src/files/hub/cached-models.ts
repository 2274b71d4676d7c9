// The models of a cache, on disk or in a browser, as lists show them.

import { modelNotFound } from '../error.ts';
import { ggufSets } from '../gguf/file-names.ts';
import type { PipelineFolders } from '../pipeline/pipeline-classes.ts';
import {
  snapshotGaps,
  type CachedModel,
  type CachedRevision,
  type ModelCache,
  type RepoCache,
} from './hub-cache.ts';
import { nearestModel } from './hub-nearest.ts';

/** The models of a cache, by id. */
export async function describeModels(cache: ModelCache, folders?: PipelineFolders): Promise<CachedModel[]> {
  return Promise.all((await cache.ids()).map((id) => describeModel(cache.repo(id), folders)));
}

async function describeModel(repo: RepoCache, folders?: PipelineFolders): Promise<CachedModel> {
  const refs = await repo.refs();
  const revisions = await Promise.all(
    (await repo.commits()).map(async (commit): Promise<CachedRevision> => {
      const files = await repo.files(commit);
      const gaps = await snapshotGaps(files, (path) => repo.readJson(commit, path), folders);
      return {
        commit,
        refs: [...refs].filter(([, target]) => target === commit).map(([ref]) => ref),
        files: files.length,
        path: repo.pathOf(commit),
        quantizations: ggufSets(files.map(({ path }) => path)).flatMap(({ tag }) => tag ?? []),
        complete: gaps.length === 0,
      };
    }),
  );
  return {
    id: repo.id,
    revisions,
    bytes: await repo.bytes(),
    path: repo.path,
    files: Math.max(0, ...revisions.map(({ files }) => files)),
    complete: revisions.some(({ complete }) => complete),
  };
}

/** Throws model_not_found for an id that is not in the cache; `kind`: what its models are called. */
export async function checkCached(id: string, cache: ModelCache, kind: 'cached' | 'stored'): Promise<void> {
  if ((await cache.ids()).includes(id)) return;
  const near = await nearestModel(id, cache);
  const place = kind === 'cached' ? `the cache ${cache.place}` : cache.place;
  throw modelNotFound(
    `no model '${id}' in ${place}${near ? `; did you mean ${near}` : ''}; only ${kind} models can be removed, by their id`,
    'model',
  );
}
