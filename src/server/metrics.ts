// GET /metrics: what requests took, counted as their events pass, and what the engines say of themselves when they are asked.

import type { H3Event } from 'h3';
import { Registry } from 'prom-client';
import type { EmbeddingModel, TextMetrics, TextModel } from '../index.ts';
import { createInstruments, type Instruments } from './instruments.ts';
import type { Service } from './service.ts';
import { watchEmbeddings, watchText } from './watched-events.ts';

export interface Metrics {
  readonly registry: Registry;
  /** The same model, its requests counted. */
  watchText(name: string, model: TextModel): TextModel;
  watchEmbeddings(name: string, model: EmbeddingModel): EmbeddingModel;
  /** What a text model says of itself now. */
  tell(name: string, model: TextModel): Promise<void>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  const instrumentsOf = createInstruments(registry);
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
