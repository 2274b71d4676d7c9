// Files that requests name by file: URLs: regular files below one folder, symbolic links resolved.

import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ByteBudget } from './byte-budget.ts';
import type { MediaSource } from './media-source.ts';
import { mediaOption } from '../../options/names.ts';

/** Throws RequestError. What lies outside the folder is refused with one message, whether it exists or not. */
export async function fileBytes(
  url: URL,
  source: MediaSource,
  { allowed, budget, signal }: { allowed: string | undefined; budget: ByteBudget; signal: AbortSignal },
): Promise<Uint8Array> {
  if (allowed === undefined)
    throw source.error(
      `is a file of the server, which reads none without ${mediaOption('allowedMediaPath')}; send a data: URI`,
    );
  const path = await pathWithin(url, allowed);
  if (path === null)
    throw source.error(
      `names no file below the folder of ${mediaOption('allowedMediaPath')}; send one of those, or a data: URI`,
    );
  // Opening a named pipe would wait for its writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => {
    throw source.error('is a file that cannot be read; check its permissions');
  });
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw source.error('is not a regular file; send one');
    budget.take(stat.size, source);
    // The signal ends long reads; a file that grows meanwhile is read up to the size that was counted.
    signal.throwIfAborted();
    const bytes = new Uint8Array(stat.size);
    const { bytesRead } = await file.read(bytes, 0, stat.size, 0);
    signal.throwIfAborted();
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function pathWithin(url: URL, allowed: string): Promise<string | null> {
  try {
    const [folder, path] = await Promise.all([realpath(allowed), realpath(fileURLToPath(url))]);
    return path.startsWith(folder.endsWith(sep) ? folder : folder + sep) ? path : null;
  } catch {
    return null;
  }
}
