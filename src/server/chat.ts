// POST /v1/chat/completions: a request for the engine, and the engine's events as the reply.

import { randomUUID } from 'node:crypto';
import type { H3Event } from 'h3';
import type { TextEvent } from '../index.ts';
import { toTextRequest } from './chat-request.ts';
import { streamReply } from './chat-stream.ts';
import { RequestError } from './errors.ts';
import { checkTokenIds, underFieldName } from './generation-request.ts';
import { readJson } from './json-body.ts';
import { abortWithClient, listIgnored, whileRunning } from './model-call.ts';
import { findTextModel } from './models.ts';
import { applyEvent, completionTokens, type Fold, startFold } from './reply-fold.ts';
import { completion, isGenerated, wishesOf } from './reply.ts';
import { duration } from './request-log.ts';
import type { ChatBody } from './schema.ts';
import { requireRunning, type Service, SHUTDOWN } from './service.ts';
import { EVENT_STREAM_HEADERS } from './sse.ts';
import { validateChat } from './validation.ts';

const KEEP_ALIVE = 5000;

export async function chatCompletions(service: Service, event: H3Event): Promise<unknown> {
  requireRunning(service);
  const { body, ignored } = validateChat(await readJson(event.req), service.options.strict ?? false);
  const { model, fingerprint, adapter } = findTextModel(service, body.model);
  checkTokenIds(body, model.info.vocabSize);
  const request = toTextRequest(body, adapter);
  listIgnored(event, ignored);

  const head = {
    id: body.rid ?? `chatcmpl-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model: body.model,
    system_fingerprint: fingerprint,
  };
  const fold = startFold(body.n ?? 1);
  const reply = { head, fold, wishes: wishesOf(body) };
  const abort = abortWithClient(event);
  const timing: Timing = {};
  describeCall(event, fold, timing);
  const generated = renamed(model.generate(request, { signal: abort.signal }), body);
  const events = untilShutdown(whileRunning(service, abort, timed(generated, timing)), abort.signal, fold);

  if (!body.stream) {
    for await (const textEvent of events) applyEvent(fold, textEvent);
    if (fold.error) throw fold.error;
    return completion(reply);
  }
  // All that can be wrong with a request is known once it is accepted: until then an error still has a status.
  const first = await events.next();
  if (!first.done) applyEvent(fold, first.value);
  for (const [name, value] of Object.entries(EVENT_STREAM_HEADERS)) event.res.headers.set(name, value);
  return streamReply(reply, events, {
    keepAlive: service.options.keepAlive ?? KEEP_ALIVE,
    includeUsage: body.stream_options?.include_usage ?? false,
    continuousUsage: body.stream_options?.continuous_usage_stats ?? false,
    onCancel: () => abort.abort(),
    onFailure: (error) => void (event.context.call && (event.context.call.refusal = error)),
    log: service.log,
  });
}

type Events = AsyncGenerator<TextEvent, void, void>;

/** Notes when the first token came. */
async function* timed(events: Events, timing: Timing): Events {
  for await (const event of events) {
    if (isGenerated(event)) timing.firstAt ??= performance.now();
    yield event;
  }
}

/** Says of what the engine finds wrong which field of the body it is. */
async function* renamed(events: Events, body: ChatBody): Events {
  try {
    yield* events;
  } catch (error) {
    throw underFieldName(error, body);
  }
}

/** A reply that the server's end cut short has that for an error. */
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

interface Timing {
  /** Milliseconds on the monotonic clock. */
  firstAt?: number;
}

function describeCall({ context: { call } }: H3Event, fold: Fold, timing: Timing): void {
  if (!call) return;
  call.detail = () => {
    const tokens = completionTokens(fold);
    const cached = fold.cachedTokens > 0 ? ` (${fold.cachedTokens} cached)` : '';
    const first = timing.firstAt;
    const parts = [`${fold.promptTokens}${cached} + ${tokens} tokens`];
    if (first !== undefined) {
      parts.push(`first after ${duration(first - call.startedAt)}`);
      const seconds = (performance.now() - first) / 1000;
      // The first token of each choice was there when the clock started.
      const later = tokens - fold.choices.length;
      if (later > 0 && seconds > 0) parts.push(`${(later / seconds).toFixed(1)} tok/s`);
    }
    return parts.join(', ');
  };
}
