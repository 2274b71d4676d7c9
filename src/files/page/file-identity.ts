// Identity of files that the page gave: name, size and time of the last change, so that weights packed from them are found again.

import type { PostedFiles } from './model-source.ts';

export type FileIdentity = readonly [name: string, bytes: number, lastModified: number];

/** Identities of files below `folder` of posted files; null where the page reads the files itself, or one of them is missing. */
export async function identitiesOf(
  posted: PostedFiles,
  folder: string,
  names: readonly string[],
): Promise<FileIdentity[] | null> {
  if (posted.kind === 'read') return null;
  const prefix = folder === '' ? '' : `${folder}/`;
  const found = await Promise.all(names.map((name) => fileAt(posted, `${prefix}${name}`)));
  if (found.includes(null)) return null;
  return found.map((file, at) => [names[at]!, file!.size, file!.lastModified] as const);
}

async function fileAt(
  posted: Exclude<PostedFiles, { kind: 'read' }>,
  path: string,
): Promise<Pick<File, 'size' | 'lastModified'> | null> {
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
