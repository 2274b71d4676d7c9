// GET /metrics: the counters of all models as Prometheus reads them.

import type { H3Event } from 'h3';
import type { Service } from '../service.ts';

export async function metricsPage({ metrics, slots }: Service, event: H3Event): Promise<string> {
  for (const { names, phase } of slots) {
    if (phase.name !== 'ready' || phase.ready.kind !== 'text') continue;
    // A model that ends while the page is built has no metrics.
    await metrics.collect(names[0]!, phase.ready.model).catch(() => {});
  }
  event.res.headers.set('content-type', metrics.registry.contentType);
  return metrics.registry.metrics();
}
