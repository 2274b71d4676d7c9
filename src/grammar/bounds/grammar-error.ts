// The error of the grammar room. The engine turns it into its own error with the same code, message and parameter.

export type GrammarErrorCode =
  /** The grammar or the text is wrong, or larger than the limits allow. */
  | 'bad_request'
  /** The grammar is a valid one of its kind and uses a feature that is not supported. */
  | 'unsupported'
  /** The compilation was ended, since nobody waits for it. */
  | 'cancelled'
  /** A caller broke the contract of a function. */
  | 'internal';

export class GrammarError extends Error {
  readonly code: GrammarErrorCode;
  /** The request field that the error is about, as in `constraint.schema`; null: not known here. */
  readonly param: string | null;

  constructor(
    code: GrammarErrorCode,
    message: string,
    { param = null, cause }: { param?: string | null; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'GrammarError';
    this.code = code;
    this.param = param;
  }
}

/** A copy of `error` with some of its members changed, and `error` as its cause. */
export function changedError(
  error: GrammarError,
  { code = error.code, param = error.param }: { code?: GrammarErrorCode; param?: string | null },
): GrammarError {
  return new GrammarError(code, error.message, { param, cause: error });
}

/** Runs `make`; a GrammarError without a parameter gets `param`. */
export function withParam<T>(param: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof GrammarError) || error.param !== null) throw error;
    throw changedError(error, { param });
  }
}
