// The metrics of a text model, gathered from its scheduler, its cache, its grammars and its loop.

import { PAGE_TOKENS } from '../../kernels/batch.ts';
import type { ServedDevice } from '../opening/served.ts';
import type { Loras } from './lora/loras.ts';
import type { CacheTiers } from './cache/cache-tiers.ts';
import type { LoadedText } from './load.ts';
import type { EngineLoop } from './run/loop.ts';
import type { RequestContext } from './request/request-context.ts';
import type { Scheduler } from './run/scheduler.ts';
import type { Speculator } from './speculation/speculator.ts';
import type { CacheMetrics, TextMetrics } from './calls/text-model.ts';

export interface MetricsSources {
  context: RequestContext;
  scheduler: Scheduler;
  loop: EngineLoop;
  /** null: no tokens are drafted. */
  speculator: Speculator | null;
  /** null: the cache is on the device only. */
  tiers: CacheTiers | null;
  loras: Loras;
  pageBytes: number;
  session: ServedDevice<LoadedText>;
}

export function textMetrics(sources: MetricsSources): TextMetrics {
  const { context, scheduler, loop, speculator, tiers, loras, pageBytes, session } = sources;
  const { towers, expertSlots } = session.parts.runner;
  const { metrics: experts } = expertSlots;
  const { pages, running, waiting, retractions } = scheduler;
  return {
    running: running.length,
    waiting: waiting.length,
    pages: {
      used: pages.pool.total - pages.available,
      cached: pages.tree.evictable,
      total: pages.pool.total,
      tokensPerPage: PAGE_TOKENS,
      bytesPerPage: pageBytes,
    },
    cache: cacheMetrics(scheduler, tiers),
    grammars: { ...context.grammars.counters },
    adapters: { loaded: loras.list().length, most: loras.most },
    ...loop.counters,
    ...(speculator && { speculation: { ...speculator.counters } }),
    retractions,
    ...(towers && { towers: towers.weightBytes }),
    ...(experts && { experts }),
  };
}

function cacheMetrics({ lookups, pages }: Scheduler, tiers: CacheTiers | null): CacheMetrics {
  const { tokens, ...found } = lookups;
  const { used, most: total } = tiers?.storage ?? {};
  const cached = found.device + found.host + found.storage;
  return {
    lookedUp: tokens,
    ...found,
    hitRate: tokens === 0 ? 0 : cached / tokens,
    evicted: pages.evicted * PAGE_TOKENS,
    loadedBack: pages.loaded * PAGE_TOKENS,
    backedUp: tiers?.counters.backedUp ?? 0,
    fetched: tiers?.counters.fetched ?? 0,
    hostBytes: tiers?.host ?? { used: 0, total: 0 },
    storageBytes: typeof used === 'number' && typeof total === 'number' ? { used, total } : null,
  };
}
