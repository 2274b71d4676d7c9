// Folders of stored models, by the paths that stand for them: `hub:owner/name/commit`, a folder of a pipeline below it, or a GGUF file.

import { badCheckpoint, type EngineError, modelNotFound } from '../error.ts';
import { isGgufName, modelFiles } from '../gguf/file-names.ts';
import { folderOf, nameOf } from '../posix-path.ts';
import type { ByteSource, Folder } from '../source.ts';
import { STORED, type OpfsCache, type OpfsRepo } from './opfs-cache.ts';
import { isTensorFile } from '../tensors/tensor-file.ts';

export interface StoredPath {
  id: string;
  commit: string;
  /** Path in the snapshot; '' for its root. */
  inner: string;
}

/** Takes a path apart; null: it stands for no stored model. */
export function storedPath(path: string): StoredPath | null {
  if (!path.startsWith(STORED)) return null;
  const [owner, name, commit, ...inner] = path.slice(STORED.length).split('/');
  return owner && name && commit ? { id: `${owner}/${name}`, commit, inner: inner.join('/') } : null;
}

/** Opens a folder of a stored model. A GGUF file is a folder with that file, its other parts and its tower, a file of tensors one with itself alone. */
export async function openStored(cache: OpfsCache, path: string): Promise<Folder> {
  const stored = storedPath(path);
  if (stored === null) throw notStored(path);
  const { id, commit, inner } = stored;
  const repo = cache.repo(id);
  const files = [...((await repo.record()).snapshots.get(commit)?.keys() ?? [])];
  const isGguf = isGgufName(inner);
  const isFile = files.includes(inner) && (isGguf || isTensorFile(inner));
  const root = isFile ? folderOf(inner) : inner;
  const prefix = root === '' ? '' : `${root}/`;
  const inside = files.flatMap((file) => (file.startsWith(prefix) ? [file.slice(prefix.length)] : []));
  if (inside.length === 0) throw notStored(path);
  const names = inside.filter((name) => !name.includes('/'));
  return {
    path,
    names: async () => (!isFile ? names : isGguf ? modelFiles(nameOf(inner), names) : [nameOf(inner)]),
    open: (name) => contentOf(repo, commit, `${prefix}${name}`),
  };
}

async function contentOf(repo: OpfsRepo, commit: string, path: string): Promise<ByteSource> {
  const source = await repo.open(commit, path);
  if (source !== null) return source;
  throw badCheckpoint(`${path} is missing from ${repo.id}: open the model again to fetch it`, path);
}

function notStored(path: string): EngineError {
  return modelNotFound(`${path} is not in the browser's storage: open the model by its id again`);
}
