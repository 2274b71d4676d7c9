// Streaming requests that survive the loss of their connection and a reload of the page: the server keeps their events under an id.

import { call, ServerError } from './call.ts';
import { readEvents, type ServerEvent } from './events.ts';
import { newId } from './new-id.ts';

/** Times that a lost connection is taken up again without an event in between: they last about a minute, in which a server can restart. */
const MOST_TRIES = 14;
/** Milliseconds before the first of them; each next one waits twice as long, up to `MOST_WAIT`. */
const FIRST_WAIT = 200;
const MOST_WAIT = 6000;

export interface StreamRequest {
  /** Path of the route, without a slash before it. */
  path: string;
  /** Sent as JSON; `FormData` as a form. */
  body: unknown;
  /** From `newStreamId()`; store it before the request is sent, and a reloaded page finds the stream by it. */
  id: string;
  /** Ends reading; the request goes on unless `stopStream` is called, too. */
  signal?: AbortSignal;
}

export const newStreamId = (): string => `web-${newId()}`;

/** Sends a streaming request and reads its events. Throws ServerError, or the reason of the signal. */
export async function* startStream({ path, body, id, signal }: StreamRequest): AsyncGenerator<ServerEvent> {
  const headers = new Headers({ 'x-svc-resumable': '1', 'x-request-id': id });
  if (!(body instanceof FormData)) headers.set('content-type', 'application/json');
  const sent = body instanceof FormData ? body : JSON.stringify(body);
  const response = await call(path, { method: 'POST', headers, body: sent, ...(signal && { signal }) });
  yield* follow(response, id, 0, signal);
}

/** Reads the events of a stream after a number: 0 for all of them. Throws ServerError with status 404 if the server has it no longer. */
export async function* resumeStream(
  id: string,
  after = 0,
  signal?: AbortSignal,
): AsyncGenerator<ServerEvent> {
  yield* follow(null, id, after, signal);
}

/** Stops a stream's request. */
export async function stopStream(id: string): Promise<void> {
  await call(`v1/streams/${id}`, { method: 'DELETE' }).catch((error: unknown) => {
    // The stream has ended and is no longer kept.
    if (!(error instanceof ServerError) || error.status !== 404) throw error;
  });
}

const ask = (id: string, after: number, signal?: AbortSignal): Promise<Response> =>
  call(`v1/streams/${id}?after=${after}`, signal && { signal });

async function* follow(
  first: Response | null,
  id: string,
  after: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<ServerEvent> {
  let response = first;
  let last = after;
  for (let tries = 0; ;) {
    try {
      response ??= await ask(id, last, signal);
      for await (const event of readEvents(response)) {
        last = event.id ?? last;
        tries = 0;
        yield event;
      }
      return;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const isRefused = error instanceof ServerError && error.status !== 0;
      if (isRefused || tries === MOST_TRIES) throw error;
    }
    response = null;
    await pause(Math.min(MOST_WAIT, FIRST_WAIT * 2 ** tries), signal);
    tries += 1;
  }
}

/** Waits, at most until the signal aborts. */
function pause(time: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, time);
    signal?.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
