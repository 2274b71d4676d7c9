// Errors as plain data, for messages between threads.

import { EngineError, type ErrorCode } from '../../files/error.ts';
import type { MessagePart } from '../../files/message.ts';

export interface WireError {
  /** null: the error is not an EngineError. */
  code: ErrorCode | null;
  message: string;
  /** The message in pieces; left out if no piece is the name of a setting. */
  parts?: readonly MessagePart[];
  param: string | null;
}

export function toWire(error: unknown): WireError {
  if (error instanceof EngineError)
    return { code: error.code, message: error.message, parts: error.parts, param: error.param };
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: null, message, param: null };
}

export function fromWire({ code, message, parts, param }: WireError): Error {
  if (code === null) return new Error(message);
  return new EngineError(code, parts ? { parts } : message, param === null ? {} : { param });
}

/** The error for a request that cannot be posted to another thread. */
export function notData(cause: unknown): EngineError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new EngineError(
    'bad_request',
    `the request is not plain data (${reason}): leave out functions and class instances`,
    { cause },
  );
}
