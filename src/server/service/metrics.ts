// GET /metrics: counters of requests, updated as their events pass, and the metrics of the engines, read when the page is requested.

import { Registry } from 'prom-client';
import type {
  EmbeddingModel,
  ReplicaMetrics,
  TextMetrics,
  TextModel,
  TranscriptionModel,
} from '../../index.ts';
import { meterTokens } from './caller.ts';
import type { Tracing } from './tracing.ts';
import {
  createInstruments,
  createModelCount,
  createRouteTimer,
  type Instruments,
  type Series,
} from './instruments.ts';
import { watchEmbeddings, watchText, watchTranscription } from './watched-events.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** `tracing`: follows the same requests. */
export function createMetrics(tracing: Tracing | null) {
  const registry = new Registry();
  const instrumentsOf = createInstruments(registry);
  const recordRoute = createRouteTimer(registry);
  const countModels = createModelCount(registry);
  const throughputOf = createThroughput();
  return {
    registry,
    /** Records how many models are open. */
    countModels,
    /** Wraps a model so that its requests are counted. */
    watchText: (name: string, model: TextModel): TextModel =>
      over(model, {
        generate(request, options) {
          const events = meterTokens(model.generate(request, options));
          const traced = tracing?.watchText(name, events) ?? events;
          return watchText(instrumentsOf(name), traced, request.constraint !== undefined);
        },
      }),
    watchEmbeddings: (name: string, model: EmbeddingModel): EmbeddingModel =>
      over(model, {
        generate(request, options) {
          const events = meterTokens(model.generate(request, options));
          return watchEmbeddings(instrumentsOf(name), tracing?.watchEmbeddings(name, events) ?? events);
        },
      }),
    watchTranscription: (name: string, model: TranscriptionModel): TranscriptionModel =>
      over(model, {
        generate: (request, options) =>
          watchTranscription(instrumentsOf(name), meterTokens(model.generate(request, options))),
      }),
    /** Records the seconds until a model was open, and the seconds that its weights took, if known. */
    opened(name: string, seconds: number, weights: number | null): void {
      const to = instrumentsOf(name);
      to.set('engine_startup_time', seconds);
      if (weights !== null) to.set('weight_load_duration_seconds', weights);
    },
    /** Measures the time of a route until its reply begins, also if it throws. */
    async timed<T>(route: string, answer: () => T | Promise<T>): Promise<T> {
      const begun = performance.now();
      try {
        return await answer();
      } finally {
        recordRoute(route, (performance.now() - begun) / 1000);
      }
    },
    /** Takes over a text model's own metrics. */
    async collect(name: string, model: TextModel): Promise<void> {
      const now = await model.metrics();
      const to = instrumentsOf(name);
      record(to, model, now);
      to.set('gen_throughput', throughputOf(model, now.generatedTokens));
    },
  };
}

/** Tokens per second since the previous call for the same model. */
function createThroughput(): (model: TextModel, tokens: number) => number {
  const last = new WeakMap<TextModel, { at: number; tokens: number }>();
  return (model, tokens) => {
    const at = performance.now();
    const before = last.get(model);
    last.set(model, { at, tokens });
    if (!before || at <= before.at) return 0;
    // A model that slept meanwhile counts from 0.
    const more = tokens < before.tokens ? tokens : tokens - before.tokens;
    return (1000 * more) / (at - before.at);
  };
}

/** Returns the object with some of its members replaced. */
function over<T extends object>(model: T, members: Partial<T>): T {
  return Object.assign(Object.create(model) as T, members);
}

function record(to: Instruments, { info }: TextModel, now: TextMetrics): void {
  const { pages, cache, grammars, adapters, replicas, experts } = now;
  const tokens = (count: number): number => count * pages.tokensPerPage;
  for (const [rank, replica] of replicas?.entries() ?? [])
    recordLoad(to, replica, tokens, { dp_rank: String(rank) });
  if (!replicas) recordLoad(to, { ...now, hitRate: cache.hitRate }, tokens);
  to.set('utilization', Math.max(usageOf(pages), now.running / info.maxRunningRequests));
  const inHost = (bytes: number): number => tokens(Math.floor(bytes / pages.bytesPerPage));
  to.set('hicache_host_used_tokens', inHost(cache.hostBytes.used));
  to.set('hicache_host_total_tokens', inHost(cache.hostBytes.total));
  to.set('hicache_host_used_bytes', cache.hostBytes.used);
  to.set('hicache_host_total_bytes', cache.hostBytes.total);
  to.set('page_size', pages.tokensPerPage);
  to.set('context_len', info.contextLength);
  to.set('lora_pool_slots_used', adapters.loaded);
  to.set('lora_pool_slots_total', adapters.most);
  to.set('lora_pool_utilization', adapters.loaded / adapters.most);
  to.set('num_grammar_queue_reqs', grammars.compiling);
  to.setCount('num_grammar_total', grammars.asked);
  to.setCount('num_grammar_cache_hit_total', grammars.known);
  to.setCount('num_grammar_aborted_total', grammars.refused);
  to.setCount('num_grammar_timeout_total', grammars.timedOut);
  to.setCount('evicted_tokens_total', cache.evicted);
  to.setCount('backuped_tokens_total', cache.backedUp);
  to.setCount('load_back_tokens_total', cache.loadedBack);
  to.setCount('prefetched_tokens_total', cache.fetched);
  to.setCount('num_retracted_requests_total', now.retractions);
  to.setCount('device_restarts_total', now.deviceRestarts);
  to.setCount('expert_slot_hits_total', experts?.hits ?? 0);
  to.setCount('expert_slot_misses_total', experts?.misses ?? 0);
  to.setCount('expert_copied_bytes_total', experts?.bytes ?? 0);
  if (now.speculation) recordDrafts(to, now.speculation);
}

function recordDrafts(to: Instruments, drafts: NonNullable<TextMetrics['speculation']>): void {
  to.setCount('spec_drafts_total', drafts.drafts);
  to.setCount('spec_draft_tokens_total', drafts.proposed);
  to.setCount('spec_accepted_tokens_total', drafts.accepted);
  to.set('spec_accept_length', 1 + drafts.accepted / Math.max(1, drafts.drafts));
  to.set('spec_accept_rate', drafts.accepted / Math.max(1, drafts.proposed));
}

const usageOf = ({ used, total }: Pick<TextMetrics['pages'], 'used' | 'total'>): number =>
  total > 0 ? used / total : 0;

/** Of a replica, or of a model that has one: several have a series each, as in SGLang. */
function recordLoad(
  to: Instruments,
  { running, waiting, pages, hitRate }: Pick<ReplicaMetrics, 'running' | 'waiting' | 'pages' | 'hitRate'>,
  tokens: (pages: number) => number,
  series?: Series,
): void {
  to.set('num_running_reqs', running, series);
  to.set('num_queue_reqs', waiting, series);
  to.set('num_used_tokens', tokens(pages.used), series);
  to.set('kv_used_tokens', tokens(pages.used), series);
  to.set('kv_evictable_tokens', tokens(pages.cached), series);
  to.set('kv_available_tokens', tokens(pages.total - pages.used - pages.cached), series);
  to.set('max_total_num_tokens', tokens(pages.total), series);
  to.set('token_usage', usageOf(pages), series);
  to.set('cache_hit_rate', hitRate, series);
}
