// Runs one or several text requests for a route and follows them until they end or until the client leaves or the server stops;
// renames the engine's errors to the body's fields and writes the log line.

import type { H3Event } from 'h3';
import { EngineError, type TextModel, type TextRequest } from '../../index.ts';
import { RequestError } from '../http/errors.ts';
import { abortWithClient, listUnenforced, whileRunning } from '../service/model-call.ts';
import { applyEvent, completionTokens, errorOf, type Fold, startFold } from './reply-fold.ts';
import { type Events, isGenerated } from './reply-parts.ts';
import { duration } from '../http/request-log.ts';
import { type Service, SHUTDOWN } from '../service/service.ts';

export interface TextRun {
  fold: Fold;
  events: Events;
  timing: Timing;
}

/** Milliseconds on the monotonic clock. */
interface Timing {
  /** The first event of reading the prompt came. */
  begunAt?: number;
  /** The first event with generated tokens came. */
  firstAt?: number;
  endedAt?: number;
}

export interface TextCall {
  runs: TextRun[];
  /** Aborts the requests. */
  abort(): void;
}

/** Creates the call. The requests start when their events are read. */
export function callText(
  service: Service,
  event: H3Event,
  model: TextModel,
  requests: readonly TextRequest[],
  rename: (error: unknown) => unknown,
): TextCall {
  const aborts: AbortController[] = [];
  const runs = requests.map((request): TextRun => {
    const abort = abortWithClient(event);
    aborts.push(abort);
    const fold = startFold(request.n ?? 1);
    const timing: Timing = {};
    const generated = renamed(model.generate(request, { signal: abort.signal }), rename);
    const noted = withNotes(event, generated);
    const running = whileRunning(service, abort, timed(noted, timing));
    return { fold, events: untilShutdown(running, abort.signal, fold), timing };
  });
  describeCall(event, runs);
  return { runs, abort: () => aborts.forEach((abort) => abort.abort()) };
}

/** Names in response headers what the acceptance of a request says: what is not enforced, and the replica. */
async function* withNotes(event: H3Event, events: Events): Events {
  for await (const textEvent of events) {
    if (textEvent.type === 'accepted') {
      listUnenforced(event, textEvent.unenforced ?? []);
      if (textEvent.replica !== undefined)
        event.res.headers.append('x-svc-replica', String(textEvent.replica));
    }
    yield textEvent;
  }
}

/** Waits until each request is accepted: by then every invalid value is known, and an error can still set the status. */
export async function acceptText(call: TextCall): Promise<void> {
  await followAll(call, async ({ fold, events }) => {
    const first = await events.next();
    if (!first.done) applyEvent(fold, first.value);
  });
}

/** Follows all requests. Throws if one of them fails, and aborts the others. */
export async function followAll(
  call: TextCall,
  follow: (run: TextRun, index: number) => Promise<void>,
): Promise<void> {
  try {
    await Promise.all(call.runs.map(follow));
  } catch (error) {
    call.abort();
    await Promise.allSettled(call.runs.map(({ events }) => events.return()));
    throw error;
  }
}

/** Records when the events came. */
async function* timed(events: Events, timing: Timing): Events {
  for await (const event of events) {
    if (event.type === 'prefill') timing.begunAt ??= performance.now();
    else if (event.type === 'done') timing.endedAt = performance.now();
    else if (isGenerated(event)) timing.firstAt ??= performance.now();
    yield event;
  }
}

/** Events whose errors, thrown or carried by a `done` event, name the client's fields. */
async function* renamed(events: Events, rename: (error: unknown) => unknown): Events {
  try {
    for await (const event of events) {
      yield event.type === 'done' && event.error
        ? { ...event, error: renamedError(event.error, rename) }
        : event;
    }
  } catch (error) {
    throw rename(error);
  }
}

type CarriedError = Parameters<typeof errorOf>[0];

function renamedError(carried: CarriedError, rename: (error: unknown) => unknown): CarriedError {
  const error = rename(errorOf(carried));
  if (!(error instanceof EngineError)) return carried;
  const { code, message, parts, param } = error;
  return { code, message, parts, ...(param !== null && { param }) };
}

/** Ends a reply with the shutdown error if the server's stop aborted it. */
async function* untilShutdown(events: Events, signal: AbortSignal, fold: Fold): Events {
  yield* events;
  const isCut =
    signal.reason === SHUTDOWN && fold.choices.some(({ finishReason }) => finishReason === 'abort');
  if (isCut)
    fold.error ??= new RequestError(
      'stopping',
      'the server shut down before the reply was complete; send it again',
    );
}

function describeCall({ context: { call } }: H3Event, runs: readonly TextRun[]): void {
  if (!call) return;
  const sum = (of: (fold: Fold) => number): number => runs.reduce((total, { fold }) => total + of(fold), 0);
  call.detail = () => {
    const tokens = sum(completionTokens);
    const hits = sum(({ cachedTokens }) => cachedTokens);
    const cached = hits > 0 ? ` (${hits} cached)` : '';
    const first = Math.min(...runs.map(({ timing }) => timing.firstAt ?? Infinity));
    const parts = [`${sum(({ promptTokens }) => promptTokens)}${cached} + ${tokens} tokens`];
    if (first < Infinity) {
      parts.push(`first after ${duration(first - call.startedAt)}`);
      const seconds = (performance.now() - first) / 1000;
      // The rate counts from the first token of each choice, so that token is not included.
      const later = tokens - sum(({ choices }) => choices.length);
      if (later > 0 && seconds > 0) parts.push(`${(later / seconds).toFixed(1)} tok/s`);
    }
    return parts.join(', ');
  };
}
