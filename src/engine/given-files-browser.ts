// Files that a page passes in its options. Each set of files gets a path, which stands for it in the options, and by which the worker finds it.

import { isGgufName } from '../files/gguf/file-names.ts';
import type { ModelFiles } from '../files/page/model-source.ts';
import { GIVEN } from './folders-browser.ts';
import { checkLoras, checkModel } from './page-rules-browser.ts';

/** Begin of the paths that stand for the files of LoRA adapters. */
const ADAPTER = 'lora:/';

export interface PathOptions {
  /** The options as Node has them. */
  options: Record<string, unknown> & { model: string };
  /** Files by the paths that stand for them. */
  files: Readonly<Record<string, ModelFiles>>;
  /** Ids of the hub that the options name, some of them with tags of GGUF files. */
  ids: readonly string[];
}

/** Returns the options with paths in place of files. Throws bad_request. */
export function withPaths(given: Readonly<Record<string, unknown>>): PathOptions {
  const { model, loraPaths } = given;
  checkModel(model);
  checkLoras(loraPaths);
  const files: Record<string, ModelFiles> = {};
  const ids: string[] = [];
  const pathOf = (named: string | ModelFiles, path: () => string): string => {
    if (typeof named !== 'string') files[path()] = named;
    else ids.push(named.slice(named.indexOf('=') + 1));
    return typeof named === 'string' ? named : path();
  };
  const options = { ...given, model: pathOf(model, () => `${GIVEN}${nameOf(model as ModelFiles)}`) };
  if (loraPaths === undefined) return { options, files, ids };
  const adapters = loraPaths.map((adapter) => {
    if (typeof adapter === 'string') return pathOf(adapter, () => adapter);
    return `${adapter.name}=${pathOf(adapter.files, () => `${ADAPTER}${adapter.name}`)}`;
  });
  return { options: { ...options, loraPaths: adapters }, files, ids };
}

/** Returns the name of a folder, or of a GGUF file among files without one. */
function nameOf(given: ModelFiles): string {
  if (!Array.isArray(given)) return (given as FileSystemDirectoryHandle).name;
  const files = given as readonly { name: string; webkitRelativePath?: string }[];
  const [folder, ...rest] = files[0]?.webkitRelativePath?.split('/') ?? [];
  if (folder !== undefined && rest.length > 0) return folder;
  return files.find(({ name }) => isGgufName(name))?.name.replaceAll('/', '-') ?? 'files';
}
