// Downloads one blob into the cache: resumes an earlier download, hashes the bytes, and names the file when it is correct.
import { badCheckpoint } from '../error.ts';
import type { Hasher, ModelCache, PartialFile, RepoCache } from './hub-cache.ts';
import type { OnHubEvent, Progress } from './hub-events.ts';
import type { Session } from './hub-http.ts';
import { Corrupt, orderedBytes, Refused, type Slots } from './hub-parts.ts';
import { accessError, type HubSource, type KnownFile } from './hub-source.ts';

export interface Download {
  source: HubSource;
  cache: ModelCache;
  id: string;
  repo: RepoCache;
  session: Session;
  slots: Slots;
  progress: Progress;
  onEvent: OnHubEvent;
}

/** Downloads one file's blob into the cache. If another process or tab is downloading it, waits for that. */
export async function downloadBlob(file: KnownFile, url: string, download: Download): Promise<void> {
  const { repo, session, progress, onEvent } = download;
  let waited = false;
  const lock = await repo.lock(file.blob, session.signal, async (pid) => {
    if (!waited) onEvent({ type: 'wait', path: file.path, pid });
    waited = true;
    progress.set(file.path, await repo.partialBytes(file.blob));
  });
  try {
    if (!(await repo.hasBlob(file))) {
      onEvent({ type: 'file', path: file.path, size: file.size, state: 'started' });
      await fetchVerified(file, url, download);
      await repo.finish(file);
    }
  } finally {
    await lock.release();
  }
  progress.set(file.path, file.size);
  onEvent({ type: 'file', path: file.path, size: file.size, state: 'done' });
}

/** A file that arrives damaged is downloaded once more from its start, and then refused by name. */
async function fetchVerified(file: KnownFile, url: string, download: Download): Promise<void> {
  const { id, source, session, repo } = download;
  for (let attempt = 1; ; attempt++) {
    try {
      await fetchToCache(file, url, download);
      return;
    } catch (error) {
      if (error instanceof Refused) {
        throw accessError(source, id, error.status, error.headers.get('x-error-code') === 'GatedRepo');
      }
      if (!(error instanceof Corrupt)) throw error;
      await repo.removePartial(file.blob);
      download.progress.set(file.path, 0);
      if (attempt === 2) {
        throw badCheckpoint(
          `${file.path} of ${id} arrived corrupt twice: ${error.message}; try again later, or another network or endpoint`,
          file.path,
        );
      }
      session.onRetry(file.path, error.message, attempt, 0);
    }
  }
}

async function fetchToCache(file: KnownFile, url: string, download: Download): Promise<void> {
  const { session, slots, progress, repo, cache } = download;
  const hash = hasherOf(file, cache);
  const partial = await repo.openPartial(file.blob);
  try {
    let at = await partial.size();
    if (at > file.size) {
      await partial.empty();
      at = 0;
    }
    progress.set(file.path, at);
    if (hash && at > 0) await hashPrefix(partial, at, hash);
    const remote = { path: file.path, url, size: file.size };
    for await (const chunk of orderedBytes(remote, at, session, slots, (count) =>
      progress.add(file.path, count),
    )) {
      hash?.update(chunk);
      await partial.write(at, chunk);
      at += chunk.length;
    }
    const size = await partial.size();
    if (size !== file.size) throw new Corrupt(`it has ${size} bytes on disk instead of ${file.size}`);
    const digest = hash?.hex();
    if (file.digest && digest !== file.digest.value) {
      throw new Corrupt(
        `its ${file.digest.kind === 'git' ? 'git id' : 'sha256'} is ${digest} instead of ${file.digest.value}`,
      );
    }
    // A finished blob is trusted by its name, so it must survive a power failure.
    await partial.flush();
  } finally {
    await partial.close();
  }
}

/** A git id is the SHA-1 of a header and the content. */
function hasherOf(file: KnownFile, cache: ModelCache): Hasher | null {
  if (file.digest?.kind !== 'git') return file.digest ? cache.hasher('sha256') : null;
  const hash = cache.hasher('sha1');
  hash.update(new TextEncoder().encode(`blob ${file.size}\0`));
  return hash;
}

const HASH_BYTES = 1 << 20;

async function hashPrefix(partial: PartialFile, length: number, hash: Hasher): Promise<void> {
  const buffer = new Uint8Array(Math.min(HASH_BYTES, length));
  for (let at = 0; at < length; at += HASH_BYTES) {
    const bytes = buffer.subarray(0, Math.min(HASH_BYTES, length - at));
    await partial.readInto(at, bytes);
    hash.update(bytes);
  }
}
