// Checks of what a page passes besides the options that Node has too: the files of a model, the settings of the hub, and options that only
// exist in Node.

import { EngineError } from '../files/error.ts';
import type { ModelFiles } from '../files/page/model-source.ts';
import { checkOptions, filledText, refuse, type Rule } from './rules.ts';

/** Options that need what a page does not have, and what to do instead. */
const NODE_ONLY: Readonly<Record<string, string>> = {
  inline: 'in a page the engine always runs in a worker: leave it out',
  storageCache: 'prompts are stored in files or in Redis in Node only: leave it out, or set hostCache',
  storageCacheBytes: 'prompts are stored in files in Node only: leave it out, or set hostCache',
  loraPaths: 'LoRA adapters are folders on the disk of Node: merge them into the weights',
  loraDir: 'LoRA adapters are folders on the disk of Node: merge them into the weights',
  transformerWeightsPath: 'it is a path on the disk of Node: pass the files of the whole model as model',
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
    throw new EngineError('unsupported', `${param} does not exist in a page; ${remedy}`, { param });
  }
}

/** Throws bad_request unless `model` is the id of a hub or the files of a model. */
export function checkModel(model: unknown): asserts model is string | ModelFiles {
  if (typeof model === 'string') return filledText(model, 'model');
  if (Array.isArray(model)) {
    model.forEach(checkFile);
    return checkNames(model as { name: string; webkitRelativePath?: string }[]);
  }
  const hint = hintFor(model);
  if (hint !== null) throw new EngineError('bad_request', `model ${hint}`, { param: 'model' });
}

function hintFor(model: unknown): string | null {
  if (isA('FileSystemDirectoryHandle', model)) return null;
  if (isA('FileSystemFileHandle', model))
    return 'is the handle of one file: pass a list of File objects, [await handle.getFile()], or the handle of the folder';
  if (isA('FileList', model)) return 'is a FileList: pass it as a list, [...input.files]';
  if (isA('Blob', model)) return 'is one file: pass a list of all files of the model';
  return 'must be the id of a model, a list of files, or the handle of a folder that the user picked';
}

/** Whether a value is an instance of a class that this browser may not have. */
function isA(name: string, value: unknown): boolean {
  const type = (globalThis as Record<string, unknown>)[name];
  return typeof type === 'function' && value instanceof type;
}

const checkFile: (file: unknown, at: number) => void = (file, at) => {
  if (isA('File', file)) return;
  const name = `model.${at}`;
  if (typeof file !== 'object' || file === null || !('read' in file) || typeof file.read !== 'function')
    throw new EngineError('bad_request', `${name} must be a File, or an object with name, size and read`, {
      param: name,
    });
  const { name: path, size } = file as { name?: unknown; size?: unknown };
  filledText(path, `${name}.name`);
  if (!Number.isSafeInteger(size) || (size as number) < 0)
    refuse(size, `${name}.size`, 'a whole number of bytes');
};

/** Two files of one name would hide each other. */
function checkNames(files: readonly { name: string; webkitRelativePath?: string }[]): void {
  const names = files.map(({ name, webkitRelativePath }) => webkitRelativePath || name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new EngineError(
      'bad_request',
      `model has two files named ${twice}: pass files with their paths in the folder`,
      { param: 'model' },
    );
}
