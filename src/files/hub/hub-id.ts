// Ids and revisions that hubs allow, and suggestions for invalid ones.

import { type Prose, option, say } from '../message.ts';
import { badRequest, modelNotFound } from '../error.ts';
import { isTensorFile } from '../tensors/tensor-file.ts';
import type { ModelCache } from './hub-cache.ts';
import { nearestModel } from './hub-nearest.ts';

/** Throws for an id that is not org/name as the hubs allow it; such a text is treated as a path that does not exist. */
export async function checkId(id: string, cache: ModelCache): Promise<void> {
  const isFile = isTensorFile(id);
  const isId =
    !isFile &&
    /^[\w-][\w.-]*\/[\w-][\w.-]*$/.test(id) &&
    !/--|\.\.|[.-](\/|$)|\.git$/.test(id) &&
    id.length <= 96;
  if (isId) return;
  const near = await nearestModel(id, cache);
  const hint = near ? `; did you mean ${near}` : '';
  const written = writtenAsId(id);
  if (written !== null) {
    throw modelNotFound(say`'${id}' is not how a model is named here: ${written}${hint}`, 'model');
  }
  const isPath = isFile || /^[./~]|[\\:]|\/.*\//.test(id);
  if (isPath) throw modelNotFound(`there is no file or folder '${id}'${hint || '; check the path'}`, 'model');
  throw modelNotFound(
    `'${id}' is neither an existing folder nor a model id of the form org/name, such as Qwen/Qwen3-0.6B or stabilityai/sd-turbo${hint || '; huggingface.co/models lists them'}`,
    'model',
  );
}

export function checkRevision(revision: string): string {
  const isSafe =
    /^[\w][\w./+@-]*$/.test(revision) &&
    !/\.\.|\/\/|\/$|\.lock$/.test(revision) &&
    !revision.split('/').some((part) => part.startsWith('.'));
  if (isSafe) return revision;
  throw badRequest(`'${revision}' cannot be a revision; name a branch, a tag or a commit`, 'revision');
}

/** Returns an id that was written for another program in this program's form; null for any other text. */
function writtenAsId(given: string): Prose | null {
  const [, path] = /^(?:https?:\/\/|hf:\/\/)([^?#]*)/i.exec(given) ?? [];
  if (path !== undefined) {
    const segments = path.split('/').filter(Boolean);
    const [owner, name] = /^hf:/i.test(given) ? segments : segments.slice(1);
    return owner && name
      ? `write its id, ${owner}/${name}`
      : 'write the id of a model, org/name, without the address of its page';
  }
  if (/^[\w.-]+(\/[\w.-]+)?:[\w.-]+$/.test(given))
    return say`write the id that the model has on the hub, org/name; a branch or tag goes with ${option('revision')}`;
  return null;
}
