// GET /metrics: the counters of all models as Prometheus reads them.

import type { H3Event } from 'h3';
import { MODEL_KINDS, type TextModel } from '../../index.ts';
import { modelsOf } from '../service/models.ts';
import type { Route } from '../service/route.ts';
import type { Service } from '../service/service.ts';

export const METRICS: Route = {
  handle: metricsPage,
  summary:
    'Counters, gauges and histograms in the Prometheus format: requests, tokens, times to first token, cache, queue, grammars, adapters, seconds of sound.',
  group: 'Server',
  gives: 'text/plain',
  access: 'open',
};

async function metricsPage(service: Service, event: H3Event): Promise<string> {
  const { metrics, slots } = service;
  metrics.countModels(slots.filter(({ phase }) => phase.name === 'ready').length);
  // A model that ends while the page is built has no metrics.
  for (const { names, model } of modelsOf<TextModel>(service, MODEL_KINDS.text))
    await metrics.collect(names[0]!, model).catch(() => {});
  event.res.headers.set('content-type', metrics.registry.contentType);
  return metrics.registry.metrics();
}
