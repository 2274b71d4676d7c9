// GET /metrics: what requests took, counted as their events pass, and what the engines say of themselves when they are asked.

import type { H3Event } from 'h3';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { EmbeddingEvent, EmbeddingModel, TextEvent, TextMetrics, TextModel } from '../index.ts';
import type { Service } from './service.ts';

export interface Metrics {
  readonly registry: Registry;
  /** The same model, its requests counted. */
  watchText(name: string, model: TextModel): TextModel;
  watchEmbeddings(name: string, model: EmbeddingModel): EmbeddingModel;
  /** What a text model says of itself now. */
  tell(name: string, model: TextModel): Promise<void>;
}

const LABEL = 'model_name';
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const GRAMMAR_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const TOKEN_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1, 2, 5];
const TOKENS = [1, 16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072];

const COUNTERS = {
  num_requests_total: 'Requests that were accepted.',
  num_aborted_requests_total: 'Accepted requests that did not come to their end.',
  prompt_tokens_total: 'Prompt tokens of accepted requests.',
  cached_tokens_total: 'Those of them that were in the prefix cache.',
  generation_tokens_total: 'Generated tokens.',
  evicted_tokens_total: 'Tokens that left the prefix cache for others.',
  backuped_tokens_total: 'Tokens copied from the device to host memory.',
  load_back_tokens_total: 'Tokens copied from host memory to the device.',
  prefetched_tokens_total: 'Tokens brought from storage to host memory.',
  num_retracted_requests_total: 'Times that a sequence gave its pages up for others.',
  device_restarts_total: 'Times that a lost device was opened again.',
};

const GAUGES = {
  num_running_reqs: 'Sequences that are computed.',
  num_queue_reqs: 'Sequences that wait for a place.',
  num_used_tokens: 'Tokens that the pages of running requests can hold.',
  kv_evictable_tokens: 'Tokens that the pages of the prefix cache alone can hold.',
  kv_available_tokens: 'Tokens that the free pages can hold.',
  max_total_num_tokens: 'Tokens that all pages can hold.',
  token_usage: 'Share of the pages that running requests use, 0 to 1.',
  cache_hit_rate: 'Share of prompt tokens that were in the prefix cache, 0 to 1.',
  hicache_host_used_bytes: 'Host memory that pages of the prefix cache use.',
  hicache_host_total_bytes: 'Host memory that they may use.',
  page_size: 'Tokens of a page.',
  context_len: 'Tokens of prompt and reply together.',
};

const HISTOGRAMS: Record<HistogramName, [help: string, buckets: number[]]> = {
  time_to_first_token_seconds: ['From a request to its first token.', SECONDS],
  inter_token_latency_seconds: ['From one token of a choice to its next.', TOKEN_SECONDS],
  e2e_request_latency_seconds: ['From a request to its end.', SECONDS],
  queue_time_seconds: ['From the acceptance of a request to its first step.', SECONDS],
  grammar_compilation_time_seconds: ['Until a grammar that was not known yet was compiled.', GRAMMAR_SECONDS],
  prompt_tokens_histogram: ['Prompt tokens of a request.', TOKENS],
  uncached_prompt_tokens_histogram: ['Prompt tokens that were computed.', TOKENS],
  generation_tokens_histogram: ['Generated tokens of a choice.', TOKENS],
};

type CounterName = keyof typeof COUNTERS;
type GaugeName = keyof typeof GAUGES;
type HistogramName =
  | `${'time_to_first_token' | 'inter_token_latency' | 'e2e_request_latency' | 'queue_time' | 'grammar_compilation_time'}_seconds`
  | `${'prompt' | 'uncached_prompt' | 'generation'}_tokens_histogram`;

/** Of one model. */
interface Instruments {
  count(name: CounterName, by: number): void;
  /** Of what the engine counts by itself; a model that is opened anew begins at 0 again, as counters may. */
  setCount(name: CounterName, value: number): void;
  set(name: GaugeName, value: number): void;
  observe(name: HistogramName, value: number): void;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  const make = <N extends string, H, I>(
    table: Record<N, H>,
    of: (name: string, given: H) => I,
  ): Record<N, I> =>
    Object.fromEntries(
      Object.entries<H>(table).map(([name, given]) => [name, of(`svc:${name}`, given)]),
    ) as Record<N, I>;
  const common = { labelNames: [LABEL], registers: [registry] };
  const counters = make(COUNTERS, (name, help) => new Counter({ name, help, ...common }));
  const gauges = make(GAUGES, (name, help) => new Gauge({ name, help, ...common }));
  const histograms = make(
    HISTOGRAMS,
    (name, [help, buckets]) => new Histogram({ name, help, buckets, ...common }),
  );
  const instrumentsOf = (model: string): Instruments => {
    const labels = { [LABEL]: model };
    return {
      count: (name, by) => counters[name].inc(labels, by),
      setCount(name, value) {
        counters[name].remove(labels);
        counters[name].inc(labels, value);
      },
      set: (name, value) => gauges[name].set(labels, value),
      observe: (name, value) => histograms[name].observe(labels, value),
    };
  };

  return {
    registry,
    watchText: (name, model) =>
      over(model, {
        generate: (request, options) => watchText(instrumentsOf(name), model.generate(request, options)),
      }),
    watchEmbeddings: (name, model) =>
      over(model, {
        generate: (request, options) =>
          watchEmbeddings(instrumentsOf(name), model.generate(request, options)),
      }),
    tell: async (name, model) => tell(instrumentsOf(name), model, await model.metrics()),
  };
}

/** The same object with some members in place of its own. */
function over<T extends object>(model: T, members: Partial<T>): T {
  return Object.assign(Object.create(model) as T, members);
}

type Events<T> = AsyncGenerator<T, void, void>;

const secondsSince = (milliseconds: number): number => (performance.now() - milliseconds) / 1000;

async function* watchText(to: Instruments, events: Events<TextEvent>): Events<TextEvent> {
  const startedAt = performance.now();
  const lastAt = new Map<number, number>();
  let acceptedAt: number | null = null;
  let promptTokens: number | null = null;
  let cachedTokens = 0;
  let isWhole = false;
  let isCut = false;
  try {
    for await (const event of events) {
      if (event.type === 'accepted') {
        ({ promptTokens } = event);
        to.count('num_requests_total', 1);
        to.count('prompt_tokens_total', promptTokens);
        to.observe('prompt_tokens_histogram', promptTokens);
        if (event.compileMs !== undefined)
          to.observe('grammar_compilation_time_seconds', event.compileMs / 1000);
        acceptedAt = performance.now();
      } else if (event.type === 'prefill') {
        if (acceptedAt !== null) to.observe('queue_time_seconds', secondsSince(acceptedAt));
        acceptedAt = null;
        ({ cachedTokens } = event);
      } else if (event.type === 'done') {
        to.observe('generation_tokens_histogram', event.completionTokens);
        isCut ||= event.finishReason === 'abort';
      } else if (event.type !== 'prompt' && event.ids.length > 0) {
        if (lastAt.size === 0) to.observe('time_to_first_token_seconds', secondsSince(startedAt));
        const before = lastAt.get(event.choice);
        const each = before === undefined ? 0 : secondsSince(before) / event.ids.length;
        // Tokens that come together took as long as one another.
        if (before !== undefined) event.ids.forEach(() => to.observe('inter_token_latency_seconds', each));
        lastAt.set(event.choice, performance.now());
        to.count('generation_tokens_total', event.ids.length);
      }
      yield event;
    }
    isWhole = true;
  } finally {
    if (promptTokens !== null) {
      to.count('cached_tokens_total', cachedTokens);
      to.observe('uncached_prompt_tokens_histogram', promptTokens - cachedTokens);
      to.observe('e2e_request_latency_seconds', secondsSince(startedAt));
      if (isCut || !isWhole) to.count('num_aborted_requests_total', 1);
    }
  }
}

async function* watchEmbeddings(to: Instruments, events: Events<EmbeddingEvent>): Events<EmbeddingEvent> {
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

function tell(to: Instruments, { info }: TextModel, now: TextMetrics): void {
  const { pages, cache } = now;
  const tokens = (count: number): number => count * pages.tokensPerPage;
  to.set('num_running_reqs', now.running);
  to.set('num_queue_reqs', now.waiting);
  to.set('num_used_tokens', tokens(pages.used));
  to.set('kv_evictable_tokens', tokens(pages.cached));
  to.set('kv_available_tokens', tokens(pages.total - pages.used - pages.cached));
  to.set('max_total_num_tokens', tokens(pages.total));
  to.set('token_usage', pages.total > 0 ? pages.used / pages.total : 0);
  to.set('cache_hit_rate', cache.hitRate);
  to.set('hicache_host_used_bytes', cache.hostBytes.used);
  to.set('hicache_host_total_bytes', cache.hostBytes.total);
  to.set('page_size', pages.tokensPerPage);
  to.set('context_len', info.contextLength);
  to.setCount('evicted_tokens_total', cache.evicted);
  to.setCount('backuped_tokens_total', cache.backedUp);
  to.setCount('load_back_tokens_total', cache.loadedBack);
  to.setCount('prefetched_tokens_total', cache.fetched);
  to.setCount('num_retracted_requests_total', now.retractions);
  to.setCount('device_restarts_total', now.deviceRestarts);
}

export async function metricsPage({ metrics, slots }: Service, event: H3Event): Promise<string> {
  for (const { names, phase } of slots) {
    if (phase.name !== 'ready' || phase.ready.kind !== 'text') continue;
    // One that ends meanwhile has nothing to say any more.
    await metrics.tell(names[0]!, phase.ready.model).catch(() => {});
  }
  event.res.headers.set('content-type', metrics.registry.contentType);
  return metrics.registry.metrics();
}
