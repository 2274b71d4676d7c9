// POST /v1/chat/completions: a request for the engine, and the engine's events as the reply.

import { randomUUID } from 'node:crypto';
import type { H3Event } from 'h3';
import type { TextEvent, TextRequest } from '../index.ts';
import { streamReply } from './chat-stream.ts';
import { readJson } from './json-body.ts';
import { toChatMessages } from './messages.ts';
import { abortWithClient, listIgnored, whileRunning } from './model-call.ts';
import { findModel } from './models.ts';
import { applyEvent, completion, completionTokens, type Reply, startReply } from './reply.ts';
import { duration } from './request-log.ts';
import type { ChatBody } from './schema.ts';
import { requireRunning, type Service } from './service.ts';
import { EVENT_STREAM_HEADERS } from './sse.ts';
import { checkTokenIds, validateChat } from './validation.ts';

const KEEP_ALIVE = 5000;

export async function chatCompletions(service: Service, event: H3Event): Promise<unknown> {
  requireRunning(service);
  const { body, ignored } = validateChat(await readJson(event.req), service.options.strict ?? false);
  const { model, fingerprint } = findModel(service, 'text', body.model);
  checkTokenIds(body, model.info.vocabSize);
  listIgnored(event, ignored);

  const head = {
    id: `chatcmpl-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model: body.model,
    system_fingerprint: fingerprint,
  };
  const reply = startReply(head, body.n ?? 1);
  const abort = abortWithClient(event);
  const timing: Timing = {};
  describeCall(event, reply, timing);
  const generated = model.generate(toTextRequest(body), { signal: abort.signal });
  const events = whileRunning(service, abort, timed(generated, timing));

  if (!body.stream) {
    for await (const textEvent of events) applyEvent(reply, textEvent);
    return completion(reply);
  }
  // All that can be wrong with a request is known once it is accepted: until then an error still has a status.
  const first = await events.next();
  if (!first.done) applyEvent(reply, first.value);
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

function toTextRequest(body: ChatBody): TextRequest {
  const { messages, temperature, top_p, top_k, min_p, n, seed, stop, stop_token_ids } = body;
  const maxTokens = body.max_completion_tokens ?? body.max_tokens;
  const templateKwargs = body.chat_template_kwargs;
  return {
    prompt: { messages: toChatMessages(messages ?? []), ...(templateKwargs && { templateKwargs }) },
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { topP: top_p }),
    ...(top_k !== undefined && { topK: top_k }),
    ...(min_p !== undefined && { minP: min_p }),
    ...(n !== undefined && { n }),
    ...(seed !== undefined && { seed }),
    ...(body.logit_bias && { logitBias: body.logit_bias }),
    ...(stop !== undefined && { stop: typeof stop === 'string' ? [stop] : stop }),
    ...(stop_token_ids && { stopTokenIds: stop_token_ids }),
    ...(body.ignore_eos !== undefined && { ignoreEos: body.ignore_eos }),
  };
}

type Events = AsyncGenerator<TextEvent, void, void>;

/** Notes when the first token came. */
async function* timed(events: Events, timing: Timing): Events {
  for await (const event of events) {
    if (event.type === 'delta') timing.firstAt ??= performance.now();
    yield event;
  }
}

interface Timing {
  /** Milliseconds on the monotonic clock. */
  firstAt?: number;
}

function describeCall({ context: { call } }: H3Event, reply: Reply, timing: Timing): void {
  if (!call) return;
  call.detail = () => {
    const tokens = completionTokens(reply);
    const cached = reply.cachedTokens > 0 ? ` (${reply.cachedTokens} cached)` : '';
    const first = timing.firstAt;
    const parts = [`${reply.promptTokens}${cached} + ${tokens} tokens`];
    if (first !== undefined) {
      parts.push(`first after ${duration(first - call.startedAt)}`);
      const seconds = (performance.now() - first) / 1000;
      // The first token of each choice was there when the clock started.
      const later = tokens - reply.choices.length;
      if (later > 0 && seconds > 0) parts.push(`${(later / seconds).toFixed(1)} tok/s`);
    }
    return parts.join(', ');
  };
}
