// GET /get_load: what each replica of the language models has to do, as SGLang states it and its router reads it.

import type { H3Event } from 'h3';
import { MODEL_KINDS, type ReplicaMetrics, type TextMetrics, type TextModel } from '../../index.ts';
import { findModel, modelsOf } from '../service/models.ts';
import type { Route } from '../service/route.ts';
import type { Service } from '../service/service.ts';

export const GET_LOAD: Route = {
  handle: getLoad,
  summary: 'Requests and tokens of each replica of a language model, as routers ask for them.',
  group: 'Server',
  query: { model: 'A served name; left out, all language models.' },
  reply: 'Loads',
  schemas: [() => import('./server-reply-schema.ts')],
};

async function getLoad(service: Service, { url }: H3Event) {
  const requested = url.searchParams.get('model');
  const models: TextModel[] =
    requested === null
      ? modelsOf<TextModel>(service, MODEL_KINDS.text).map(({ model }) => model)
      : [findModel(service, MODEL_KINDS.text, requested).model];
  // A model that ends meanwhile has no metrics.
  const all = await Promise.all(models.map((model) => model.metrics().catch(() => null)));
  return all
    .flatMap((metrics) => (metrics ? loadsOf(metrics) : []))
    .map((load, rank) => ({ dp_rank: rank, ...load }));
}

function loadsOf(metrics: TextMetrics) {
  const { tokensPerPage } = metrics.pages;
  const replicas: readonly Pick<ReplicaMetrics, 'running' | 'waiting' | 'pages'>[] = metrics.replicas ?? [
    metrics,
  ];
  return replicas.map(({ running, waiting, pages }) => ({
    num_reqs: running + waiting,
    num_waiting_reqs: waiting,
    num_tokens: pages.used * tokensPerPage,
    max_total_num_tokens: pages.total * tokensPerPage,
  }));
}
