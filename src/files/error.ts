// The one error the product throws on purpose. A message says what, the value, and the remedy, in one sentence.

export type ErrorCode =
  | 'bad_request'
  | 'model_not_found'
  | 'bad_checkpoint'
  | 'context_length_exceeded'
  | 'out_of_memory'
  | 'device_lost'
  | 'cancelled'
  | 'unsupported'
  | 'overloaded'
  | 'timed_out'
  | 'preempted'
  | 'no_adapter'
  | 'network'
  | 'disk_full'
  | 'internal';

export class EngineError extends Error {
  readonly code: ErrorCode;
  /** The request field or file the error is about, where there is one. */
  readonly param: string | null;

  constructor(code: ErrorCode, message: string, options: { param?: string; cause?: unknown } = {}) {
    super(brief(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'EngineError';
    this.code = code;
    this.param = options.param ?? null;
  }

  /** The same, about what the caller calls `name`: a message that begins with the parameter begins with that name instead. */
  underName(name: string): EngineError {
    const { code, message, param, cause } = this;
    const begins = param !== null && message.startsWith(`${param} `);
    const renamed = begins ? `${name}${message.slice(param.length)}` : `${name}: ${message}`;
    return new EngineError(code, renamed, { param: name, cause });
  }
}

/** Characters of a word, and of a message: values of foreign files and requests stand in messages, and may be of any length. */
const MOST_OF_WORD = 300;
const MOST_OF_MESSAGE = 2000;

/** A message with the middle of its overlong words, and its end, left out. */
function brief(message: string): string {
  const words = message.replaceAll(
    LONG_WORD,
    (word) => `${word.slice(0, MOST_OF_WORD - 40)}…${word.slice(-20)}`,
  );
  return words.length > MOST_OF_MESSAGE ? `${words.slice(0, MOST_OF_MESSAGE)}…` : words;
}

const LONG_WORD = new RegExp(`\\S{${MOST_OF_WORD + 1},}`, 'g');
