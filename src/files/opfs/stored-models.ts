// Removes stored models.

import { badRequest, modelNotFound } from '../error.ts';
import { ggufSets, hasTag, isRest } from '../gguf/file-names.ts';
import { checkCached } from '../hub/cached-models.ts';
import type { RemovedModel } from '../hub/hub-cache.ts';
import { splitRemoved } from '../hub/hub-gguf.ts';
import { pause } from '../hub/hub-http.ts';
import { modelKey, type OpfsCache, type OpfsRepo } from './opfs-cache.ts';
import type { StorageUse } from './use.ts';

/**
 * Removes a model, one revision of it or one quantization of its GGUF files (owner/name:Q4_K_M). Errors: model_not_found; bad_request
 * while a tab uses or fetches it.
 */
export async function removeStored(
  cache: OpfsCache,
  use: StorageUse,
  model: string,
  revision?: string,
): Promise<RemovedModel> {
  const { id, tag } = splitRemoved(model);
  await checkCached(id, cache, 'stored');
  const repo = cache.repo(id);
  let freed = 0;
  const removed = await onceUnused(use, modelKey(id), async () => {
    const before = await repo.bytes();
    if (tag !== null || revision !== undefined) await removePart(repo, tag, revision);
    const isEmpty = (await repo.record()).snapshots.size === 0;
    if (isEmpty || (tag === null && revision === undefined)) await cache.remove(id);
    else await repo.removeUnused();
    freed = before - (await repo.bytes());
  });
  if (!removed) throw badRequest(`${id} is in use by this page or another tab; close the model first`);
  if (!(await cache.ids()).includes(id)) await use.forget(modelKey(id));
  return { id: model, bytes: freed };
}

/** Milliseconds in which a browser gives back the locks of a worker that was terminated, as that of a model that was just closed. */
const RELEASE_TIME = 500;
const POLL_TIME = 50;

/** Runs `action` as soon as nothing holds `key`; returns whether it ran. */
async function onceUnused(use: StorageUse, key: string, action: () => Promise<void>): Promise<boolean> {
  for (let waited = 0; ; waited += POLL_TIME) {
    if (await use.whileUnused(key, action)) return true;
    if (waited >= RELEASE_TIME) return false;
    await pause(POLL_TIME, undefined);
  }
}

/** Takes a quantization, or a revision, out of the record. */
async function removePart(repo: OpfsRepo, tag: string | null, revision: string | undefined): Promise<void> {
  const { refs, snapshots } = await repo.record();
  const commit = revision === undefined ? undefined : (refs.get(revision) ?? revision);
  if (commit !== undefined && !snapshots.has(commit)) {
    throw modelNotFound(
      `${repo.id} has no revision '${revision}' in the browser's storage; it has ${[...refs.keys(), ...snapshots.keys()].join(', ')}`,
      'revision',
    );
  }
  const commits = commit === undefined ? [...snapshots.keys()] : [commit];
  const names = new Map(
    commits.map((one) => [one, tag === null ? null : namesWith(tag, snapshots.get(one)!)]),
  );
  if (tag !== null && [...names.values()].every((paths) => paths!.length === 0)) {
    throw modelNotFound(`${repo.id} has no GGUF file of ${tag} in the browser's storage`, 'model');
  }
  await repo.update((record) => {
    for (const [one, paths] of names) {
      const files = record.snapshots.get(one);
      for (const path of paths ?? files?.keys() ?? []) files?.delete(path);
      if (files === undefined || !isRest([...files.keys()])) continue;
      record.snapshots.delete(one);
      for (const [ref, target] of record.refs) if (target === one) record.refs.delete(ref);
    }
  });
}

function namesWith(tag: string, files: ReadonlyMap<string, unknown>): readonly string[] {
  return ggufSets([...files.keys()])
    .filter((set) => hasTag(set, tag))
    .flatMap(({ names }) => names);
}
