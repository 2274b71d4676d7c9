// GET /metrics: the counters of all models as Prometheus reads them.

import type { H3Event } from 'h3';
import type { Route } from '../service/route.ts';
import type { Service } from '../service/service.ts';

export const METRICS: Route = {
  handle: metricsPage,
  summary:
    'Counters, gauges and histograms in the Prometheus format: requests, tokens, times to first token, cache, queue, grammars, adapters.',
  group: 'Server',
  gives: 'text/plain',
  access: 'open',
};

async function metricsPage({ metrics, slots }: Service, event: H3Event): Promise<string> {
  for (const { names, phase } of slots) {
    if (phase.name !== 'ready' || phase.ready.kind !== 'text') continue;
    // A model that ends while the page is built has no metrics.
    await metrics.collect(names[0]!, phase.ready.model).catch(() => {});
  }
  event.res.headers.set('content-type', metrics.registry.contentType);
  return metrics.registry.metrics();
}
