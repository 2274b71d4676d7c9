// Images on disk: each is written under a temporary name beside its place and appears there whole or not at all.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { link, mkdir, open, readdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { EngineError } from '../index.ts';

const TEMPORARY = /^\..+\.[0-9a-f]{12}\.part$/;
/** No image takes so long to write: what is older belongs to a run that was killed. */
const LEFTOVER_AGE_MS = 3_600_000;
/** Error codes of file systems without hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EACCES'];

/** Makes the file `path`; false where that name is taken, by whoever came first. */
export async function saveNew(path: string, bytes: Uint8Array): Promise<boolean> {
  return withTemporary(path, bytes, async (temporary) => {
    try {
      // Unlike a rename, a link never replaces what is there.
      await link(temporary, path);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      if (!NO_LINKS.includes(codeOf(error))) throw error;
    }
    return claimAndRename(temporary, path);
  });
}

/** Makes the file `path`, or replaces it: where it is a link, what that names, and a device or pipe is written to. */
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
 * Makes a folder, and those above it. Node's own recursive mkdir never ends where a file system has no room for folders and says
 * that the one above is missing, as /proc does.
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
    // Another run may have been quicker.
    const info = await stat(folder).catch(() => null);
    if (codeOf(error) !== 'EEXIST' || info?.isDirectory() !== true) throw unwritable(path, error);
  }
}

/** Whether something can be made inside a folder: rights alone do not tell of it everywhere. */
export function takesFiles(folder: string): boolean {
  try {
    rmdirSync(mkdtempSync(join(folder, '.svc-')));
    return true;
  } catch {
    return false;
  }
}

/** Removes temporary files that a killed run left in `folder`. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!TEMPORARY.test(name)) continue;
    const info = await stat(join(folder, name)).catch(() => null);
    if (info !== null && Date.now() - info.mtimeMs > LEFTOVER_AGE_MS) {
      await rm(join(folder, name), { force: true });
    }
  }
}

async function withTemporary<T>(
  path: string,
  bytes: Uint8Array,
  place: (temporary: string) => Promise<T>,
): Promise<T> {
  // Short, for the file's own name may be as long as names can be.
  const temporary = join(dirname(path), `.svc.${randomBytes(6).toString('hex')}.part`);
  try {
    await writeFile(temporary, bytes, { flag: 'wx' });
    return await place(temporary);
  } catch (error) {
    throw unwritable(path, error);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Without links: an empty file holds the name until the image takes its place. */
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
    : new EngineError(
        'bad_request',
        `${path} cannot be written (${code || String(cause)}): name another folder`,
        {
          cause,
        },
      );
}
