// Errors of the grammar room as the engine's own, with the same code, message and parameter.

import { EngineError } from '../../files/error.ts';
import { GrammarError } from '../../grammar/grammar-error.ts';

/** The EngineError of a GrammarError; any other error as it is. */
export function fromGrammarError(error: unknown): unknown {
  if (!(error instanceof GrammarError)) return error;
  const { code, message, param } = error;
  return new EngineError(code, message, { ...(param !== null && { param }), cause: error });
}

/** Runs `make`; throws EngineErrors in place of GrammarErrors. */
export function withEngineErrors<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw fromGrammarError(error);
  }
}
