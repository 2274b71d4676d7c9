// Errors as HTTP: the only place that maps codes to a status and to the OpenAI error envelope.

import {
  type MessagePart,
  type Names,
  type Prose,
  partsOf,
  say,
  subject,
  textOf,
  withPaths,
} from '../../files/message.ts';
import { EngineError, type ErrorCode } from '../../index.ts';
import { modelOption } from '../../options/names.ts';

/** A request this server refuses before the engine sees it. */
export class RequestError extends Error {
  readonly code: RequestErrorCode | ErrorCode;
  readonly param: string | null;
  /** The message as pieces, in which names of options and fields are separate. */
  readonly parts: readonly MessagePart[];
  readonly headers: Record<string, string>;

  constructor(
    code: RequestErrorCode | ErrorCode,
    message: Prose,
    options: { param?: string; headers?: Record<string, string> } = {},
  ) {
    super(textOf(message));
    this.name = 'RequestError';
    this.code = code;
    this.param = options.param ?? null;
    this.parts = partsOf(message, this.param);
    this.headers = options.headers ?? {};
  }

  /** Returns the message with the names that an interface uses. */
  textWith(names: Names): string {
    return textOf(this, names);
  }

  /** Returns the error with the paths of another interface; `pathOf` returns null for a path that is the same there. */
  withPaths(pathOf: (path: string) => string | null): RequestError {
    const { code, param, headers } = this;
    const own = param === null ? null : (pathOf(param) ?? param);
    return new RequestError(code, withPaths(this, pathOf), { ...(own !== null && { param: own }), headers });
  }
}

/** An error about a field of the request; its message begins with the path of the field. */
export const fieldError = (
  param: string,
  text: Prose,
  code: RequestErrorCode | ErrorCode = 'invalid_value',
): RequestError => new RequestError(code, say`${subject(param)} ${text}`, { param });

/** Throws an error about a field. */
export function refuseField(...about: Parameters<typeof fieldError>): never {
  throw fieldError(...about);
}

/** The error of a reply that began before it failed; the text so far is sent with the error. */
export class CutShort extends Error {
  override readonly cause: Error;
  readonly reply: object;

  constructor(cause: Error, reply: object) {
    super(cause.message);
    this.name = 'CutShort';
    this.cause = cause;
    this.reply = reply;
  }
}

export interface ErrorReply {
  status: number;
  headers: Record<string, string>;
  body: { error: { message: string; type: string; param: string | null; code: string } };
}

interface Mapping {
  status: number;
  /** Seconds after which trying again makes sense. */
  retryAfter?: number;
  headers?: Record<string, string>;
}

/** Codes of the HTTP layer, beside those of the engine. */
const HTTP_CODES = {
  invalid_http: { status: 400 },
  headers_too_large: { status: 431 },
  late_request: { status: 408, headers: { connection: 'close' } },
  invalid_json: { status: 400 },
  invalid_form: { status: 400 },
  invalid_content_type: { status: 400 },
  unsupported_content_encoding: { status: 415 },
  invalid_type: { status: 400 },
  invalid_value: { status: 400 },
  missing_required_parameter: { status: 400 },
  unknown_parameter: { status: 400 },
  request_too_large: { status: 413 },
  invalid_api_key: { status: 401, headers: { 'www-authenticate': 'Bearer' } },
  forbidden_host: { status: 403 },
  forbidden_origin: { status: 403 },
  forbidden_model: { status: 403 },
  forbidden_route: { status: 403 },
  rate_limited: { status: 429 },
  not_found: { status: 404 },
  method_not_allowed: { status: 405 },
  // Codex falls back to plain HTTP at once on status 426; on any other it retries five times.
  no_websockets: { status: 426, headers: { upgrade: 'HTTP/1.1' } },
  busy: { status: 400 },
  starting: { status: 503, retryAfter: 1 },
  model_lost: { status: 503 },
  stopping: { status: 503, retryAfter: 5, headers: { connection: 'close' } },
} satisfies Record<string, Mapping>;

export type RequestErrorCode = keyof typeof HTTP_CODES;

const MAPPINGS: Record<RequestErrorCode | ErrorCode, Mapping> = {
  ...HTTP_CODES,
  bad_request: { status: 400 },
  unsupported: { status: 400 },
  context_length_exceeded: { status: 400 },
  model_not_found: { status: 404 },
  overloaded: { status: 429, retryAfter: 1 },
  // The client has gone or the server is closing: nobody reads this reply.
  cancelled: { status: 499 },
  internal: { status: 500 },
  bad_checkpoint: { status: 500 },
  network: { status: 502 },
  device_lost: { status: 503, retryAfter: 1 },
  out_of_memory: { status: 503 },
  timed_out: { status: 503, retryAfter: 1 },
  preempted: { status: 503, retryAfter: 1 },
  no_adapter: { status: 503 },
  disk_full: { status: 507 },
};

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** Maps the engine's `bad_request` to `invalid_value`, so that clients see one code for wrong values. */
const clientCode = (code: RequestErrorCode | ErrorCode): string =>
  code === 'bad_request' ? 'invalid_value' : code;

/** By this point fields have the client's own names; options are the flags of the command line that started the server. */
const FOR_CLIENTS: Names = { option: modelOption, field: (path) => path, isCommandLine: true };

/** Converts an error to a reply. The text of an unexpected error goes to the log only, not to the client. */
export function toErrorReply(error: unknown): ErrorReply {
  const known = isForeseen(error);
  const code = known ? error.code : 'internal';
  const { retryAfter, headers, ...mapped } = MAPPINGS[code];
  // If the memory that a field asks for can never be available, retrying is useless and the error is the client's.
  const isOwnFault = known && code === 'out_of_memory' && error.param !== null;
  const status = isOwnFault ? 400 : mapped.status;
  const retry =
    retryAfter === undefined
      ? undefined
      : { 'retry-after': String(retryAfter), 'retry-after-ms': String(retryAfter * 1000) };
  return {
    status,
    headers: { ...headers, ...retry, ...(error instanceof RequestError ? error.headers : undefined) },
    body: {
      error: {
        message: known ? error.textWith(FOR_CLIENTS) : 'the server failed on this request; its log says why',
        type: typeOf(status),
        param: known ? error.param : null,
        code: clientCode(code),
      },
    },
  };
}

const ANTHROPIC_TYPES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};

/** The form of an interface's errors. */
export interface Envelope {
  /** Name of its schema in /openapi.json. */
  schema: string;
  /** The error in a stream. */
  event(reply: ErrorReply): object;
  /** The error as a whole reply, with the id of the request and the text of a reply that was cut short; default: as in a stream. */
  whole?(reply: ErrorReply, about: { requestId: string | null; cutShort: object }): object;
}

export const OPENAI_ERRORS: Envelope = {
  schema: 'OpenAiError',
  event: ({ body }) => body,
  whole: ({ body }, { cutShort }) => ({ ...cutShort, ...body }),
};

export const ANTHROPIC_ERRORS: Envelope = {
  schema: 'AnthropicError',
  event({ status, body }) {
    const type = ANTHROPIC_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
    return { type: 'error', error: { type, message: body.error.message } };
  },
  whole: (reply, { requestId }) => ({ ...ANTHROPIC_ERRORS.event(reply), request_id: requestId }),
};

export const OLLAMA_ERRORS: Envelope = {
  schema: 'OllamaError',
  event: ({ body }) => ({ error: body.error.message }),
};

/** Returns true for errors whose stack trace belongs in the log: anything but a deliberate error, and internal errors. */
export function isUnforeseen(error: unknown): boolean {
  return !isForeseen(error);
}

function isForeseen(error: unknown): error is RequestError | EngineError {
  return (error instanceof RequestError || error instanceof EngineError) && error.code !== 'internal';
}
