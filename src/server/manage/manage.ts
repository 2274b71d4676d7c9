// The routes that change which models are open and which are there: load, unload, fetch, delete, and the changes as they come.

import type { H3Event } from 'h3';
import { filled } from '../body/bounded.ts';
import { honoured } from '../body/fields.ts';
import { whileClientWaits } from '../service/model-call.ts';
import { MODEL_ROUTES, nameIn } from '../service/models.ts';
import { statusOf } from '../service/model-status.ts';
import { alias, bodyRoute, type Route, type RouteTable } from '../service/route.ts';
import { deleteModel, demandedModel, fetchModel, unloadModel } from './managing.ts';
import { CHANGES } from './model-changes.ts';

const SCHEMAS = [() => import('./manage-reply-schema.ts')];

const COMMON = { group: 'Models', schemas: SCHEMAS, access: 'admin' } as const;

const model = honoured(filled, 'Name of a model, as /v1/models lists it, or its last segment.');

const LOAD = bodyRoute(
  {
    summary: 'Opens a model before its first request, and answers once it is open.',
    ...COMMON,
    fields: { model },
    required: ['model'],
    reply: 'ManagedModel',
  },
  async ({ service, event, body }) => {
    const { slot, demand, catalog } = await demandedModel(service, body.model);
    const end = await whileClientWaits(service, event, `${demand.name} was open`, (signal) =>
      catalog.use(demand, { signal }),
    );
    end();
    return { success: true, model: demand.name, status: statusOf(slot) };
  },
);

const UNLOAD = bodyRoute(
  {
    summary:
      'Closes a model once the requests that use it have ended, and answers then; its next request opens it again.',
    ...COMMON,
    fields: { model },
    required: ['model'],
    reply: 'ManagedModel',
  },
  async ({ service, body }) => {
    const { slot, demand } = await unloadModel(service, body.model);
    return { success: true, model: demand.name, status: statusOf(slot) };
  },
);

const FETCH = bodyRoute(
  {
    summary: 'Begins to fetch a model from the hub; /models/sse tells how far it is.',
    ...COMMON,
    fields: { model: honoured(filled, 'Id on the hub, as owner/name or owner/name:Q4_K_M.') },
    required: ['model'],
    reply: 'ManagedModel',
  },
  ({ service, body }) => fetchModel(service, body.model),
);

const DELETE: Route = {
  handle: (service, { url }: H3Event) => deleteModel(service, url.searchParams.get('model')),
  summary: 'Deletes the files of a model that no request uses, or cancels its download.',
  ...COMMON,
  query: { model: 'Name of a model, as /v1/models lists it.' },
  reply: 'DeletedModel',
};

/** As OpenAI's clients delete models: the name is in the address. */
const DELETE_NAMED: Route = {
  handle: (service, { url }: H3Event) => deleteModel(service, nameIn(url)),
  summary: 'Deletes the files of a model that no request uses.',
  ...COMMON,
  reply: 'DeletedModel',
};

const { GET } = MODEL_ROUTES['/v1/models']!;

export const MANAGE_ROUTES: RouteTable = {
  '/v1/models': { GET: GET!, POST: FETCH, DELETE },
  '/v1/models/**': { ...MODEL_ROUTES['/v1/models/**'], DELETE: DELETE_NAMED },
  '/models': {
    GET: alias('/v1/models', GET!),
    POST: alias('/v1/models', FETCH),
    DELETE: alias('/v1/models', DELETE),
  },
  '/models/load': { POST: alias('/v1/models/load', LOAD) },
  '/v1/models/load': { POST: LOAD },
  '/models/unload': { POST: alias('/v1/models/unload', UNLOAD) },
  '/v1/models/unload': { POST: UNLOAD },
  '/models/sse': { GET: alias('/v1/models/sse', CHANGES) },
  '/v1/models/sse': { GET: CHANGES },
};
