// Names of models that are paths on this machine.
import { readdir, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ggufSets } from '../gguf/file-names.ts';
import { splitTag, withTag } from './hub-gguf.ts';

/**
 * The path that a name stands for on this machine: an existing file or folder, or the GGUF file of a quantization in a folder; null: none.
 * Throws model_not_found where a folder has no such quantization.
 */
export async function localPath(model: string): Promise<string | null> {
  if (model !== '' && (await stat(model).catch(() => null))) return resolve(model);
  const { id, tag } = splitTag(model);
  if (tag === null || !(await stat(id).catch(() => null))?.isDirectory()) return null;
  const sets = ggufSets(await readdir(id));
  return resolve(id, withTag(id, sets, tag).names[0]!);
}
