// Errors as plain data, for messages between threads.

import { badRequest, EngineError, type ErrorCode } from '../../files/error.ts';
import { option, say, type MessagePart } from '../../files/message.ts';

export interface WireError {
  /** null: the error is not an EngineError. */
  code: ErrorCode | null;
  message: string;
  /** The message in pieces; left out if no piece is the name of a setting. */
  parts?: readonly MessagePart[];
  param: string | null;
}

export function toWire(thrown: unknown): WireError {
  const error = isAllocationFailure(thrown) ? outOfMemory(thrown) : thrown;
  if (error instanceof EngineError)
    return { code: error.code, message: error.message, parts: error.parts, param: error.param };
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: null, message, param: null };
}

/** How V8, SpiderMonkey and JavaScriptCore say that an ArrayBuffer cannot be allocated. */
function isAllocationFailure(error: unknown): error is Error {
  if (!(error instanceof Error) || !/^(RangeError|InternalError)$/.test(error.name)) return false;
  return /array buffer allocation failed|out of memory/i.test(error.message);
}

function outOfMemory(cause: Error): EngineError {
  const remedy = say`close other models and pages, choose a smaller model or ${option('quantization')} int4`;
  return new EngineError('out_of_memory', say`the host has no memory left (${cause.message}): ${remedy}`, {
    cause,
  });
}

export function fromWire({ code, message, parts, param }: WireError): Error {
  if (code === null) return new Error(message);
  return new EngineError(code, parts ? { parts } : message, param === null ? {} : { param });
}

/** The error for a request that cannot be posted to another thread. */
export function notData(cause: unknown): EngineError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return badRequest(
    `the request is not plain data (${reason}): leave out functions and class instances`,
    undefined,
    cause,
  );
}
