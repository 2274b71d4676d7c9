// Downloads one blob to the cache: resumes an earlier download, hashes the bytes, and renames the file when it is correct.
import { constants, createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, statfs } from 'node:fs/promises';
import { createHash, type Hash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { bytesText } from '../bytes-text.ts';
import { EngineError } from '../error.ts';
import { sizeOf, type RepoCache } from './hub-cache.ts';
import type { OnHubEvent, Progress } from './hub-events.ts';
import type { Session } from './hub-http.ts';
import { acquireLock } from './hub-lock.ts';
import { Corrupt, orderedBytes, Refused, type Slots } from './hub-parts.ts';
import { accessError, type HubSource, type KnownFile } from './hub-source.ts';
import { writeAll } from '../source-disk.ts';

export interface Download {
  source: HubSource;
  id: string;
  repo: RepoCache;
  session: Session;
  slots: Slots;
  progress: Progress;
  onEvent: OnHubEvent;
}

export const incompletePath = (repo: RepoCache, blob: string): string =>
  join(repo.blobs, `${blob}.incomplete`);

/** Downloads one file's blob into the cache. If another process is downloading it, waits for that process. */
export async function downloadBlob(file: KnownFile, url: string, download: Download): Promise<void> {
  const { repo, session, progress, onEvent } = download;
  const blob = join(repo.blobs, file.blob);
  const partial = incompletePath(repo, file.blob);
  let waited = false;
  const lock = await acquireLock(join(repo.locks, `${file.blob}.svc.lock`), session.signal, async (pid) => {
    if (!waited) onEvent({ type: 'wait', path: file.path, pid });
    waited = true;
    progress.set(file.path, (await sizeOf(partial)) ?? 0);
  });
  try {
    if ((await sizeOf(blob)) !== file.size) {
      onEvent({ type: 'file', path: file.path, size: file.size, state: 'started' });
      await fetchVerified(file, url, partial, download);
      await rename(partial, blob).catch(async (error: unknown) => {
        // Another process, which considered this one dead, completed the file first.
        if ((await sizeOf(blob)) !== file.size) throw error;
      });
    }
  } finally {
    await lock.release();
  }
  progress.set(file.path, file.size);
  onEvent({ type: 'file', path: file.path, size: file.size, state: 'done' });
}

/** A file that arrives damaged is downloaded once more from its start, and then refused by name. */
async function fetchVerified(
  file: KnownFile,
  url: string,
  partial: string,
  download: Download,
): Promise<void> {
  const { id, source, session } = download;
  for (let attempt = 1; ; attempt++) {
    try {
      await fetchToDisk(file, url, partial, download);
      return;
    } catch (error) {
      if (error instanceof Refused) {
        throw accessError(source, id, error.status, error.headers.get('x-error-code') === 'GatedRepo');
      }
      if (!(error instanceof Corrupt)) throw error;
      await rm(partial, { force: true });
      download.progress.set(file.path, 0);
      if (attempt === 2) {
        throw new EngineError(
          'bad_checkpoint',
          `${file.path} of ${id} arrived corrupt twice: ${error.message}; try again later, or another network or endpoint`,
          { param: file.path },
        );
      }
      session.onRetry(file.path, error.message, attempt, 0);
    }
  }
}

async function fetchToDisk(file: KnownFile, url: string, partial: string, download: Download): Promise<void> {
  const { session, slots, progress } = download;
  const hash = hasherOf(file);
  const handle = await open(partial, constants.O_RDWR | constants.O_CREAT);
  try {
    let at = (await handle.stat()).size;
    if (at > file.size) {
      await handle.truncate(0);
      at = 0;
    }
    progress.set(file.path, at);
    if (at > 0) await hashPrefix(partial, at, hash);
    const remote = { path: file.path, url, size: file.size };
    for await (const chunk of orderedBytes(remote, at, session, slots, (count) =>
      progress.add(file.path, count),
    )) {
      hash?.update(chunk);
      await writeAll(handle, chunk, at);
      at += chunk.length;
    }
    const { size } = await handle.stat();
    if (size !== file.size) throw new Corrupt(`it has ${size} bytes on disk instead of ${file.size}`);
    const digest = hash?.digest('hex');
    if (file.digest && digest !== file.digest.value) {
      throw new Corrupt(
        `its ${file.digest.kind === 'git' ? 'git id' : 'sha256'} is ${digest} instead of ${file.digest.value}`,
      );
    }
    // A finished blob is trusted by its name, so it must survive a power failure.
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

function hasherOf(file: KnownFile): Hash | null {
  if (file.digest?.kind === 'git') return createHash('sha1').update(`blob ${file.size}\0`);
  return file.digest ? createHash('sha256') : null;
}

async function hashPrefix(path: string, length: number, hash: Hash | null): Promise<void> {
  if (!hash) return;
  for await (const chunk of createReadStream(path, { end: length - 1, highWaterMark: 1 << 20 })) {
    hash.update(chunk as Buffer);
  }
}

const UNWRITABLE = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ENOENT']);

/** Converts errors of the disk to the product's; returns other errors unchanged. */
export function diskError(error: unknown, { id, source }: Pick<Download, 'id' | 'source'>): unknown {
  const code =
    error instanceof Error && 'code' in error && !(error instanceof EngineError) ? error.code : null;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new EngineError(
      'disk_full',
      `the disk ran full while fetching ${id} into ${source.cache}; free some space or point ${source.cacheVariable} at another disk`,
      { cause: error },
    );
  }
  if (typeof code === 'string' && UNWRITABLE.has(code)) {
    return new EngineError(
      'bad_request',
      `cannot write to the model cache ${source.cache} (${code}); point ${source.cacheVariable} at a folder that can be written`,
      { cause: error },
    );
  }
  return error;
}

/** Creates the folders and throws if the disk has too little space. */
export async function prepareDisk(
  download: Pick<Download, 'id' | 'source' | 'repo'>,
  need: number,
): Promise<void> {
  const { id, source, repo } = download;
  await mkdir(repo.blobs, { recursive: true });
  await mkdir(repo.snapshots, { recursive: true });
  const { bavail, bsize, blocks } = await statfs(dirname(repo.blobs));
  const free = bavail * bsize;
  // Some network file systems report no blocks at all.
  if (blocks > 0 && free < need) {
    throw new EngineError(
      'disk_full',
      `${id} needs ${bytesText(need)} more in ${source.cache}, where ${bytesText(free)} are free; free some space or point ${source.cacheVariable} at another disk`,
    );
  }
}
