// Resolves a model's name to a folder: a path is used unchanged; an id is looked up in the cache, and missing files are downloaded
// from the hub. Repeated calls download only changes; an interrupted call is resumed.
import { join } from 'node:path';
import { EngineError } from '../error.ts';
import { cachedSnapshot, linkFile, repoCache, sizeOf, writeRef, type RepoCache } from './hub-cache.ts';
import { downloadBlob, diskError, incompletePath, prepareDisk } from './hub-download.ts';
import { openHub, type Env } from './hub-env.ts';
import { percentOf, trackProgress, type OnHubEvent } from './hub-events.ts';
import { HUB_LIMITS, throwIfCancelled, type HubLimits, type Session } from './hub-http.ts';
import { checkId, checkRevision } from './hub-id.ts';
import { cachedGguf, ggufFiles, localPath, splitTag } from './hub-gguf.ts';
import { nearestModel } from './hub-list.ts';
import { makeSlots } from './hub-parts.ts';
import { openRemote } from './hub-remote.ts';
import { isWeights, selectFiles } from './hub-select.ts';
import type { HubSource, KnownFile, Listing } from './hub-source.ts';
import type { PipelineFolders } from '../pipeline/pipeline-classes.ts';
import { shippedFolder } from '../shipped.ts';
import type { ByteSource } from '../source.ts';

export type { HubEvent } from './hub-events.ts';

/** `open` reads a file on the hub that is not downloaded yet. */
type Inspect = (
  path: string,
  files: readonly string[],
  open: (name: string) => Promise<ByteSource>,
) => Promise<void>;

export interface ResolveOptions {
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
  /** Bytes that weights may have where a repository's GGUF files give the choice; default: any number. */
  mostBytes?: number;
  /** Whether GGUF files do not do: those of image models are not read. */
  safetensorsOnly?: boolean;
  /** Components of pipelines; left out: none is known. */
  pipelines?: PipelineFolders;
  /** Replaces process.env. */
  env?: Env;
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
 * Finds a model and downloads it if necessary. An existing path takes precedence over an id of the same name; shipped models are
 * found by name. Errors: model_not_found (also for an invalid name), bad_request (the revision), unsupported (no safetensors),
 * network, disk_full, bad_checkpoint (damaged twice), cancelled.
 */
export async function resolveModel(idOrPath: string, options: ResolveOptions = {}): Promise<ResolvedModel> {
  const local = await localPath(idOrPath);
  if (local !== null) return { path: local, id: idOrPath, revision: null };
  const { id, tag } = splitTag(idOrPath);
  const shipped = shippedFolder(id);
  if (shipped !== null) return { path: shipped, id, revision: null };
  const source = await openHub(options.env ?? process.env);
  await checkId(id, source);
  const revision = checkRevision(options.revision || source.defaultRevision);
  const repo = repoCache(source.cache, id);
  const onEvent = options.onProgress ?? (() => {});
  const session = sessionOf(source, options);
  throwIfCancelled(session.signal);

  const noGguf = options.allow !== undefined || options.safetensorsOnly === true;
  const gguf = noGguf ? null : await cachedGguf(repo, revision, { id, tag });
  const cached =
    gguf ??
    (tag === null ? await cachedSnapshot(repo, revision, options.component, options.pipelines) : null);
  // A commit never changes, so a complete copy needs no request to the hub.
  const isSettled = cached !== null && cached.commit === revision && !options.allow;
  if (cached && (isSettled || source.offline)) return { path: cached.path, id, revision: cached.commit };
  if (source.offline) {
    throw new EngineError(
      'model_not_found',
      `${id} at ${revision} is not complete in ${source.cache} and ${source.offline} forbids fetching it; unset ${source.offline} once`,
    );
  }
  let listing: Listing;
  try {
    listing = await listUnlessCached(source, session, id, revision, cached !== null);
  } catch (error) {
    if (!(cached && error instanceof EngineError && error.code === 'network'))
      throw await withHint(error, id, source, options.env ?? process.env);
    onEvent({ type: 'offline', id, revision: cached.commit, reason: error.message });
    return { path: cached.path, id, revision: cached.commit };
  }
  const plan = { source, repo, session, id, revision, listing, onEvent, inspect: options.inspect };
  const quantized = ggufFiles(id, tag, listing.files, options);
  const chosen = quantized ?? selectFiles(id, listing, options);
  try {
    const path = await fetchListing(plan, chosen);
    return { path: quantized ? join(path, quantized[0]!.path) : path, id, revision: listing.commit };
  } catch (error) {
    throw diskError(error, plan);
  }
}

/** Settings of all requests to a hub. */
export function sessionOf(
  source: HubSource,
  { limits, signal, onProgress = () => {} }: Pick<ResolveOptions, 'limits' | 'signal' | 'onProgress'>,
): Session {
  return {
    limits: { ...HUB_LIMITS, ...limits },
    signal,
    credentials: { origin: new URL(source.endpoint).origin, headers: source.credentials },
    onRetry: (path, reason, attempt, waitMs) => onProgress({ type: 'retry', path, reason, attempt, waitMs }),
  };
}

const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'];

/** Adds a suggestion to an error: a misspelt id is often similar to a cached one, and without a network a folder can be used. */
export async function withHint(error: unknown, id: string, source: HubSource, env: Env): Promise<unknown> {
  if (!(error instanceof EngineError)) return error;
  if (error.code === 'network' && error.param === 'endpoint') {
    const remedy = `check the network, give the folder of a checkpoint instead of ${id}, or set ${source.endpointVariable} to a mirror; HF_HUB_OFFLINE=1 takes only what is cached`;
    const proxy = PROXIES.find((name) => env[name] && env['NODE_USE_ENV_PROXY'] !== '1');
    const proxied = proxy
      ? `; ${proxy} is heeded with NODE_USE_ENV_PROXY=1, by Node 22.21 and 24 or later`
      : '';
    return new EngineError('network', `${error.message}: ${remedy}${proxied}`, {
      param: 'endpoint',
      cause: error,
    });
  }
  if (error.code !== 'model_not_found' || error.param !== 'model') return error;
  const near = await nearestModel(id, source);
  return near === null || near === id
    ? error
    : new EngineError('model_not_found', `${error.message}; did you mean ${near}`, { param: 'model' });
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

interface Plan {
  source: HubSource;
  repo: RepoCache;
  session: Session;
  id: string;
  revision: string;
  listing: Listing;
  onEvent: OnHubEvent;
  inspect: ResolveOptions['inspect'];
}

/** Downloads all chosen files into the cache and the snapshot; weights are linked only when the last file has arrived. */
async function fetchListing(plan: Plan, chosen: Listing['files']): Promise<string> {
  const { source, repo, session, id, revision, listing, onEvent } = plan;
  const { commit } = listing;
  const known = await inParallel(chosen, session, (file, inner) => source.describe(inner, id, commit, file));
  // Two files with the same content share a blob.
  const blobs = [...new Map(known.map((file) => [file.blob, file])).values()];
  const states = await Promise.all(blobs.map((file) => stateOf(repo, commit, file)));
  const wanted = states.filter(({ cached }) => !cached);

  const total = sum(blobs.map(({ size }) => size));
  const received = sum(states.map(({ have }) => have));
  const percent = percentOf(received, total);
  onEvent({ type: 'start', id, revision: commit, files: known.length, received, total, percent });
  const partial = wanted.filter(({ have }) => have > 0);
  if (partial.length > 0 || (wanted.length > 0 && received > 0)) {
    const files = partial.map(({ file, have }) => ({ path: file.path, received: have, size: file.size }));
    onEvent({ type: 'resume', id, files, percent });
  }
  const path = join(repo.snapshots, commit);
  const link = async (files: KnownFile[]): Promise<void> => {
    for (const file of files) await linkFile(repo, commit, file.path, file.blob, source.symlinks);
  };
  const fetched = await fetchMissing(plan, states, total, async () => {
    if (!plan.inspect) return;
    await link(known.filter((file) => !isWeights(file.path)));
    const code = listing.files.filter((file) => file.path.endsWith('.py'));
    await plan.inspect(
      path,
      [...known, ...code].map((file) => file.path),
      (name) => openRemote(plan, known, name),
    );
  });
  await link(known);
  await writeRef(repo, revision, commit);
  onEvent({ type: 'done', id, revision: commit, path, fetched });
  return path;
}

/** Downloads files that are not in the cache; returns the number of bytes received over the network. */
async function fetchMissing(
  plan: Plan,
  states: FileState[],
  total: number,
  inspect: () => Promise<void>,
): Promise<number> {
  const { source, session, id, revision, listing, onEvent } = plan;
  const progress = trackProgress(total, onEvent);
  try {
    for (const { file, have, cached } of states) {
      progress.set(file.path, have);
      if (cached) onEvent({ type: 'file', path: file.path, size: file.size, state: 'cached' });
    }
    const wanted = states.filter(({ cached }) => !cached);
    if (wanted.length === 0) return 0;
    await prepareDisk(plan, sum(wanted.map(({ file, have }) => file.size - have)));
    // Small files come first, because they show early whether the download works.
    const order = wanted.map(({ file }) => file).sort((a, b) => a.size - b.size);
    const slots = makeSlots(session.limits.connections);
    const fetch = (files: KnownFile[]) =>
      inParallel(files, session, (file, inner) => {
        const url = source.fileUrl(id, revision, listing.commit, file.path);
        return downloadBlob(file, url, { ...plan, session: inner, slots, progress });
      });
    const weights = order.filter(({ path }) => isWeights(path));
    await fetch(order.filter((file) => !weights.includes(file)));
    if (weights.length > 0) await inspect();
    await fetch(weights);
    return progress.fetched();
  } finally {
    progress.close();
  }
}

interface FileState {
  file: KnownFile;
  have: number;
  cached: boolean;
}

/** Returns how much of a file is on disk: as a blob, as a file in the snapshot (Python without links), or partially. */
async function stateOf(repo: RepoCache, commit: string, file: KnownFile): Promise<FileState> {
  const places = [join(repo.blobs, file.blob), join(repo.snapshots, commit, file.path)];
  for (const place of places)
    if ((await sizeOf(place)) === file.size) return { file, have: file.size, cached: true };
  const partial = (await sizeOf(incompletePath(repo, file.blob))) ?? 0;
  return { file, have: partial <= file.size ? partial : 0, cached: false };
}

/** Runs `work` on `limits.files` items at a time and returns the results in order. The first failure stops the others. */
async function inParallel<T, R>(
  items: T[],
  session: Session,
  work: (item: T, session: Session) => Promise<R>,
): Promise<R[]> {
  const stop = new AbortController();
  const signal = session.signal ? AbortSignal.any([session.signal, stop.signal]) : stop.signal;
  const results: R[] = [];
  const queue = items.entries();
  let failure: { error: unknown } | null = null;
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) {
      if (failure) return;
      try {
        results[index] = await work(item, { ...session, signal });
      } catch (error) {
        failure ??= { error };
        stop.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: session.limits.files }, worker));
  if (failure !== null) throw (failure as { error: unknown }).error;
  return results;
}

const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0);
