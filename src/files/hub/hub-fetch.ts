// Downloads the chosen files of a listing into the cache: settings first, and weights after `inspect` has seen them.
import type { ModelCache, RepoCache } from './hub-cache.ts';
import { downloadBlob } from './hub-download.ts';
import { percentOf, trackProgress, type OnHubEvent } from './hub-events.ts';
import type { Session } from './hub-http.ts';
import { makeSlots } from './hub-parts.ts';
import { openRemote } from './hub-remote.ts';
import { isWeights } from './hub-select.ts';
import type { HubSource, KnownFile, Listing } from './hub-source.ts';
import type { ByteSource } from '../source.ts';

/** Looks at a model before its weights are downloaded. `open` reads a file on the hub that is not downloaded yet. */
export type Inspect = (
  path: string,
  files: readonly string[],
  open: (name: string) => Promise<ByteSource>,
) => Promise<void>;

/** A file of a model on the hub. */
export interface DownloadFile {
  path: string;
  /** Bytes, and how many of them are on this machine. */
  size: number;
  received: number;
}

/** Called with the files of a model before they are downloaded; false: they are not. */
export type OnFiles = (files: DownloadFile[]) => boolean;

export interface FetchPlan {
  source: HubSource;
  cache: ModelCache;
  repo: RepoCache;
  session: Session;
  id: string;
  revision: string;
  listing: Listing;
  onEvent: OnHubEvent;
  inspect: Inspect | undefined;
  onFiles: OnFiles | undefined;
}

/** Downloads all chosen files into the cache and the snapshot; weights are linked only when the last file has arrived. */
export async function fetchListing(plan: FetchPlan, chosen: Listing['files']): Promise<string> {
  const { source, repo, session, id, revision, listing, onEvent } = plan;
  const { commit } = listing;
  const known = await inParallel(chosen, session, (file, inner) => source.describe(inner, id, commit, file));
  // Two files with the same content share a blob.
  const blobs = [...new Map(known.map((file) => [file.blob, file])).values()];
  const states = await Promise.all(blobs.map((file) => stateOf(repo, commit, file)));
  const wanted = states.filter(({ cached }) => !cached);
  const listed = states.map(({ file: { path, size }, have }) => ({ path, size, received: have }));
  if (plan.onFiles?.(listed) === false) return repo.pathOf(commit);

  const total = sum(blobs.map(({ size }) => size));
  const received = sum(states.map(({ have }) => have));
  const percent = percentOf(received, total);
  onEvent({ type: 'start', id, revision: commit, files: known.length, received, total, percent });
  const partial = wanted.filter(({ have }) => have > 0);
  if (partial.length > 0 || (wanted.length > 0 && received > 0)) {
    const files = partial.map(({ file, have }) => ({ path: file.path, received: have, size: file.size }));
    onEvent({ type: 'resume', id, files, percent });
  }
  const path = repo.pathOf(commit);
  const fetched = await fetchMissing(plan, states, total, async () => {
    if (!plan.inspect) return;
    await repo.link(
      commit,
      known.filter((file) => !isWeights(file.path)),
    );
    const code = listing.files.filter((file) => file.path.endsWith('.py'));
    await plan.inspect(
      path,
      [...known, ...code].map((file) => file.path),
      (name) => openRemote(plan, known, name),
    );
  });
  await repo.link(commit, known);
  await repo.writeRef(revision, commit);
  onEvent({ type: 'done', id, revision: commit, path, fetched });
  return path;
}

/** Downloads files that are not in the cache; returns the number of bytes received over the network. */
async function fetchMissing(
  plan: FetchPlan,
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
    await plan.repo.prepare(sum(wanted.map(({ file, have }) => file.size - have)));
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

/** Returns how much of a file is in the cache. */
async function stateOf(repo: RepoCache, commit: string, file: KnownFile): Promise<FileState> {
  if (await repo.has(commit, file)) return { file, have: file.size, cached: true };
  const partial = await repo.partialBytes(file.blob);
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
