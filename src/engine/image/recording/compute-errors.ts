// Errors that end a computation.

import { EngineError } from '../../../files/error.ts';

export class NotFiniteError extends EngineError {
  constructor() {
    super(
      'internal',
      'the model computed values that are not finite numbers: the checkpoint may be damaged; fetch it again, or try `allF32`',
    );
  }
}

/** Throws cancelled if the request was aborted. */
export function assertWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled');
}
