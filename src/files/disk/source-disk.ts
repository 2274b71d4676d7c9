// Folders and files of the local disk. Reads are positional, so one handle serves any number of readers at once. One call
// to the system may do less than it was asked for: both directions go on until all is done.

import { constants, type Stats } from 'node:fs';
import { open, readdir, realpath, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { badCheckpoint, codeOf, type EngineError, modelNotFound, unsupported } from '../error.ts';
import { isGgufName, modelFiles } from '../gguf/file-names.ts';
import { malformed } from '../gguf/header-cursor.ts';
import { isGguf } from '../gguf/sniff.ts';
import { isTensorFile } from '../tensors/tensor-file.ts';
import { readJson, sourceOf, type ByteSource, type Folder } from '../source.ts';

export async function openDiskFolder(path: string): Promise<Folder> {
  const root = resolve(path);
  const info = await stat(root).catch((cause: unknown) => {
    if (codeOf(cause) === 'ENOENT') return null;
    throw unreadableError(root, cause);
  });
  if (info === null) {
    throw modelNotFound(`there is no folder ${root}: check the path`);
  }
  if (!info.isDirectory()) {
    return isTensorFile(root) && !(await isGgufFile(root)) ? fileFolder(root) : openGgufFolder(root);
  }
  return {
    path: root,
    names: async () => {
      const entries = await readdir(root, { withFileTypes: true }).catch((cause: unknown) => {
        throw unreadableError(root, cause);
      });
      return entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name);
    },
    open: (name) => openDiskSource(join(root, name)),
    models: () => modelsWithin(root),
  };
}

const MODEL_FILES: readonly string[] = ['config.json', 'model_index.json'];

/** A folder within that cannot be read holds none. */
async function modelsWithin(root: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(root, { withFileTypes: true })) {
    const files = entry.isDirectory() ? await readdir(join(root, entry.name)).catch(() => []) : [];
    if (files.some((name) => MODEL_FILES.includes(name))) found.push(entry.name);
  }
  return found.toSorted();
}

/** Whether a file is GGUF whatever its name is. */
async function isGgufFile(path: string): Promise<boolean> {
  const source = await openDiskSource(path);
  try {
    return await isGguf(source);
  } finally {
    await source.close();
  }
}

/** A folder with nothing but one file. */
function fileFolder(root: string): Folder {
  const file = basename(root);
  return {
    path: root,
    names: async () => [file],
    open: async (name) => {
      if (name === file) return openDiskSource(root);
      throw modelNotFound(
        `${root} is a file and not a folder with ${name}: give the folder of the model`,
        'model',
      );
    },
  };
}

/** A folder with nothing but one GGUF file, the other parts of it if it is split, and its tower. */
async function openGgufFolder(root: string): Promise<Folder> {
  const source = await openDiskSource(root);
  try {
    const isNamed = isGgufName(root);
    if (isNamed !== (await isGguf(source))) {
      throw isNamed
        ? malformed(root, 'it does not begin with the letters GGUF')
        : unsupported(
            `${root} is a GGUF file without the ending .gguf: rename it, or make a link to it with that ending`,
          );
    }
    if (!isNamed)
      throw modelNotFound(
        `${root} is a file: give the folder of a model, with its config.json or model_index.json, or a GGUF file`,
      );
  } finally {
    await source.close();
  }
  const [folder, file] = [dirname(root), basename(root)];
  return {
    path: root,
    names: async () => modelFiles(file, await readdir(folder)),
    open: (name) => openDiskSource(join(folder, name)),
  };
}

/**
 * A folder or GGUF file that is, or lies in, one of those allowed; links are followed. A relative path is looked up in each of them. The answer
 * does not depend on what exists outside: "outside" is said of the path as it is written, and a link that leads there is "missing".
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
    if (!real || !realRoot || !isWithin(real, realRoot)) continue;
    const info = await stat(real).catch(() => null);
    if (info?.isDirectory() || (info?.isFile() && (isGgufName(real) || isTensorFile(real))))
      return { path: candidate };
  }
  return isOutside ? 'outside' : 'missing';
}

/** Opens a regular file. Devices, pipes and sockets are refused without waiting for them. */
export async function openDiskSource(path: string): Promise<ByteSource> {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  const unreadable = (cause: unknown): never => {
    throw unreadableError(path, cause);
  };
  // The file is checked before it is opened, because opening a device can have effects, and again afterwards, because the name may
  // refer to another file by then; a pipe without a writer opens at once with O_NONBLOCK and is refused.
  const before = await stat(path).catch(unreadable);
  if (!before.isFile()) throw notRegular(path, before);
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(unreadable);
  const opened = await file.stat();
  if (!opened.isFile()) {
    await file.close();
    throw notRegular(path, opened);
  }
  const { size, mtimeMs } = opened;
  const changed = (how: string): EngineError =>
    badCheckpoint(`${path} ${how} while it was read: open the model again once nothing writes to it`, path);
  const fill = async (offset: number, target: Uint8Array<ArrayBuffer>): Promise<void> => {
    const filled = await readAll(file, target, offset);
    if (filled < target.length) throw changed(`was cut short to ${offset + filled} of ${size} bytes`);
    // A file that changed while it was read would give a mixture of two versions.
    const now = await file.stat();
    if (now.size !== size || now.mtimeMs !== mtimeMs) throw changed('was written to');
  };
  return sourceOf({ name, size }, fill, () => file.close());
}

/** Fills `target` from a position of the file on; returns how many bytes there were. */
export async function readAll(file: FileHandle, target: Uint8Array, position: number): Promise<number> {
  let done = 0;
  // A call returns at most 2 GiB, and less on some file systems.
  while (done < target.length) {
    const { bytesRead } = await file.read(target, done, target.length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}

export async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
  }
}

/** A JSON object on the disk. Throws bad_checkpoint. */
export async function readDiskJson(path: string): Promise<Record<string, unknown>> {
  return readJson(
    { path: dirname(path), names: async () => [], open: () => openDiskSource(path) },
    basename(path),
  );
}

function notRegular(path: string, stats: Stats): EngineError {
  const kinds: [boolean, string][] = [
    [stats.isDirectory(), 'a folder'],
    [stats.isFIFO(), 'a named pipe'],
    [stats.isSocket(), 'a socket'],
    [stats.isCharacterDevice() || stats.isBlockDevice(), 'a device'],
  ];
  const kind = kinds.find(([is]) => is)?.[1] ?? 'not a regular file';
  return badCheckpoint(`${path} is ${kind}, and a file is needed: put the published file in its place`, path);
}

const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: 'you may not read it: change its permissions, or those of the folders above it',
  EPERM: 'you may not read it: change its permissions, or those of the folders above it',
  ELOOP: 'its symbolic links lead in a circle: put the file itself in their place',
  ENOTDIR: 'a part of its path is a file and not a folder: check the path',
  ENAMETOOLONG: 'the file system takes no name as long as that: move the model to a shorter path',
  EMFILE: 'this process has too many open files: raise the limit with `ulimit -n`',
  ENFILE: 'the system has too many open files: close some programs',
  EIO: 'the disk or the network folder fails: copy the model to another place',
  ESTALE: 'the network folder it lies in is gone: mount it again',
};

/** The error for a file or folder that cannot be opened, with the remedy. */
function unreadableError(path: string, cause: unknown): EngineError {
  const code = codeOf(cause);
  // An interrupted or cleaned hub cache contains dangling links.
  const problem =
    code === 'ENOENT'
      ? 'is missing: fetch the checkpoint again'
      : `cannot be read (${code}): ${Object.hasOwn(REMEDIES, code) ? REMEDIES[code] : 'check the disk and the permissions'}`;
  return badCheckpoint(`${path} ${problem}`, path, cause);
}
