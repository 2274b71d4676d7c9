// Errors that the GPU layer reports outside of any error scope, as errors of the engine.

import { say } from '../files/message.ts';
import { EngineError } from '../files/error.ts';
import { PLAIN_REMEDIES } from './memory.ts';
import type { MemoryRemedies } from './memory.ts';

/** Converts an uncaptured error of the GPU layer to an EngineError; running out of memory keeps its code. */
export function toEngineError(
  error: GPUError,
  { device: remedy }: Pick<MemoryRemedies, 'device'> = PLAIN_REMEDIES,
): EngineError {
  return error instanceof GPUOutOfMemoryError
    ? new EngineError('out_of_memory', say`the GPU is out of memory (${error.message}): ${remedy}`)
    : new EngineError('internal', `the GPU layer reported: ${error.message}`);
}
