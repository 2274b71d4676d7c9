// Common part of every request to a model: it is aborted when its client leaves or the server stops, and the unknown names in its
// body are listed in a response header.

import type { H3Event } from 'h3';
import type { UnenforcedKeyword } from '../../index.ts';
import { RequestError } from '../http/errors.ts';
import { SHUTDOWN, type Service } from './service.ts';

/** Aborts in the tick in which the connection closes; where the request's events are kept, when those have no reader any more. */
export function abortWithClient({ req, context: { call, kept } }: H3Event): AbortController {
  const abort = new AbortController();
  const left = kept?.left ?? req.signal;
  left.addEventListener('abort', () => abort.abort(), { once: true });
  if (left.aborted) abort.abort();
  abort.signal.addEventListener('abort', () => {
    if (call && abort.signal.reason === SHUTDOWN) call.cutShort = true;
  });
  return abort;
}

/**
 * Runs a call whose signal aborts when the client leaves or the server stops. `done`: what had to happen before, for the errors that the
 * call throws then.
 */
export async function whileClientWaits<T>(
  service: Service,
  event: H3Event,
  done: string,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = abortWithClient(event);
  service.running.add(abort);
  try {
    return await call(abort.signal);
  } catch (error) {
    if (!abort.signal.aborted) throw error;
    throw abort.signal.reason === SHUTDOWN
      ? new RequestError('stopping', `the server shut down before ${done}; send the request again`)
      : new RequestError('cancelled', `the client left before ${done}`);
  } finally {
    service.running.delete(abort);
  }
}

/** Counts a request as running until its events end. */
export async function* whileRunning<T>(
  service: Service,
  abort: AbortController,
  events: AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> {
  service.running.add(abort);
  try {
    yield* events;
  } finally {
    service.running.delete(abort);
  }
}

export function listIgnored(event: H3Event, names: string[]): void {
  if (names.length > 0) event.res.headers.set('x-svc-ignored', headerList(names));
}

/** Lists the keywords of tools' parameters that do not restrict calls, as in `weather#/properties/days/multipleOf`. */
export function listUnenforced(event: H3Event, keywords: readonly UnenforcedKeyword[]): void {
  const names = keywords.map(({ tool, pointer, keyword }) => {
    return `${tool}#${pointer}${keyword === null ? '' : `/${keyword}`}`;
  });
  const escape = (name: string): string => encodeURI(name).replaceAll(',', '%2C');
  if (names.length > 0) event.res.headers.set('x-svc-unenforced', headerList(names, escape));
}

/** Names that a client sent, as the value of a header: escaped and shortened. */
function headerList(names: string[], escape: (name: string) => string = encodeURIComponent): string {
  const listed: string[] = [];
  let length = 0;
  for (const name of names) {
    const escaped = name.length > 1000 ? name : escape(name);
    length += escaped.length + 2;
    if (length > 1000) return [...listed, '...'].join(', ');
    listed.push(escaped);
  }
  return listed.join(', ');
}
