// The folders of models in a page: files that the page gave, and models of the hub that are kept in the browser's storage.

import { EngineError } from '../files/error.ts';
import { openPosted, type PostedFiles } from '../files/page/model-source.ts';
import type { Folder } from '../files/source.ts';

/** Begin of the paths that stand for files that the page gave. */
export const GIVEN = 'page:';

/** Files that the page gave, by the paths that stand for them. */
export type GivenFiles = Readonly<Record<string, PostedFiles>>;

/** Opens a folder of files that the page gave. `path` is one of their paths, or a folder below it. */
export async function openGiven(files: GivenFiles, path: string): Promise<Folder> {
  const root = Object.keys(files).find((name) => path === name || path.startsWith(`${name}/`));
  if (root === undefined) throw new EngineError('model_not_found', `the page gave no files named ${path}`);
  return openPosted(root, files[root]!).open(path.slice(root.length + 1));
}
