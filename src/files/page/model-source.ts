// Models that a page names by objects instead of ids: files that a user picked, a folder, or anything that reads ranges. They travel to the
// engine's worker beside the options, which name them by keys.

import { badCheckpoint, badRequest, type EngineError, modelNotFound, reasonOf } from '../error.ts';
import { slicedSource, type ByteSource, type Folder } from '../source.ts';
import { furtherPort, readSources, serveReads, type ReadableFile } from './read-port.ts';

export type { ReadableFile } from './read-port.ts';

/** The files of a model: File objects, a folder that the user picked, or files that the page reads itself. */
export type ModelFiles = FileSystemDirectoryHandle | readonly (File | ReadableFile)[];

/** Files of a model in the form that is posted to a worker; `port` answers reads of the files that the page reads itself. */
export type PostedFiles =
  | { kind: 'folder'; handle: FileSystemDirectoryHandle }
  | { kind: 'files'; files: { name: string; file: File }[] }
  | { kind: 'read'; files: { name: string; size: number }[]; port: MessagePort };

/** Returns the posted form, with the ports that have to be transferred with it. Throws bad_request. */
export function postedFiles(given: ModelFiles): { posted: PostedFiles; transfer: Transferable[] } {
  if (!isList(given)) return { posted: { kind: 'folder', handle: given }, transfer: [] };
  if (given.length === 0) throw badRequest('model is a list without files: pass at least one', 'model');
  if (given.every((file) => file instanceof File)) {
    const files = withoutFolder(given.map((file) => ({ name: file.webkitRelativePath || file.name, file })));
    return { posted: { kind: 'files', files }, transfer: [] };
  }
  const { port1, port2 } = new MessageChannel();
  serveReads(given, port1);
  const files = given.map(({ name, size }) => ({ name, size }));
  return { posted: { kind: 'read', files, port: port2 }, transfer: [port2] };
}

const isList = (given: ModelFiles): given is readonly (File | ReadableFile)[] => Array.isArray(given);

/** A picked folder's files all begin with its name. */
function withoutFolder(files: { name: string; file: File }[]): { name: string; file: File }[] {
  const first = files[0]!.name;
  const root = first.slice(0, first.indexOf('/') + 1);
  if (root === '' || files.some(({ name }) => !name.startsWith(root))) return files;
  return files.map(({ name, file }) => ({ name: name.slice(root.length), file }));
}

/** Returns posted files in a form for a further worker, with the ports that have to be transferred with it. */
export function sharedFiles(posted: PostedFiles): { posted: PostedFiles; transfer: Transferable[] } {
  if (posted.kind !== 'read') return { posted, transfer: [] };
  const port = furtherPort(posted.port);
  return { posted: { ...posted, port }, transfer: [port] };
}

/** The files of one posted model, in the worker. */
export interface PostedFolder {
  /** Paths of all files; folders of a picked folder are read when they are asked for. */
  open(folder: string): Promise<Folder>;
}

/**
 * Returns the folders of posted files; `path` names the whole in messages. To be called once for posted files, because a port has one
 * reader.
 */
export function openPosted(path: string, posted: PostedFiles): PostedFolder {
  if (posted.kind === 'folder') return { open: (folder) => openHandle(path, posted.handle, folder) };
  const sources =
    posted.kind === 'files' ? fileSources(posted.files) : readSources(posted.files, posted.port);
  return {
    async open(folder) {
      const prefix = folder === '' ? '' : `${folder}/`;
      const inside = new Map(
        [...sources].flatMap(([name, source]) =>
          name.startsWith(prefix) ? [[name.slice(prefix.length), source]] : [],
        ),
      );
      if (inside.size === 0) throw noFolder(path, folder);
      return {
        path: joined(path, folder),
        names: async () => [...inside.keys()].filter((name) => !name.includes('/')),
        open: async (name) => inside.get(name) ?? missing(joined(path, folder), name),
      };
    },
  };
}

const joined = (path: string, folder: string): string => (folder === '' ? path : `${path}/${folder}`);

function fileSources(files: readonly { name: string; file: File }[]): Map<string, ByteSource> {
  return new Map(files.map(({ name, file }) => [name, fileSource(name, file)]));
}

const PICK_AGAIN = 'pick it again, since a file that has changed is no longer readable';

/** A File or Blob as a source. `remedy`: what a user can do if it cannot be read. */
export function fileSource(name: string, file: Blob, remedy = PICK_AGAIN): ByteSource {
  return slicedSource({ name, size: file.size }, async (offset, length) => {
    const bytes = file.slice(offset, offset + length).arrayBuffer();
    return new Uint8Array(
      await bytes.catch((cause: unknown) => {
        throw unreadable(name, cause, remedy);
      }),
    );
  });
}

/** A folder below a picked one. */
async function openHandle(path: string, root: FileSystemDirectoryHandle, folder: string): Promise<Folder> {
  let handle = root;
  for (const part of folder.split('/').filter((name) => name !== '')) {
    handle = await handle.getDirectoryHandle(part).catch(() => {
      throw noFolder(path, folder);
    });
  }
  return {
    path: joined(path, folder),
    async names() {
      const names: string[] = [];
      for await (const [name, entry] of handle.entries()) if (entry.kind === 'file') names.push(name);
      return names;
    },
    async open(name) {
      const parts = name.split('/');
      const last = parts.pop()!;
      let inner = handle;
      for (const part of parts)
        inner = await inner.getDirectoryHandle(part).catch(() => missing(joined(path, folder), name));
      const file = await inner.getFileHandle(last).catch(() => missing(joined(path, folder), name));
      return fileSource(
        name,
        await file.getFile().catch((cause: unknown) => {
          throw unreadable(name, cause);
        }),
      );
    },
  };
}

function noFolder(path: string, folder: string): EngineError {
  return modelNotFound(`${path} has no folder ${folder}: pass the files of the whole model`);
}

function missing(path: string, name: string): never {
  throw badCheckpoint(`${name} is missing from ${path}: pass it with the model's other files`, name);
}

/** The error for a file that cannot be read. */
export function unreadable(name: string, cause: unknown, remedy = PICK_AGAIN): EngineError {
  return badCheckpoint(`${name} cannot be read (${reasonOf(cause)}): ${remedy}`, name, cause);
}
