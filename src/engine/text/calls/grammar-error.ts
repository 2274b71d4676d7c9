// Converts errors of the grammar room to EngineErrors with the same code, message and parameter.

import { EngineError } from '../../../files/error.ts';
import { GrammarError } from '../../../grammar/bounds/grammar-error.ts';

/** Returns the EngineError for a GrammarError, and any other error unchanged. */
export function fromGrammarError(error: unknown): unknown {
  if (!(error instanceof GrammarError)) return error;
  const { code, message, param } = error;
  return new EngineError(code, message, { ...(param !== null && { param }), cause: error });
}

/** Runs `make`; rethrows its GrammarErrors as EngineErrors. */
export function withEngineErrors<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw fromGrammarError(error);
  }
}
