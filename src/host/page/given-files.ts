// Files that a page passes in its options. Each set of files gets a path, which stands for it in the options, and by which the worker finds it.

import { isGgufName } from '../../files/gguf/file-names.ts';
import type { ModelFiles } from '../../files/page/model-source.ts';
import { GIVEN } from './folders.ts';
import { checkComponents, checkList, checkLoras, checkModel, type LoraInPage } from './page-rules.ts';
import type { HubAccess } from './page-storage.ts';

/** Options of Node that name files by paths, as pages have them. */
export interface FileOptions {
  loraPaths?: readonly LoraInPage[];
  /** Components by name: an id of the hub, or files. */
  componentPaths?: Readonly<Record<string, string | ModelFiles>>;
  /** Id of the hub, or files. */
  transformerWeightsPath?: string | ModelFiles;
  /** Adapters of an image model: ids of the hub, or files. */
  loraPath?: readonly (string | ModelFiles)[];
}

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
  const { model, loraPaths, componentPaths, transformerWeightsPath: weights } = given;
  checkModel(model);
  const paths = new Paths();
  const options: PathOptions['options'] = { ...given, model: paths.of(model, nameOf) };
  if (loraPaths !== undefined) {
    checkLoras(loraPaths);
    options['loraPaths'] = loraPaths.map((one) => paths.ofAdapter(one));
  }
  if (componentPaths !== undefined) {
    checkComponents(componentPaths);
    const named = Object.entries(componentPaths).map(([name, path]) => [
      name,
      paths.of(path, () => `component ${name}`),
    ]);
    options['componentPaths'] = Object.fromEntries(named);
  }
  if (weights !== undefined) {
    checkModel(weights, 'transformerWeightsPath');
    options['transformerWeightsPath'] = paths.of(weights, () => 'weights of the transformer');
  }
  if (given['loraPath'] !== undefined) {
    const adapters = checkList(given['loraPath'], 'loraPath');
    options['loraPath'] = adapters.map((one, i) => paths.of(one, () => `adapter ${i + 1}`));
  }
  return { options, files: paths.files, ids: paths.ids };
}

/** The files of one model, by the paths that stand for them. */
class Paths {
  readonly files: Record<string, ModelFiles> = {};
  readonly ids: string[] = [];

  /** Returns an id, or the path that stands for files; `name` names the files in messages. */
  of(given: string | ModelFiles, name: (files: ModelFiles) => string): string {
    if (typeof given === 'string') {
      this.ids.push(given);
      return given;
    }
    let path = `${GIVEN}${name(given)}`;
    while (path in this.files) path += '+'; // a folder may have any name
    this.files[path] = given;
    return path;
  }

  /** Returns NAME=path, or an adapter's id as it is. */
  ofAdapter(adapter: LoraInPage): string {
    if (typeof adapter !== 'string')
      return `${adapter.name}=${this.of(adapter.files, () => `adapter ${adapter.name}`)}`;
    this.ids.push(adapter.slice(adapter.indexOf('=') + 1));
    return adapter;
  }
}

/** Returns the name of a folder, or of a GGUF file among files without one. */
function nameOf(given: ModelFiles): string {
  if (!Array.isArray(given)) return (given as FileSystemDirectoryHandle).name;
  const files = given as readonly { name: string; webkitRelativePath?: string }[];
  const [folder, ...rest] = files[0]?.webkitRelativePath?.split('/') ?? [];
  if (folder !== undefined && rest.length > 0) return folder;
  return files.find(({ name }) => isGgufName(name))?.name.replaceAll('/', '-') ?? 'files';
}

/** Options of a model in a page: a model, an adapter or a component may also be its files, and `hub` says where ids are looked up. */
export type InPage<Options extends { model: string }> = Omit<
  Options,
  'model' | 'inline' | keyof FileOptions
> &
  Pick<FileOptions, keyof FileOptions & keyof Options> & {
    /** Hub id, or the files of the model. */
    model: string | ModelFiles;
    hub?: HubAccess;
  };
