// Measures requests by their events and passes the events on unchanged.

import type { EmbeddingEvent, TextEvent, TranscriptionEvent } from '../../index.ts';
import type { Instruments } from './instruments.ts';

type Events<T> = AsyncGenerator<T, void, void>;

const secondsSince = (milliseconds: number): number => (performance.now() - milliseconds) / 1000;

/** Measures a request to a text model. `isConstrained`: a grammar or a format constrains its text. */
export async function* watchText(
  to: Instruments,
  events: Events<TextEvent>,
  isConstrained: boolean,
): Events<TextEvent> {
  const watch = new TextWatch(to, isConstrained);
  let isWhole = false;
  try {
    for await (const event of events) {
      watch.event(event);
      yield event;
    }
    isWhole = true;
  } finally {
    watch.end(isWhole);
  }
}

/** Times and counts of one request to a text model, from its events. */
class TextWatch {
  readonly #to: Instruments;
  readonly #isConstrained: boolean;
  readonly #startedAt = performance.now();
  /** When the last tokens of each choice arrived. */
  readonly #lastAt = new Map<number, number>();
  #acceptedAt: number | null = null;
  #promptTokens: number | null = null;
  #cachedTokens = 0;
  #processed = 0;
  #stageBegan = this.#startedAt;
  #isAborted = false;

  constructor(to: Instruments, isConstrained: boolean) {
    this.#to = to;
    this.#isConstrained = isConstrained;
  }

  event(event: TextEvent): void {
    if (event.type === 'accepted') this.#accept(event);
    else if (event.type === 'prefill') this.#prefill(event);
    else if (event.type === 'done') {
      this.#to.observe('generation_tokens_histogram', event.completionTokens);
      this.#isAborted ||= event.finishReason === 'abort';
    } else if (event.type !== 'prompt' && event.ids.length > 0) {
      this.#generate(event.choice, event.ids.length);
    }
  }

  /** `isWhole`: all events were read. */
  end(isWhole: boolean): void {
    if (this.#promptTokens === null) return;
    this.#to.count('cached_tokens_total', this.#cachedTokens);
    this.#to.observe('uncached_prompt_tokens_histogram', this.#promptTokens - this.#cachedTokens);
    this.#to.observe('e2e_request_latency_seconds', secondsSince(this.#startedAt));
    if (this.#lastAt.size > 0) this.#endStage('decode');
    if (this.#isAborted || !isWhole) this.#to.count('num_aborted_requests_total', 1);
  }

  #accept({ promptTokens, compileMs }: Extract<TextEvent, { type: 'accepted' }>): void {
    this.#promptTokens = promptTokens;
    this.#to.count('num_requests_total', 1);
    if (this.#isConstrained) this.#to.count('num_so_requests_total', 1);
    this.#to.count('prompt_tokens_total', promptTokens);
    this.#to.observe('prompt_tokens_histogram', promptTokens);
    if (compileMs !== undefined) this.#to.observe('grammar_compilation_time_seconds', compileMs / 1000);
    this.#acceptedAt = performance.now();
  }

  #prefill({ cachedTokens, processed }: Extract<TextEvent, { type: 'prefill' }>): void {
    if (this.#acceptedAt !== null) {
      this.#to.observe('queue_time_seconds', secondsSince(this.#acceptedAt));
      this.#endStage('queue');
      this.#to.count('realtime_tokens_total', cachedTokens, { mode: 'prefill_cache' });
      this.#processed = cachedTokens;
    }
    this.#acceptedAt = null;
    this.#cachedTokens = cachedTokens;
    const computed = Math.max(0, processed - this.#processed);
    this.#to.count('realtime_tokens_total', computed, { mode: 'prefill_compute' });
    this.#processed += computed;
  }

  #generate(choice: number, tokens: number): void {
    if (this.#lastAt.size === 0) {
      this.#to.observe('time_to_first_token_seconds', secondsSince(this.#startedAt));
      this.#endStage('prefill');
    }
    const before = this.#lastAt.get(choice);
    if (before !== undefined) {
      // Tokens that arrive in one event are counted with equal shares of the time since the previous event.
      const each = secondsSince(before) / tokens;
      for (let i = 0; i < tokens; i++) this.#to.observe('inter_token_latency_seconds', each);
    }
    this.#lastAt.set(choice, performance.now());
    this.#to.count('generation_tokens_total', tokens);
    this.#to.count('realtime_tokens_total', tokens, { mode: 'decode' });
  }

  #endStage(stage: 'queue' | 'prefill' | 'decode'): void {
    this.#to.observe('per_stage_req_latency_seconds', secondsSince(this.#stageBegan), { stage });
    this.#stageBegan = performance.now();
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

export async function* watchTranscription(
  to: Instruments,
  events: Events<TranscriptionEvent>,
): Events<TranscriptionEvent> {
  const startedAt = performance.now();
  let [isAccepted, isWhole] = [false, false];
  try {
    for await (const event of events) {
      if (event.type === 'accepted') {
        isAccepted = true;
        to.count('num_requests_total', 1);
        to.count('sound_seconds_total', event.seconds);
        to.observe('sound_seconds_histogram', event.seconds);
      } else if (event.type === 'done') {
        isWhole = true;
        to.count('generation_tokens_total', event.tokens);
        to.observe('generation_tokens_histogram', event.tokens);
      }
      yield event;
    }
  } finally {
    if (isAccepted) to.observe('e2e_request_latency_seconds', secondsSince(startedAt));
    if (isAccepted && !isWhole) to.count('num_aborted_requests_total', 1);
  }
}
