// Renames fields in errors: a request of another interface is converted to a chat completion, and its errors name the fields that
// the client sent.

import { EngineError } from '../../index.ts';
import { RequestError } from '../http/errors.ts';

/**
 * The path of a member of a chat completion and the path that stands for it in the other request. A path names the member and all
 * below it; `*` is one part of a path, and `**` at the end the rest of it, which is then left out.
 */
export type Renames = readonly (readonly [chat: string, own: string])[];

/** The path in the client's request; null if it is the same. */
function renamedPath(path: string, renames: Renames): string | null {
  const parts = path.split('.');
  for (const [chat, own] of renames) {
    const wanted = chat === '' ? [] : chat.split('.');
    const isWhole = wanted.at(-1) === '**';
    if (isWhole) wanted.pop();
    const fits = wanted.length <= parts.length && wanted.every((one, at) => one === '*' || one === parts[at]);
    if (!fits) continue;
    const stars = wanted.flatMap((one, at) => (one === '*' ? [parts[at]!] : []));
    const named = own.split('.').map((one) => (one === '*' ? stars.shift()! : one));
    return [...named, ...(isWhole ? [] : parts.slice(wanted.length))].join('.');
  }
  return null;
}

export function renameParam(error: unknown, renames: Renames): unknown {
  if (!(error instanceof RequestError || error instanceof EngineError) || error.param === null) return error;
  return error.withPaths((path) => renamedPath(path, renames));
}

/** Returns the result of `run`; its errors are renamed. */
export function underNames<T>(renames: Renames, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw renameParam(error, renames);
  }
}

/** The same for a promise. */
export async function underNamesLater<T>(renames: Renames, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw renameParam(error, renames);
  }
}
