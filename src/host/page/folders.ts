// The folders of models in a page: files that the page gave, and models of the hub that are kept in the browser's storage.

import { modelNotFound } from '../../files/error.ts';
import { STORED, type OpfsCache } from '../../files/opfs/opfs-cache.ts';
import { openStored } from '../../files/opfs/stored-folder.ts';
import {
  openPosted,
  sharedFiles,
  type PostedFiles,
  type PostedFolder,
} from '../../files/page/model-source.ts';
import type { Folder } from '../../files/source.ts';

/** Begin of the paths that stand for files that the page gave. */
export const GIVEN = 'page:/';

/** Files that the page gave, by the paths that stand for them. */
export type GivenFiles = Readonly<Record<string, PostedFiles>>;

export class PageFolders {
  readonly #files: GivenFiles;
  readonly #stored: OpfsCache;
  readonly #opened = new Map<string, PostedFolder>();

  constructor(files: GivenFiles, stored: OpfsCache) {
    this.#files = files;
    this.#stored = stored;
  }

  /** Whether `path` stands for files that the page gave. */
  has(path: string): boolean {
    return path in this.#files;
  }

  /** Whether open() can find a path. */
  finds(path: string): boolean {
    return path.startsWith(STORED) || this.#rootOf(path) !== undefined;
  }

  /** Opens a folder: `path` stands for files that the page gave or for a stored model, or is a folder below. Throws model_not_found. */
  async open(path: string): Promise<Folder> {
    if (path.startsWith(STORED)) return openStored(this.#stored, path);
    const root = this.#rootOf(path);
    if (root === undefined) throw modelNotFound(`the page gave no files named ${path}`);
    const folder = this.#opened.get(root) ?? openPosted(root, this.#files[root]!);
    this.#opened.set(root, folder);
    return folder.open(path.slice(root.length + 1));
  }

  #rootOf(path: string): string | undefined {
    return Object.keys(this.#files).find((name) => path === name || path.startsWith(`${name}/`));
  }

  /** Returns the files in a form for a further worker, with the ports that have to be transferred with it. */
  share(): { files: GivenFiles; transfer: Transferable[] } {
    const transfer: Transferable[] = [];
    const shared = Object.entries(this.#files).map(([path, files]): [string, PostedFiles] => {
      const { posted, transfer: ports } = sharedFiles(files);
      transfer.push(...ports);
      return [path, posted];
    });
    return { files: Object.fromEntries(shared), transfer };
  }
}
