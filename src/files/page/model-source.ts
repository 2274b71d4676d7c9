// Models that a page names by objects instead of ids: files that a user picked, a folder, or anything that reads ranges. They travel to the
// engine's worker beside the options, which name them by keys.

import { EngineError } from '../error.ts';
import { assertRange, type ByteSource, type Folder } from '../source.ts';

/** A file that the page reads itself. */
export interface ReadableFile {
  /** Path within the model's folder, as `model.safetensors` or `unet/config.json`. */
  name: string;
  /** Bytes. */
  size: number;
  /** Returns the bytes from `offset` on, exactly `length` of them. */
  read(offset: number, length: number): Promise<Uint8Array> | Uint8Array;
}

/** The files of a model: File objects, a folder that the user picked, or files that the page reads itself. */
export type ModelFiles = FileSystemDirectoryHandle | readonly (File | ReadableFile)[];

/** The same files in the form that is posted to a worker; `port` answers reads of the files that the page reads itself. */
export type PostedFiles =
  | { kind: 'folder'; handle: FileSystemDirectoryHandle }
  | { kind: 'files'; files: { name: string; file: File }[] }
  | { kind: 'read'; files: { name: string; size: number }[]; port: MessagePort };

interface ReadCall {
  id: number;
  file: number;
  offset: number;
  length: number;
}

type ReadAnswer = { id: number } & ({ bytes: Uint8Array<ArrayBuffer> } | { problem: string });

/** Returns the posted form, with the ports that have to be transferred with it. Throws bad_request. */
export function postedFiles(given: ModelFiles): { posted: PostedFiles; transfer: Transferable[] } {
  if (!isList(given)) return { posted: { kind: 'folder', handle: given }, transfer: [] };
  if (given.length === 0)
    throw new EngineError('bad_request', 'model is a list without files: pass at least one', {
      param: 'model',
    });
  if (given.every((file) => file instanceof File)) {
    const files = withoutFolder(given.map((file) => ({ name: file.webkitRelativePath || file.name, file })));
    return { posted: { kind: 'files', files }, transfer: [] };
  }
  const { port1, port2 } = new MessageChannel();
  port1.addEventListener('message', ({ data }: MessageEvent<ReadCall>) => void answer(given, data, port1));
  port1.start();
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

/** Answers one read of the worker. */
async function answer(
  files: readonly (File | ReadableFile)[],
  { id, file, offset, length }: ReadCall,
  port: MessagePort,
): Promise<void> {
  const source = files[file]!;
  try {
    const bytes =
      source instanceof File
        ? new Uint8Array(await source.slice(offset, offset + length).arrayBuffer())
        : new Uint8Array(await source.read(offset, length)); // a copy, because it is transferred
    if (bytes.length !== length) throw new Error(`it gave ${bytes.length} bytes for ${length} at ${offset}`);
    port.postMessage({ id, bytes } satisfies ReadAnswer, [bytes.buffer]);
  } catch (error) {
    port.postMessage({
      id,
      problem: error instanceof Error ? error.message : String(error),
    } satisfies ReadAnswer);
  }
}

/** The files of one posted model, in the worker. */
export interface PostedFolder {
  /** Paths of all files; folders of a picked folder are read when they are asked for. */
  open(folder: string): Promise<Folder>;
}

/** Returns the folders of posted files; `path` names the whole in messages. */
export function openPosted(path: string, posted: PostedFiles): PostedFolder {
  if (posted.kind === 'folder') return { open: (folder) => openHandle(path, posted.handle, folder) };
  const sources = posted.kind === 'files' ? fileSources(posted.files) : readSources(posted);
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

/** A File or Blob as a source. */
export function fileSource(name: string, file: Blob): ByteSource {
  const read = async (offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> => {
    assertRange({ name, size: file.size }, offset, length);
    return new Uint8Array(
      await file
        .slice(offset, offset + length)
        .arrayBuffer()
        .catch((cause: unknown) => {
          throw unreadable(name, cause);
        }),
    );
  };
  return {
    name,
    size: file.size,
    read,
    readInto: async (offset, target) => target.set(await read(offset, target.length)),
    close: async () => {},
  };
}

/** Sources that ask the page through its port. */
function readSources({ files, port }: Extract<PostedFiles, { kind: 'read' }>): Map<string, ByteSource> {
  const waiting = new Map<number, (answer: ReadAnswer) => void>();
  let nextId = 0;
  port.addEventListener('message', ({ data }: MessageEvent<ReadAnswer>) => {
    waiting.get(data.id)?.(data);
    waiting.delete(data.id);
  });
  port.start();
  const ask = (call: Omit<ReadCall, 'id'>): Promise<ReadAnswer> =>
    new Promise((resolve) => {
      const id = nextId++;
      waiting.set(id, resolve);
      port.postMessage({ id, ...call } satisfies ReadCall);
    });
  return new Map(
    files.map(({ name, size }, file) => {
      const read = async (offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> => {
        assertRange({ name, size }, offset, length);
        const reply = await ask({ file, offset, length });
        if ('problem' in reply)
          throw new EngineError('bad_checkpoint', `${name} could not be read by the page: ${reply.problem}`, {
            param: name,
          });
        return reply.bytes;
      };
      const readInto = async (offset: number, target: Uint8Array<ArrayBuffer>): Promise<void> =>
        target.set(await read(offset, target.length));
      return [name, { name, size, read, readInto, close: async () => {} }];
    }),
  );
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
  return new EngineError(
    'model_not_found',
    `${path} has no folder ${folder}: pass the files of the whole model`,
  );
}

function missing(path: string, name: string): never {
  throw new EngineError(
    'bad_checkpoint',
    `${name} is missing from ${path}: pass it with the model's other files`,
    {
      param: name,
    },
  );
}

function unreadable(name: string, cause: unknown): EngineError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new EngineError(
    'bad_checkpoint',
    `${name} cannot be read (${reason}): pick it again, since a file that has changed is no longer readable`,
    { param: name, cause },
  );
}
