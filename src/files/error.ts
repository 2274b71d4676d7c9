// The only error that the product throws deliberately. A message states the subject, the value and the remedy in one sentence.

import {
  type Message,
  type MessagePart,
  type Names,
  type Prose,
  partsOf,
  say,
  subject,
  textOf,
  withPaths,
} from './message.ts';

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
  /** The request field or file that caused the error, if any. */
  readonly param: string | null;
  readonly #parts: readonly MessagePart[];

  constructor(code: ErrorCode, message: Prose, options: { param?: string; cause?: unknown } = {}) {
    super(brief(textOf(message)), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'EngineError';
    this.code = code;
    this.param = options.param ?? null;
    this.#parts = partsOf(message, this.param);
  }

  /** The message in pieces, in which names of options and fields are separate. Consoles do not print it, as the message says the same. */
  get parts(): readonly MessagePart[] {
    return this.#parts;
  }

  /** Returns the message with the names of an interface. */
  textWith(names: Names): string {
    return brief(textOf(this, names));
  }

  /** Returns the error with `name` in place of the parameter that is the message's subject. */
  underName(name: string): EngineError {
    const { code, param, cause } = this;
    const [first, ...rest] = this.parts;
    const begins = typeof first === 'object' && 'field' in first && first.field === param;
    const message: Message = begins
      ? { parts: [subject(name), ...rest] }
      : { parts: [`${name}: `, ...this.parts] };
    return new EngineError(code, message, { param: name, cause });
  }

  /** Returns the error with the paths of another interface; `pathOf` returns null for a path that is the same there. */
  withPaths(pathOf: (path: string) => string | null): EngineError {
    const { code, param, cause } = this;
    const own = param === null ? null : (pathOf(param) ?? param);
    return new EngineError(code, withPaths(this, pathOf), { ...(own !== null && { param: own }), cause });
  }
}

/** Memory that does not suffice, with what to do about it in general, which a caller that knows the circumstances may replace. */
export class MemoryError extends EngineError {
  /** The message without its remedy. */
  readonly problem: Message;

  constructor(problem: Message, remedy: Message) {
    super('out_of_memory', say`${problem}: ${remedy}`);
    this.problem = problem;
  }
}

/** Makes errors of one code. `param`: the request field, file or tensor that caused the error. */
const errorsOf =
  (code: ErrorCode) =>
  (message: Prose, param?: string, cause?: unknown): EngineError =>
    new EngineError(code, message, { ...(param !== undefined && { param }), cause });

export const badCheckpoint = errorsOf('bad_checkpoint');
export const badRequest = errorsOf('bad_request');
export const modelNotFound = errorsOf('model_not_found');
export const unsupported = errorsOf('unsupported');
export const networkError = errorsOf('network');
export const internalError = errorsOf('internal');

/** Returns the message of an Error, and any other thrown value as text. */
export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** Returns the code of a system error, such as ENOENT; of any other thrown value its text. */
export const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);

/** Limits on the characters of a word and of a message: values of files and requests in messages may have any length. */
const MOST_OF_WORD = 300;
const MOST_OF_MESSAGE = 2000;

/** Shortens overlong words in the middle, and an overlong message at its end. */
function brief(message: string): string {
  const words = message.replaceAll(
    LONG_WORD,
    (word) => `${word.slice(0, MOST_OF_WORD - 40)}…${word.slice(-20)}`,
  );
  return words.length > MOST_OF_MESSAGE ? `${words.slice(0, MOST_OF_MESSAGE)}…` : words;
}

const LONG_WORD = new RegExp(`\\S{${MOST_OF_WORD + 1},}`, 'g');
