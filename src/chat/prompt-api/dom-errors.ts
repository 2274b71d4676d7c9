// Errors of the Prompt API: DOMExceptions by the names of its specification.

import { EngineError } from '../../files/error.ts';

const NAMES: Partial<Record<EngineError['code'], string>> = {
  context_length_exceeded: 'QuotaExceededError',
  unsupported: 'NotSupportedError',
  bad_request: 'SyntaxError',
  cancelled: 'AbortError',
};

export const domError = (name: string, message: string, cause?: unknown): DOMException => {
  const error = new DOMException(message, name);
  return cause === undefined ? error : Object.assign(error, { cause });
};

export const unsupportedHere = (message: string): DOMException => domError('NotSupportedError', message);

/** The error of a call; after an abort, the reason of its signal. */
export function promptError(error: unknown, signal?: AbortSignal): unknown {
  if (error instanceof DOMException) return error;
  if (signal?.aborted) return signal.reason;
  if (!(error instanceof EngineError)) return error;
  return domError(NAMES[error.code] ?? 'OperationError', error.message, error);
}
