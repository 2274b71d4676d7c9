// Files that requests name by file: URLs: regular files below one folder, symbolic links resolved.

import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
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
      `is a file of the server, which reads none without ${mediaOption('allowedMediaPath')}; start the server with the folder of the file there, or send a data: URI`,
    );
  // On Windows the path of such a URL is on the network, and resolving it would contact the host.
  if (url.host !== '')
    throw source.error(`names the host ${url.host}, of which no files are read; send file:///<path>`);
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
    return await readPieces(file, stat.size, source, signal);
  } finally {
    await file.close();
  }
}

/** Bytes of one read, before which the signal is checked. */
const PIECE_BYTES = 2 ** 22;

/** Reads a file up to the size that was counted, also where it grows meanwhile. Throws RequestError, and the signal's reason if it aborts. */
async function readPieces(
  file: FileHandle,
  size: number,
  source: MediaSource,
  signal: AbortSignal,
): Promise<Uint8Array> {
  signal.throwIfAborted();
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size;) {
    const { bytesRead } = await file.read(bytes, at, Math.min(PIECE_BYTES, size - at), at);
    signal.throwIfAborted();
    if (bytesRead === 0) throw source.error('became shorter while it was read; send the request again');
    at += bytesRead;
  }
  return bytes;
}

async function pathWithin(url: URL, allowed: string): Promise<string | null> {
  try {
    const [folder, path] = await Promise.all([realpath(allowed), realpath(fileURLToPath(url))]);
    return path.startsWith(folder.endsWith(sep) ? folder : folder + sep) ? path : null;
  } catch {
    return null;
  }
}
