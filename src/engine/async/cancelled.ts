// The errors of what was cancelled, or asked of a model that is closed.

import { EngineError } from '../../files/error.ts';

/** The error for a request that is aborted before the model has got it. */
export function cancelledBefore(): EngineError {
  return new EngineError('cancelled', 'the request was cancelled before it began');
}

/** The error for requests to a closed model. */
export function closedError(): EngineError {
  return new EngineError('cancelled', 'the model is closed: open it again');
}

export function openingCancelled(): EngineError {
  return new EngineError('cancelled', 'opening the model was cancelled');
}
