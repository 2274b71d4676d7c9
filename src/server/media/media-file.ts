// Files that requests name by file: URLs: regular files below one folder, symbolic links resolved.

import { constants } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ByteBudget, type CheckHead, HEAD_BYTES, type MediaSource } from './media-source.ts';
import { mediaOption } from '../../options/names.ts';

interface FileReading {
  /** The folder whose files are read; undefined: none is. */
  allowed: string | undefined;
  budget: ByteBudget;
  signal: AbortSignal;
  checkHead?: CheckHead | undefined;
}

/** Throws RequestError. What lies outside the folder is refused with one message, whether it exists or not. */
export async function fileBytes(
  url: URL,
  source: MediaSource,
  { allowed, budget, signal, checkHead }: FileReading,
): Promise<Uint8Array> {
  if (allowed === undefined)
    throw source.error(
      `is a file of the server, which reads none without ${mediaOption('allowedMediaPath')}; start the server with the folder of the file there, or send a data: URI`,
    );
  // On Windows the path of such a URL is on the network, and resolving it would contact the host.
  if (url.host !== '')
    throw source.error(`names the host ${url.host}, of which no files are read; send file:///<path>`);
  const path = await pathWithin(url, allowed);
  const file = path === null ? null : await openReal(path, source);
  if (file === null)
    throw source.error(
      `names no file below the folder of ${mediaOption('allowedMediaPath')}; send one of those, or a data: URI`,
    );
  try {
    const info = await file.stat();
    if (!info.isFile()) throw source.error('is not a regular file; send one');
    if (checkHead) checkHead(source, await headOf(file));
    budget.take(info.size, source);
    return await readPieces(file, info.size, source, signal);
  } finally {
    await file.close();
  }
}

/** Opening a named pipe would wait for its writer. Not every platform refuses symbolic links. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | (constants.O_NOFOLLOW ?? 0);

/** Codes of a last name that is a symbolic link: Linux and macOS, and FreeBSD. */
const LINKED = new Set(['ELOOP', 'EMLINK']);

/**
 * Opens the file of a path without symbolic links; null if there is one in the path now: someone who writes in the folder may have put it
 * there after the path was resolved. Throws RequestError.
 */
export async function openReal(path: string, source: MediaSource): Promise<FileHandle | null> {
  const file = await open(path, FLAGS).catch((error: NodeJS.ErrnoException) => {
    if (LINKED.has(error.code ?? '')) return null;
    throw source.error('is a file that cannot be read; check its permissions');
  });
  if (file === null || (await isAt(path, file))) return file;
  await file.close();
  return null;
}

/** Whether a path still has no symbolic link, and names the open file: a link that was removed again has opened another one. */
async function isAt(path: string, file: FileHandle): Promise<boolean> {
  try {
    const [real, named, opened] = await Promise.all([realpath(path), stat(path), file.stat()]);
    return real === path && named.ino === opened.ino && named.dev === opened.dev;
  } catch {
    return false;
  }
}

async function headOf(file: FileHandle): Promise<Uint8Array> {
  const { buffer, bytesRead } = await file.read(new Uint8Array(HEAD_BYTES), 0, HEAD_BYTES, 0);
  return buffer.subarray(0, bytesRead);
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
