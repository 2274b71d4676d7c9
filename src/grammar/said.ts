// Where in a request something is wrong.

import { EngineError } from '../files/error.ts';

/** What `make` throws names `param`, unless it names a place of its own. */
export function said<T>(param: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof EngineError) || error.param !== null) throw error;
    throw new EngineError(error.code, error.message, { param, cause: error });
  }
}
