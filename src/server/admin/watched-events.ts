// Measures requests by their events and passes the events on unchanged.

import type { EmbeddingEvent, TextEvent } from '../../index.ts';
import type { Instruments } from './instruments.ts';

type Events<T> = AsyncGenerator<T, void, void>;

const secondsSince = (milliseconds: number): number => (performance.now() - milliseconds) / 1000;

/** `isHeld`: a grammar or a format constrains the request's text. */
export async function* watchText(
  to: Instruments,
  events: Events<TextEvent>,
  isHeld: boolean,
): Events<TextEvent> {
  const startedAt = performance.now();
  const lastAt = new Map<number, number>();
  let acceptedAt: number | null = null;
  let promptTokens: number | null = null;
  let cachedTokens = 0;
  let processed = 0;
  let stageBegan = startedAt;
  let isWhole = false;
  let isCut = false;
  const stageOver = (stage: 'queue' | 'prefill' | 'decode'): void => {
    to.observe('per_stage_req_latency_seconds', secondsSince(stageBegan), { stage });
    stageBegan = performance.now();
  };
  try {
    for await (const event of events) {
      if (event.type === 'accepted') {
        ({ promptTokens } = event);
        to.count('num_requests_total', 1);
        if (isHeld) to.count('num_so_requests_total', 1);
        to.count('prompt_tokens_total', promptTokens);
        to.observe('prompt_tokens_histogram', promptTokens);
        if (event.compileMs !== undefined)
          to.observe('grammar_compilation_time_seconds', event.compileMs / 1000);
        acceptedAt = performance.now();
      } else if (event.type === 'prefill') {
        if (acceptedAt !== null) {
          to.observe('queue_time_seconds', secondsSince(acceptedAt));
          stageOver('queue');
          to.count('realtime_tokens_total', event.cachedTokens, { mode: 'prefill_cache' });
          processed = event.cachedTokens;
        }
        acceptedAt = null;
        ({ cachedTokens } = event);
        const computed = Math.max(0, event.processed - processed);
        to.count('realtime_tokens_total', computed, { mode: 'prefill_compute' });
        processed += computed;
      } else if (event.type === 'done') {
        to.observe('generation_tokens_histogram', event.completionTokens);
        isCut ||= event.finishReason === 'abort';
      } else if (event.type !== 'prompt' && event.ids.length > 0) {
        if (lastAt.size === 0) {
          to.observe('time_to_first_token_seconds', secondsSince(startedAt));
          stageOver('prefill');
        }
        const before = lastAt.get(event.choice);
        const each = before === undefined ? 0 : secondsSince(before) / event.ids.length;
        // Tokens that arrive in one event are counted with equal shares of the time since the previous event.
        if (before !== undefined) event.ids.forEach(() => to.observe('inter_token_latency_seconds', each));
        lastAt.set(event.choice, performance.now());
        to.count('generation_tokens_total', event.ids.length);
        to.count('realtime_tokens_total', event.ids.length, { mode: 'decode' });
      }
      yield event;
    }
    isWhole = true;
  } finally {
    if (promptTokens !== null) {
      to.count('cached_tokens_total', cachedTokens);
      to.observe('uncached_prompt_tokens_histogram', promptTokens - cachedTokens);
      to.observe('e2e_request_latency_seconds', secondsSince(startedAt));
      if (lastAt.size > 0) stageOver('decode');
      if (isCut || !isWhole) to.count('num_aborted_requests_total', 1);
    }
  }
}

export async function* watchEmbeddings(
  to: Instruments,
  events: Events<EmbeddingEvent>,
): Events<EmbeddingEvent> {
  const startedAt = performance.now();
  let left: number | null = null;
  try {
    for await (const event of events) {
      if (event.type === 'accepted') {
        left = event.tokens.length;
        to.count('num_requests_total', 1);
        for (const tokens of event.tokens) {
          to.count('prompt_tokens_total', tokens);
          to.observe('prompt_tokens_histogram', tokens);
        }
      } else if (left !== null) left -= 1;
      yield event;
    }
  } finally {
    if (left !== null) to.observe('e2e_request_latency_seconds', secondsSince(startedAt));
    if (left) to.count('num_aborted_requests_total', 1);
  }
}
