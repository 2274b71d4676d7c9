// Exit codes: the only place that maps error codes to numbers.

import { EngineError, type ErrorCode } from '../../files/error.ts';

export const EXIT = { ok: 0, failed: 1, usage: 2, refused: 3, outOfMemory: 4, interrupted: 130 } as const;

/** An error in the command line; the message names the option and the remedy. */
export class UsageError extends Error {}

const CODES: Partial<Record<ErrorCode, number>> = {
  bad_request: EXIT.usage,
  model_not_found: EXIT.refused,
  bad_checkpoint: EXIT.refused,
  unsupported: EXIT.refused,
  // The network is used only to fetch models.
  network: EXIT.refused,
  out_of_memory: EXIT.outOfMemory,
  cancelled: EXIT.interrupted,
};

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  return error instanceof EngineError ? (CODES[error.code] ?? EXIT.failed) : EXIT.failed;
}
