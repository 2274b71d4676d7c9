// Folders and files of the local disk. Reads are positional, so one handle serves any number of readers at once. One call
// to the system may do less than it was asked for: both directions go on until all is done.

import { constants } from 'node:fs';
import { open, readdir, realpath, stat, type FileHandle } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { EngineError } from './error.ts';
import { GGUF_REMEDY, isGguf } from './checkpoint/gguf-sniff.ts';
import { assertRange, type ByteSource, type Folder } from './source.ts';

export async function openDiskFolder(path: string): Promise<Folder> {
  const root = resolve(path);
  const info = await stat(root).catch(() => null);
  if (info === null) {
    throw new EngineError(
      'model_not_found',
      `there is no folder ${root}: check the path, or fetch a model with \`npx svc-engine pull owner/name\``,
    );
  }
  if (!info.isDirectory()) {
    const source = await openDiskSource(root);
    try {
      if (/\.gguf$/i.test(root) || (await isGguf(source)))
        throw new EngineError('unsupported', `${root} is a GGUF file, and ${GGUF_REMEDY}`);
    } finally {
      await source.close();
    }
    throw new EngineError(
      'model_not_found',
      `${root} is a file: give the folder of a model, with its config.json or model_index.json`,
    );
  }
  return {
    path: root,
    names: async () =>
      (await readdir(root, { withFileTypes: true }))
        .filter((entry) => !entry.isDirectory())
        .map((entry) => entry.name),
    open: (name) => openDiskSource(join(root, name)),
  };
}

/**
 * A folder that is, or lies in, one of those allowed; links are followed. A relative path is looked up in each of them.
 * Whether there is anything outside stays untold.
 */
export async function folderWithin(
  path: string,
  allowed: readonly string[],
): Promise<{ path: string } | 'outside' | 'missing'> {
  const isWithin = (inner: string, outer: string): boolean =>
    inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : outer + sep);
  let isOutside = allowed.length > 0;
  for (const root of allowed.map((folder) => resolve(folder))) {
    const candidate = resolve(root, path);
    if (!isWithin(candidate, root)) continue;
    isOutside = false;
    const [real, realRoot] = await Promise.all(
      [candidate, root].map((one) => realpath(one).catch(() => null)),
    );
    if (real === null || realRoot === null || !(await stat(real!)).isDirectory()) continue;
    if (isWithin(real!, realRoot!)) return { path: candidate };
    isOutside = true;
  }
  return isOutside ? 'outside' : 'missing';
}

export async function openDiskSource(path: string): Promise<ByteSource> {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  const file = await open(path, constants.O_RDONLY).catch((cause: unknown) => {
    throw unreadable(path, cause);
  });
  const { size } = await file.stat();
  const readInto = async (offset: number, target: Uint8Array<ArrayBuffer>): Promise<void> => {
    assertRange({ name, size }, offset, target.length);
    let filled = 0;
    // One call returns at most 2 GiB, and less on some file systems.
    while (filled < target.length) {
      const { bytesRead } = await file.read(target, filled, target.length - filled, offset + filled);
      if (bytesRead === 0) {
        throw new EngineError(
          'bad_checkpoint',
          `${path} was cut short while it was read: at byte ${offset + filled} of ${size} it ended; fetch it again`,
        );
      }
      filled += bytesRead;
    }
  };
  return {
    name,
    size,
    readInto,
    read: async (offset, length) => {
      assertRange({ name, size }, offset, length);
      const target = new Uint8Array(length);
      await readInto(offset, target);
      return target;
    },
    close: () => file.close(),
  };
}

export async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
  }
}

/** A dangling link is what an interrupted or pruned hub cache leaves. */
function unreadable(path: string, cause: unknown): EngineError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
  return code === 'ENOENT'
    ? new EngineError('bad_checkpoint', `${path} is missing: fetch the checkpoint again`, {
        param: path,
        cause,
      })
    : new EngineError('bad_checkpoint', `${path} cannot be read (${code}): check its permissions`, {
        param: path,
        cause,
      });
}
