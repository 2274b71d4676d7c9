// Writes files of images and clips, and folders of frames, atomically: each is written under a temporary name in the same folder and then
// linked or renamed.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { link, lstat, mkdir, open, readdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { badRequest, EngineError } from '../../files/error.ts';

const TEMPORARY = /^\..+\.[0-9a-f]{12}\.part$/;
/** Age from which a temporary file is considered left over from a killed run; writing takes far less. */
const LEFTOVER_AGE_MS = 3_600_000;
/** Error codes of file systems without hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EACCES'];

/** Creates the file `path`; returns false if the name is taken. */
export async function saveNew(path: string, bytes: Uint8Array): Promise<boolean> {
  return withTemporary(path, bytes, async (temporary) => {
    try {
      // Unlike a rename, a link never replaces an existing file.
      await link(temporary, path);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      if (!NO_LINKS.includes(codeOf(error))) throw error;
    }
    return claimAndRename(temporary, path);
  });
}

/** Creates the folder `path` with what `write` puts into it; returns false if the name is taken. */
export async function saveNewFolder(
  path: string,
  write: (folder: string) => Promise<void>,
): Promise<boolean> {
  if (await isThere(path)) return false;
  const temporary = temporaryBeside(path);
  try {
    await mkdir(temporary);
    await write(temporary);
    await rename(temporary, path);
    return true;
  } catch (error) {
    // Another process took the name meanwhile: a folder with files is not replaced.
    if (['EEXIST', 'ENOTEMPTY', 'ENOTDIR', 'EPERM'].includes(codeOf(error)) && (await isThere(path)))
      return false;
    throw error instanceof EngineError ? error : unwritable(path, error);
  } finally {
    await rm(temporary, { force: true, recursive: true });
  }
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Creates or replaces the file `path`. A symbolic link is followed; a device or pipe is written to. */
export async function saveOver(path: string, bytes: Uint8Array): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const isFile = await stat(target).then(
    (info) => info.isFile(),
    () => true,
  );
  if (isFile) return withTemporary(target, bytes, (temporary) => rename(temporary, target));
  await writeFile(target, bytes).catch((error) => {
    throw unwritable(path, error);
  });
}

/**
 * Creates a folder and its parents. Node's recursive mkdir never ends on file systems such as /proc, which refuse a new folder with
 * the error that its parent is missing.
 */
export async function makeFolder(path: string): Promise<void> {
  const folder = resolve(path);
  const isThere = await stat(folder).then(
    (info) => info.isDirectory(),
    () => false,
  );
  if (isThere) return;
  if (dirname(folder) !== folder) await makeFolder(dirname(folder));
  try {
    await mkdir(folder);
  } catch (error) {
    // Another process may have created the folder first.
    const info = await stat(folder).catch(() => null);
    if (codeOf(error) !== 'EEXIST' || info?.isDirectory() !== true) throw unwritable(path, error);
  }
}

/** Whether a file can be created in a folder, tested by creating one: permissions alone do not decide it on every file system. */
export function takesFiles(folder: string): boolean {
  try {
    rmdirSync(mkdtempSync(join(folder, '.svc-')));
    return true;
  } catch {
    return false;
  }
}

/** Removes temporary files and folders that a killed run left in `folder`. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!TEMPORARY.test(name)) continue;
    const info = await stat(join(folder, name)).catch(() => null);
    if (info !== null && Date.now() - info.mtimeMs > LEFTOVER_AGE_MS) {
      await rm(join(folder, name), { force: true, recursive: true });
    }
  }
}

/** The temporary name is short because the final name may already have the maximum length. */
const temporaryBeside = (path: string): string =>
  join(dirname(path), `.svc.${randomBytes(6).toString('hex')}.part`);

async function withTemporary<T>(
  path: string,
  bytes: Uint8Array,
  place: (temporary: string) => Promise<T>,
): Promise<T> {
  const temporary = temporaryBeside(path);
  try {
    await writeFile(temporary, bytes, { flag: 'wx' });
    return await place(temporary);
  } catch (error) {
    throw unwritable(path, error);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Fallback without hard links: an empty file reserves the name, then the image replaces it. */
async function claimAndRename(temporary: string, path: string): Promise<boolean> {
  try {
    await (await open(path, 'wx')).close();
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    await rename(temporary, path);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  return true;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function unwritable(path: string, cause: unknown): EngineError {
  const code = codeOf(cause);
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? new EngineError('disk_full', `no space is left for ${path}: free some, or name another folder`, {
        cause,
      })
    : badRequest(
        `${path} cannot be written (${code || String(cause)}): name another folder`,
        undefined,
        cause,
      );
}
