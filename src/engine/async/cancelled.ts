// The errors of an opening that was cancelled, and of what is asked of a model that is closed.

import { EngineError } from '../../files/error.ts';

/** The error for requests to a closed model. */
export function closedError(): EngineError {
  return new EngineError('cancelled', 'the model is closed: open it again');
}

export function openingCancelled(): EngineError {
  return new EngineError('cancelled', 'opening the model was cancelled');
}
