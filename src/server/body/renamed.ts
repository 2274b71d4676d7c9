// Errors under the names of another interface: what was found wrong with the chat completion that a request was made into, said of
// the field that the client sent.

import { EngineError } from '../../index.ts';
import { RequestError } from '../errors.ts';

/** A field's name in a chat completion, or its beginning, and what stands for it. */
export type Renames = readonly (readonly [chat: RegExp, own: string])[];

export function renameParam(error: unknown, renames: Renames): unknown {
  if (!(error instanceof RequestError || error instanceof EngineError) || error.param === null) return error;
  const { code, param } = error;
  const rename = renames.find(([pattern]) => pattern.test(param));
  if (!rename) return error;
  const own = param.replace(rename[0], rename[1]);
  const message = error.message.replaceAll(param, own);
  return new RequestError(code, message, { param: own });
}

/** Returns the result of `run`; its errors are renamed. */
export function underNames<T>(renames: Renames, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw renameParam(error, renames);
  }
}
