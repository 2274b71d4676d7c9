// The error that a tape throws for a tensor that the adapter cannot bind.

import { EngineError } from '../files/error.ts';

/** An operand is larger than the adapter binds; whoever knows what the tape is for says it in the words of its user. */
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
