// Bounds how slowly a request may arrive. Its headers have a fixed time, which Node watches; its body has the same time, and more for what
// has arrived, so that large bodies that progress are never cut, and connections that trickle do not stay.

import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http';
import { LIMITS } from '../../options/limits.ts';
import { RequestError } from './errors.ts';

/** Bytes of a body that extend its time by one second. */
const LEAST_RATE = 16 * 2 ** 10;
/** Milliseconds between two looks at headers that have not arrived, at most. */
const CHECK_TIME = 5000;
/** Milliseconds that the reply to a late request gets to be sent before its connection is closed. */
export const LAST_READ_TIME = 1000;

const lateRequests = new WeakMap<object, AbortController>();

/** Settings of Node's server, which closes connections whose headers take longer than `time` milliseconds. Bodies have no such limit there. */
export function headerLimits(time: number): ServerOptions {
  return {
    headersTimeout: time,
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(Math.ceil(time / 2), CHECK_TIME),
  };
}

/** Milliseconds that a body has left, of which so many bytes arrived in so many milliseconds. */
export function timeLeft(time: number, { bytes, elapsed }: { bytes: number; elapsed: number }): number {
  return time + (1000 * bytes) / LEAST_RATE - elapsed;
}

/** Ends a request whose body arrives too slowly: its reader gets an error that can still be the reply, and then the connection is closed. */
export function watchBody(request: IncomingMessage, response: ServerResponse, time: number): void {
  const { socket } = request;
  const begun = performance.now();
  const before = socket.bytesRead;
  const late = new AbortController();
  lateRequests.set(request, late);
  let timer: NodeJS.Timeout;
  const look = () => {
    if (request.complete || socket.destroyed) return;
    const bytes = socket.bytesRead - before;
    const left = timeLeft(time, { bytes, elapsed: performance.now() - begun });
    if (left > 0) return wait(left);
    // Whatever was answered by now, the rest of the body is not needed for it.
    if (response.headersSent) return void socket.destroy();
    late.abort(bodyLate(time));
    timer = setTimeout(() => socket.destroy(), LAST_READ_TIME).unref();
  };
  // Where this process was busy, bytes that have arrived meanwhile are counted before the time is judged.
  const wait = (left: number) => {
    timer = setTimeout(() => setImmediate(look), Math.min(left, LIMITS.timeout)).unref();
  };
  wait(time);
  // Also where the connection closes; a listener of the connection would stay for all of its requests.
  request.once('close', () => clearTimeout(timer));
}

/** Aborts with the error of a body that arrives too slowly; undefined for requests that nothing watches. */
export function lateSignal(request: Request): AbortSignal | undefined {
  const node = (request as { runtime?: { node?: { req?: object } } }).runtime?.node?.req;
  return node && lateRequests.get(node)?.signal;
}

const seconds = (time: number): string => `${time / 1000} seconds (--receive-timeout)`;

export const headersLate = (time: number): RequestError =>
  new RequestError(
    'late_request',
    `the headers did not arrive within ${seconds(time)}; send the request again`,
  );

const bodyLate = (time: number): RequestError =>
  new RequestError(
    'late_request',
    `the body arrived too slowly: it has ${seconds(time)}, and one more for each ${LEAST_RATE / 2 ** 10} KiB that have come; send a smaller one, or by a faster connection`,
  );
