// Common part of every request to a model: it ends with its client or with the server, and names it sent that nobody knows
// are listed in its reply.

import type { H3Event } from 'h3';
import { SHUTDOWN, type Service } from './service.ts';

/** Aborts in the tick in which the connection closes. */
export function abortWithClient({ req, context: { call } }: H3Event): AbortController {
  const abort = new AbortController();
  req.signal.addEventListener('abort', () => abort.abort(), { once: true });
  if (req.signal.aborted) abort.abort();
  abort.signal.addEventListener('abort', () => {
    if (call && abort.signal.reason === SHUTDOWN) call.cutShort = true;
  });
  return abort;
}

/** Keeps a request among the running ones until its events end. */
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

/** Names a client made up, fit for a header: escaped, and no longer than headers may be. */
function headerList(names: string[]): string {
  const kept: string[] = [];
  let length = 0;
  for (const name of names) {
    const escaped = name.length > 1000 ? name : encodeURIComponent(name);
    length += escaped.length + 2;
    if (length > 1000) return [...kept, '...'].join(', ');
    kept.push(escaped);
  }
  return kept.join(', ');
}
