// Resolves the id of a model to the path of its snapshot in a cache, and downloads what is missing. Repeated calls download only
// changes; an interrupted call is resumed.
import { EngineError, modelNotFound, networkError } from '../error.ts';
import type { PipelineFolders } from '../pipeline/pipeline-classes.ts';
import { cachedFile, cachedSnapshot, type ModelCache } from './hub-cache.ts';
import type { OnHubEvent } from './hub-events.ts';
import { fetchListing, type Inspect, type OnFiles } from './hub-fetch.ts';
import { cachedGguf, ggufFiles, namedFile, type TaggedModel } from './hub-gguf.ts';
import { HUB_LIMITS, throwIfCancelled, type HubLimits, type Session } from './hub-http.ts';
import { checkId, checkRevision } from './hub-id.ts';
import { nearestModel } from './hub-nearest.ts';
import { selectFiles, singleFile } from './hub-select.ts';
import type { HubSource, Listing } from './hub-source.ts';

export interface HubOptions {
  /** A branch, tag or commit; the hub's main branch if absent. */
  revision?: string;
  onProgress?: OnHubEvent;
  /** Cancels the download; bytes that have arrived are kept. */
  signal?: AbortSignal;
  /** Component of a pipeline to fetch; default: the whole model. */
  component?: string;
  /** Replaces the choice of files (configuration, tokenizer, safetensors). */
  allow?: (path: string) => boolean;
  /**
   * Called with the folder when everything but the weights has been downloaded, and with the names of all files, including the
   * repository's Python files, which are never downloaded. An exception cancels the download.
   */
  inspect?: Inspect;
  onFiles?: OnFiles;
  /** Bytes that weights may have where a repository's GGUF files give the choice; default: any number. */
  mostBytes?: number;
  /** Whether a model may be one file: of several files without model_index.json and config.json, one must be named. */
  singleFiles?: boolean;
  /** Components of pipelines; left out: none is known. */
  pipelines?: PipelineFolders;
  limits?: Partial<HubLimits>;
}

export interface ResolvedModel {
  /** The folder, or the file that was given. */
  path: string;
  id: string;
  /** The commit; null for a model outside of the cache. */
  revision: string | null;
}

/**
 * Finds a model of a hub, and downloads it into `cache` if necessary. Errors: model_not_found (also for an invalid name), bad_request
 * (the revision), unsupported (no safetensors), network, disk_full, bad_checkpoint (damaged twice), cancelled.
 */
export async function resolveFromHub(
  { id, tag, file }: TaggedModel,
  { source, cache }: { source: HubSource; cache: ModelCache },
  options: HubOptions,
): Promise<ResolvedModel> {
  await checkId(id, cache);
  const revision = checkRevision(options.revision || source.defaultRevision);
  const repo = cache.repo(id);
  const onEvent = options.onProgress ?? (() => {});
  const session = sessionOf(source, options);
  throwIfCancelled(session.signal);

  const named = file === undefined ? null : await cachedFile(repo, revision, file);
  const gguf = options.allow || file !== undefined ? null : await cachedGguf(repo, revision, { id, tag });
  const cached =
    named ??
    gguf ??
    (tag === null && file === undefined
      ? await cachedSnapshot(repo, revision, options.component, options.pipelines)
      : null);
  // A commit never changes, so a complete copy needs no request to the hub.
  const isSettled = cached !== null && cached.commit === revision && !options.allow;
  if (cached && (isSettled || source.offline)) return { path: cached.path, id, revision: cached.commit };
  if (source.offline) {
    throw modelNotFound(
      `${id} at ${revision} is not complete in ${cache.place} and ${source.offline} forbids fetching it; unset ${source.offline} once`,
    );
  }
  let listing: Listing;
  try {
    listing = await listUnlessCached(source, session, id, revision, cached !== null);
  } catch (error) {
    if (!(cached && error instanceof EngineError && error.code === 'network'))
      throw await withHint(error, id, source, cache);
    onEvent({ type: 'offline', id, revision: cached.commit, reason: error.message });
    return { path: cached.path, id, revision: cached.commit };
  }
  const plan = {
    source,
    cache,
    repo,
    session,
    id,
    revision,
    listing,
    onEvent,
    inspect: options.inspect,
    onFiles: options.onFiles,
  };
  const quantized =
    file === undefined ? ggufFiles(id, tag, listing.files, options) : namedFile(id, file, listing.files);
  const chosen = quantized ?? selectFiles(id, listing, options);
  const single = quantized?.[0] ?? (options.singleFiles ? singleFile(chosen) : null);
  try {
    const path = await fetchListing(plan, chosen);
    return { path: single ? `${path}/${single.path}` : path, id, revision: listing.commit };
  } catch (error) {
    throw await cache.errorOf(error, id);
  }
}

/** Settings of all requests to a hub. */
export function sessionOf(
  source: HubSource,
  { limits, signal, onProgress = () => {} }: Pick<HubOptions, 'limits' | 'signal' | 'onProgress'>,
): Session {
  return {
    limits: { ...HUB_LIMITS, ...limits },
    signal,
    inPage: source.inPage,
    credentials: { origin: new URL(source.endpoint).origin, headers: source.credentials },
    onRetry: (path, reason, attempt, waitMs) => onProgress({ type: 'retry', path, reason, attempt, waitMs }),
  };
}

/** Adds a suggestion to an error: a misspelt id is often similar to a cached one, and without a network a folder can be used. */
export async function withHint(
  error: unknown,
  id: string,
  source: HubSource,
  cache: ModelCache,
): Promise<unknown> {
  if (!(error instanceof EngineError)) return error;
  if (error.code === 'network' && error.param === 'endpoint') {
    return networkError(`${error.message}: ${source.unreachableRemedy(id)}`, 'endpoint', error);
  }
  if (error.code !== 'model_not_found' || error.param !== 'model') return error;
  const near = await nearestModel(id, cache);
  return near === null || near === id
    ? error
    : modelNotFound(`${error.message}; did you mean ${near}`, 'model');
}

/** Lists the model on the hub; gives up soon if the cache holds a copy. */
function listUnlessCached(
  source: HubSource,
  session: Session,
  id: string,
  revision: string,
  isCached: boolean,
): Promise<Listing> {
  const limits = isCached ? { ...session.limits, attempts: 2 } : session.limits;
  return source.list({ ...session, limits }, id, revision);
}
