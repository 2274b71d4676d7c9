// Requests to the server that the page came from. The key is kept in the browser's storage; a refusal for want of one opens the dialog
// that asks for it, and the request is sent again.

import { signal } from '@preact/signals';

const STORED = 'svc-key';

/** A refusal of the server, in its own words. */
export class ServerError extends Error {
  /** HTTP status; 0 where the server cannot be reached. */
  readonly status: number;
  /** Code of the error, for example `context_length_exceeded`. */
  readonly code: string;
  /** Name of the field that is to blame. */
  readonly param: string | null;

  constructor(message: string, { status = 0, code = 'unreachable', param = null as string | null } = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

/** Why a key is asked for, and what continues the requests that wait for it; null: no key is asked for. */
export const keyWanted = signal<{ reason: string; given: PromiseWithResolver } | null>(null);

interface PromiseWithResolver {
  promise: Promise<void>;
  resolve(): void;
}

/** Stores the key and sends the waiting requests again. */
export function giveKey(key: string): void {
  localStorage.setItem(STORED, key);
  const wanted = keyWanted.value;
  keyWanted.value = null;
  wanted?.given.resolve();
}

/**
 * Sends a request to a path of the server, without a slash before it. Throws ServerError for any status but 2xx and where the server
 * cannot be reached; the reason of `init.signal` when that is aborted.
 */
export async function call(path: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const response = await send(path, init);
    if (response.ok) return response;
    const error = await errorOf(response);
    if (response.status !== 401) throw error;
    await askForKey(error.message);
  }
}

/** Sends JSON, or nothing, and reads the reply as JSON. */
export async function callJson<T>(path: string, body?: unknown, init: RequestInit = {}): Promise<T> {
  const headers = new Headers(init.headers);
  if (body !== undefined) headers.set('content-type', 'application/json');
  const sent: RequestInit =
    body === undefined ? init : { method: 'POST', body: JSON.stringify(body), ...init, headers };
  const response = await call(path, sent);
  return (await response.json()) as T;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  const key = localStorage.getItem(STORED);
  if (key) headers.set('authorization', `Bearer ${key}`);
  try {
    return await fetch(path, { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted) throw init.signal.reason;
    throw new ServerError(`The server cannot be reached (${String(error)}); check that it still runs.`);
  }
}

/** The error of a reply, in any of the server's forms. */
export async function errorOf(response: Response): Promise<ServerError> {
  const { status } = response;
  const body = (await response.json().catch(() => null)) as { error?: ErrorBody | string } | null;
  const error = typeof body?.error === 'string' ? { message: body.error } : (body?.error ?? {});
  const { message = `The server answered ${status}.`, code = null, param = null } = error;
  return new ServerError(message, { status, code: code ?? String(status), param });
}

interface ErrorBody {
  message?: string;
  code?: string | null;
  param?: string | null;
}

async function askForKey(reason: string): Promise<void> {
  const open = keyWanted.value;
  if (open) return open.given.promise;
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  keyWanted.value = { reason, given: { promise, resolve } };
  return promise;
}
