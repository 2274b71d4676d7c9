// Checks of the options that pages and Node do not share: the files of models and adapters, the settings of the hub, and options that only exist
// in Node.

import { badRequest, unsupported } from '../../files/error.ts';
import type { ModelFiles } from '../../files/page/model-source.ts';
import { checkOptions, filledText, refuse, type Rule } from '../../engine/input/rules.ts';

/** Options that need what a page does not have, and what to do instead. */
const NODE_ONLY: Readonly<Record<string, string>> = {
  inline: 'in a page the engine always runs in a worker: leave it out',
  storageCache: 'prompts are stored in files or in Redis in Node only: leave it out, or set hostCache',
  storageCacheBytes: 'prompts are stored in files in Node only: leave it out, or set hostCache',
  mmproj: 'it is a path on the disk of Node: pass the file among those of the model',
  loraDir:
    'it is a folder on the disk of Node: pass the adapters in loraPaths, or in loraPath of an image model',
};

const address: Rule = (value, name) => {
  filledText(value, name);
  if (!/^https?:/.test(String(value)) || !URL.canParse(String(value)))
    refuse(value, name, 'an address that begins with https:// or http://');
};

const HUB_SETTINGS = { endpoint: address, token: filledText };

/** Throws bad_request for settings of the hub that are unknown or no addresses. */
export function checkHub(settings: unknown): void {
  if (settings !== undefined) checkOptions(settings, HUB_SETTINGS, 'hub', []);
}

/** Throws unsupported for options that exist in Node only. */
export function checkPageOptions(options: Readonly<Record<string, unknown>>): void {
  for (const [param, remedy] of Object.entries(NODE_ONLY)) {
    const value = options[param];
    if (value === undefined || value === false) continue;
    throw unsupported(`${param} does not exist in a page; ${remedy}`, param);
  }
}

/** Throws bad_request unless `model`, which the option `param` names, is the id of a hub or the files of a model. */
export function checkModel(model: unknown, param = 'model'): asserts model is string | ModelFiles {
  if (typeof model === 'string') filledText(model, param);
  else checkFiles(model, param, 'the id of a model, ');
}

/** Throws bad_request unless `paths` has ids or files by the names of components. */
export function checkComponents(
  paths: unknown,
): asserts paths is Readonly<Record<string, string | ModelFiles>> {
  if (typeof paths !== 'object' || paths === null || Array.isArray(paths))
    refuse(paths, 'componentPaths', 'an object');
  for (const [name, path] of Object.entries(paths)) checkModel(path, `componentPaths.${name}`);
}

/** Returns `given`, each of which is the id of a hub or files. Throws bad_request for anything else. */
export function checkList(given: unknown, param: string): readonly (string | ModelFiles)[] {
  if (!Array.isArray(given)) refuse(given, param, 'a list');
  (given as unknown[]).forEach((one, at) => checkModel(one, `${param}.${at}`));
  return given as (string | ModelFiles)[];
}

/** A LoRA adapter of a page: NAME=ID of a hub, an id alone, or the name and the files of one. */
export type LoraInPage = string | { name: string; files: ModelFiles };

/** Throws bad_request unless `adapters` is a list of LoRA adapters. */
export function checkLoras(adapters: unknown): asserts adapters is readonly LoraInPage[] {
  if (!Array.isArray(adapters)) refuse(adapters, 'loraPaths', 'a list');
  const names = new Set<string>();
  (adapters as unknown[]).forEach((adapter, at) => {
    const param = `loraPaths.${at}`;
    if (typeof adapter === 'string') return filledText(adapter, param);
    if (typeof adapter !== 'object' || adapter === null)
      refuse(adapter, param, 'the id of an adapter, or an object with name and files');
    const { name, files } = adapter as { name?: unknown; files?: unknown };
    filledText(name, `${param}.name`);
    if (/[=/\\]/.test(name as string)) refuse(name, `${param}.name`, 'a text without =, / and \\');
    if (names.has(name as string)) refuse(name, `${param}.name`, 'a name that no other adapter has');
    names.add(name as string);
    checkFiles(files, `${param}.files`, '');
  });
}

/** Throws bad_request unless `files` are a list of files or a folder; `or`: what else they may be. */
function checkFiles(files: unknown, param: string, or: string): asserts files is ModelFiles {
  if (Array.isArray(files)) {
    files.forEach((file, at) => checkFile(file, `${param}.${at}`));
    return checkNames(files as { name: string; webkitRelativePath?: string }[], param);
  }
  const hint = hintFor(files, or);
  if (hint !== null) throw badRequest(`${param} ${hint}`, param);
}

function hintFor(files: unknown, or: string): string | null {
  if (isA('FileSystemDirectoryHandle', files)) return null;
  if (isA('FileSystemFileHandle', files))
    return 'is the handle of one file: pass a list of File objects, [await handle.getFile()], or the handle of the folder';
  if (isA('FileList', files)) return 'is a FileList: pass it as a list, [...input.files]';
  if (isA('Blob', files)) return 'is one file: pass a list of all files';
  return `must be ${or}a list of files, or the handle of a folder that the user picked`;
}

/** Whether a value is an instance of a class that this browser may not have. */
function isA(name: string, value: unknown): boolean {
  const type = (globalThis as Record<string, unknown>)[name];
  return typeof type === 'function' && value instanceof type;
}

function checkFile(file: unknown, param: string): void {
  if (isA('File', file)) return;
  if (typeof file !== 'object' || file === null || !('read' in file) || typeof file.read !== 'function')
    throw badRequest(`${param} must be a File, or an object with name, size and read`, param);
  const { name: path, size } = file as { name?: unknown; size?: unknown };
  filledText(path, `${param}.name`);
  if (!Number.isSafeInteger(size) || (size as number) < 0)
    refuse(size, `${param}.size`, 'a whole number of bytes');
}

/** Two files of one name would hide each other. */
function checkNames(files: readonly { name: string; webkitRelativePath?: string }[], param: string): void {
  const names = files.map(({ name, webkitRelativePath }) => webkitRelativePath || name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw badRequest(
      `${param} has two files named ${twice}: pass files with their paths in the folder`,
      param,
    );
}
