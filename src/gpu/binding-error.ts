// The error that a tape throws for a tensor that the adapter cannot bind.

import { EngineError } from '../files/error.ts';

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
