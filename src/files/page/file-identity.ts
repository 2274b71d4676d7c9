// Identity of files that the page gave, so that weights packed from them are found again: name, size, time of the last change, and a checksum of the
// last bytes. A page does not see where a folder lies: two models of one name whose archives state one time differ in their weights alone.

import { crc32 } from '../crc32.ts';
import type { PostedFiles } from './model-source.ts';

export type FileIdentity = readonly [name: string, bytes: number, lastModified: number, tail: number];

/** Bytes of the checksum. */
const TAIL = 2 ** 16;

/** Identities of files below `folder` of posted files; null where the page reads the files itself, or one of them cannot be read. */
export async function identitiesOf(
  posted: PostedFiles,
  folder: string,
  names: readonly string[],
): Promise<FileIdentity[] | null> {
  if (posted.kind === 'read') return null;
  const prefix = folder === '' ? '' : `${folder}/`;
  const found = await Promise.all(names.map((name) => fileAt(posted, `${prefix}${name}`)));
  if (found.includes(null)) return null;
  const tails = await Promise.all(found.map((file) => tailOf(file!)));
  if (tails.includes(null)) return null;
  return found.map((file, at) => [names[at]!, file!.size, file!.lastModified, tails[at]!] as const);
}

/** The checksum of the last bytes of a file; null if it cannot be read, which is told when its weights are. */
async function tailOf(file: File): Promise<number | null> {
  try {
    return crc32(new Uint8Array(await file.slice(-TAIL).arrayBuffer()));
  } catch {
    return null;
  }
}

async function fileAt(posted: Exclude<PostedFiles, { kind: 'read' }>, path: string): Promise<File | null> {
  if (posted.kind === 'files') return posted.files.find(({ name }) => name === path)?.file ?? null;
  const folders = path.split('/');
  const name = folders.pop()!;
  try {
    let handle = posted.handle;
    for (const folder of folders) handle = await handle.getDirectoryHandle(folder);
    return await (await handle.getFileHandle(name)).getFile();
  } catch {
    return null;
  }
}
