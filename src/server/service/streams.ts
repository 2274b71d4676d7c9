// Streams that outlive their connection: a request with the header x-svc-resumable goes on when its client leaves, and its events can be
// read again under /v1/streams/{id}, where {id} is its x-request-id.

import type { H3Event } from 'h3';
import { refuseField, RequestError } from '../http/errors.ts';
import { KeptStream } from '../http/kept-stream.ts';
import { keyOf } from '../http/request-key.ts';
import { EVENTS } from '../http/sse.ts';
import type { RouteTable } from './route.ts';
import type { Service } from './service.ts';

/** Streams that are kept at once, those that run and those that have ended. */
const MOST_STREAMS = 64;
/** Bytes of events that are kept of one stream. */
const MOST_BYTES = 16 * 2 ** 20;
/** Bytes of the events of all streams, beyond which those that have ended are forgotten. */
const MOST_BYTES_TOGETHER = 128 * 2 ** 20;
/** Milliseconds that a stream is kept after its end, and that one runs without a reader. */
export const KEPT_TIME = 300_000;
export const ABANDONED_TIME = 180_000;

declare module 'h3' {
  interface H3EventContext {
    /** The stream that keeps the request's events. */
    kept?: KeptStream;
  }
}

/** Kept streams by their owner's key and their id. */
type Store = Map<string, KeptStream>;

const createStore = (): Store => new Map();

const addressOf = (event: H3Event, id: string): string =>
  JSON.stringify([keyOf(event.req.headers) ?? null, id]);

/** Begins to keep the events of a request that wants it; they come by `keepReply` or `keepError`. */
export function keepStream(service: Service, event: H3Event, id: string): void {
  const asked = event.req.headers.get('x-svc-resumable');
  if (asked === null) return;
  if (asked !== '1') refuseField('x-svc-resumable', `has to be 1, got ${JSON.stringify(asked)}`);
  const store = service.kept(createStore);
  const address = addressOf(event, id);
  const known = store.get(address);
  if (known && !known.hasEnded)
    refuseField('x-request-id', `${id} is that of a stream that still runs; send another one`);
  if (store.size >= MOST_STREAMS) makeRoom(store);
  service.replies += 1;
  const kept = new KeptStream({
    mostBytes: MOST_BYTES,
    abandonedTime: ABANDONED_TIME,
    client: event.req.signal,
    onEnd() {
      service.replies -= 1;
      shrink(store);
      setTimeout(() => forget(store, address, kept), KEPT_TIME).unref();
    },
  });
  store.delete(address);
  store.set(address, kept);
  event.context.kept = kept;
}

function forget(store: Store, address: string, kept: KeptStream): void {
  if (store.get(address) === kept) store.delete(address);
}

/** Forgets streams that have ended, the oldest first, while all of them have too many bytes. */
function shrink(store: Store): void {
  let total = [...store.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  for (const [address, { bytes, hasEnded }] of store) {
    if (total <= MOST_BYTES_TOGETHER) return;
    if (hasEnded && store.delete(address)) total -= bytes;
  }
}

/** Forgets the stream that ended first of those that are kept. Throws if all of them run. */
function makeRoom(store: Store): void {
  for (const [address, { hasEnded }] of store) if (hasEnded) return void store.delete(address);
  throw new RequestError(
    'overloaded',
    `${MOST_STREAMS} resumable streams run already; wait for one to end, or send the request without x-svc-resumable`,
  );
}

/** The reply of a request whose events are kept; replies that are no events are sent as they are. */
export function keepReply(service: Service, event: H3Event, value: unknown): unknown {
  const { kept } = event.context;
  if (!kept) return value;
  const isStream = event.res.headers.get('content-type')?.startsWith(EVENTS.type) ?? false;
  if (!isStream || !(value instanceof ReadableStream)) {
    kept.release();
    service.kept(createStore).delete(addressOf(event, event.context.call!.id));
    return value;
  }
  kept.follow(value as ReadableStream<Uint8Array>).catch((error: unknown) => service.log.error(error));
  return kept.read(0, event.req.signal);
}

/** Keeps the error of a request that has no other event, for a client that lost its connection before. */
export function keepError(event: H3Event, error: object): void {
  const { kept } = event.context;
  if (kept && !kept.hasEnded) kept.fail(error);
}

const idOf = ({ url }: H3Event): string => url.pathname.split('/').at(-1)!;

function findStream(service: Service, event: H3Event): KeptStream {
  const id = idOf(event);
  const kept = service.kept(createStore).get(addressOf(event, id));
  if (kept) return kept;
  throw new RequestError(
    'not_found',
    `there is no stream ${JSON.stringify(id)} of this key, or no longer: streams of requests with x-svc-resumable are kept for ${KEPT_TIME / 60_000} minutes after their end; send the request again`,
  );
}

function readStream(service: Service, event: H3Event): ReadableStream<Uint8Array> {
  const kept = findStream(service, event);
  const sent = event.url.searchParams.get('after') ?? '0';
  if (!/^\d{1,15}$/.test(sent))
    refuseField('after', `has to be the number of an event, got ${JSON.stringify(sent)}`);
  const after = Number(sent);
  if (!kept.has(after)) {
    throw new RequestError(
      'not_found',
      `the events after ${after} of this stream are no longer all kept; a stream keeps ${MOST_BYTES / 2 ** 20} MiB of them`,
    );
  }
  for (const [name, value] of Object.entries(EVENTS.headers)) event.res.headers.set(name, value);
  return kept.read(after, event.req.signal);
}

function stopStream(service: Service, event: H3Event) {
  const id = idOf(event);
  findStream(service, event).stop();
  service.kept(createStore).delete(addressOf(event, id));
  return { id, object: 'stream', deleted: true };
}

const COMMON = { group: 'Server', schemas: [() => import('./stream-reply-schema.ts')] } as const;

export const STREAM_ROUTES: RouteTable = {
  '/v1/streams/:id': {
    GET: {
      handle: readStream,
      summary:
        'The events of a streaming request that was sent with `x-svc-resumable: 1`, by its `x-request-id`: those it had, and those to come.',
      ...COMMON,
      query: { after: 'The number (`id`) of the last event that is known; default: 0.' },
      gives: EVENTS.type,
    },
    DELETE: {
      handle: stopStream,
      summary: 'Stops such a request, and forgets its events.',
      ...COMMON,
      reply: 'StoppedStream',
    },
  },
};
