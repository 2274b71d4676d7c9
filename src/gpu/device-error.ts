// Errors that the GPU layer reports outside of any error scope, as errors of the engine.

import { EngineError } from '../files/error.ts';

/** Converts an uncaptured error of the GPU layer to an EngineError; running out of memory keeps its code. */
export function toEngineError(error: GPUError): EngineError {
  return error instanceof GPUOutOfMemoryError
    ? new EngineError('out_of_memory', `the GPU is out of memory (${error.message})`)
    : new EngineError('internal', `the GPU layer reported: ${error.message}`);
}
