// Names of models that are paths on this machine.
import { readdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { EngineError, modelNotFound } from '../error.ts';
import { say } from '../message.ts';
import { ggufSets, isGgufName, setsText } from '../gguf/file-names.ts';
import { splitTag, withTag } from './hub-gguf.ts';

/**
 * The path that a name stands for on this machine: an existing file or folder, or the GGUF file of a quantization in a folder; null: none.
 * Throws model_not_found where a folder has no such quantization or no such GGUF file, and where a quantization is asked of a single file.
 */
export async function localPath(model: string): Promise<string | null> {
  if (model !== '' && (await stat(model).catch(() => null))) return resolve(model);
  const { id, tag } = splitTag(model);
  const found = await stat(id).catch(() => null);
  if (tag !== null && found?.isFile())
    throw notFound(`${id} is one file, whose tensors have types of their own: leave out :${tag}`);
  if (tag === null && isGgufName(model)) await refuseMissingFile(model);
  if (tag === null || !found?.isDirectory()) return null;
  const sets = ggufSets(await readdir(id));
  return resolve(id, withTag(id, sets, tag).names[0]!);
}

/** Throws for a GGUF file that its folder, which is there, does not have. */
async function refuseMissingFile(model: string): Promise<void> {
  const folder = dirname(model);
  const names = await readdir(folder).catch(() => null);
  if (names === null) return;
  const sets = ggufSets(names);
  throw notFound(
    `there is no file '${model}': ${sets.length === 0 ? 'check the path' : `its folder has ${setsText(sets)}`}`,
  );
}

/**
 * Waits for a model of the hub. Where it is not found, and the id begins with a folder of this machine, the error names both readings:
 * the id may be a mistyped path.
 */
export async function orMistypedPath<T>(model: string, found: Promise<T>): Promise<T> {
  return found.catch(async (error: unknown) => {
    const isUnknown = error instanceof EngineError && /^(model_not_found|network)$/.test(error.code);
    const folder = dirname(splitTag(model).id);
    const mayBeId = /^[\w-][\w.-]*$/.test(folder);
    if (!isUnknown || !mayBeId || !(await stat(folder).catch(() => null))?.isDirectory()) throw error;
    const { code, cause } = error;
    throw new EngineError(
      code,
      say`${error}; as a path, '${model}' is not in the folder '${folder}' either: check its name`,
      { param: 'model', cause },
    );
  });
}

function notFound(message: string): EngineError {
  return modelNotFound(message, 'model');
}
