// Errors of tapes and of the GPU layer as errors of the engine.

import { EngineError, internalError } from '../files/error.ts';

/** An operand exceeds the adapter's binding limit. A caller that knows the tape's purpose rewords the error for its user. */
export class BindingError extends EngineError {
  readonly bytes: number;
  readonly limit: number;

  constructor(operand: string, bytes: number, limit: number) {
    const message = `${operand} spans ${bytes} bytes, a binding at most ${limit} here: choose a smaller size`;
    super('out_of_memory', message);
    this.bytes = bytes;
    this.limit = limit;
  }
}

/** Converts an uncaptured error of the GPU layer to an EngineError; running out of memory keeps its code. */
export function toEngineError(error: GPUError): EngineError {
  return error instanceof GPUOutOfMemoryError
    ? new EngineError('out_of_memory', `the GPU is out of memory (${error.message})`)
    : internalError(`the GPU layer reported: ${error.message}`);
}
