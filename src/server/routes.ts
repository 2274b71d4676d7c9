// The table of routes: handler, access, and entry in the API page.

import { loadAdapter, unloadAdapter } from './admin/lora-adapters.ts';
import { ABORT_FIELDS, FLUSH_FIELDS, LOAD_FIELDS, UNLOAD_FIELDS } from './admin/admin-schema.ts';
import { abortRequest, flushCache } from './admin/admin.ts';
import { docs, home, openApiFile } from './docs/docs.ts';
import { EDIT_FIELDS, IMAGE_FIELDS } from './images/image-schema.ts';
import { imageContent, imageEdits, imageGenerations } from './images/images.ts';
import { metricsPage } from './admin/metrics-page.ts';
import { modelEntry, modelList } from './models.ts';
import { OLLAMA_ROUTES } from './ollama/ollama-routes.ts';
import { readiness } from './admin/readiness.ts';
import { alias, type Method, type Route, type RouteTable } from './route.ts';
import { modelInfo, serverInfo } from './admin/server-info.ts';
import { TEXT_ROUTES } from './text-routes.ts';

const READINESS: Route = {
  handle: readiness,
  summary:
    '200 once every model answers, those that sleep after they are opened again; 503 before that, and while the server stops.',
  group: 'Server',
  reply: 'Ready',
  notReady: 'NotReady',
  access: 'open',
};

const SERVER_INFO: Route = {
  handle: serverInfo,
  summary: 'Version, settings, and the current state of each model.',
  group: 'Server',
  reply: 'ServerInfo',
};

const FLUSH: Route = {
  handle: flushCache,
  summary: 'Empties the prefix cache, in storage excepted, and forgets grammars; 400 while requests run.',
  group: 'Administration',
  fields: FLUSH_FIELDS,
  reply: 'Flushed',
  access: 'admin',
};

const MODEL_INFO: Route = {
  handle: modelInfo,
  summary: 'Source, class and properties of a model.',
  group: 'Models',
  query: { model: 'A served name; left out, the first model.' },
  reply: 'ModelInfo',
};

export const ROUTES: RouteTable = {
  ...TEXT_ROUTES,
  '/v1/images/generations': {
    POST: {
      handle: imageGenerations,
      summary: 'Generates images from a prompt, with previews while streaming.',
      group: 'Images',
      fields: IMAGE_FIELDS,
      required: ['prompt'],
      reply: 'Images',
      event: 'ImageGenerationEvent',
    },
  },
  '/v1/images/edits': {
    POST: {
      handle: imageEdits,
      summary: 'Generates images from an image and a prompt: image-to-image and inpainting.',
      group: 'Images',
      form: { ...IMAGE_FIELDS, ...EDIT_FIELDS },
      required: ['prompt'],
      reply: 'Images',
      event: 'ImageEditEvent',
    },
  },
  '/v1/images/:id/content': {
    GET: {
      handle: imageContent,
      summary: 'An image that was requested as a URL.',
      group: 'Images',
      gives: 'image/*',
      // The address cannot be guessed, and a web page must be able to show the image without a key.
      access: 'open',
    },
  },
  '/v1/models': {
    GET: { handle: modelList, summary: 'The models that are ready.', group: 'Models', reply: 'Models' },
  },
  '/v1/models/**': {
    GET: { handle: modelEntry, summary: 'A model by its name.', group: 'Models', reply: 'Model' },
  },
  '/model_info': { GET: MODEL_INFO },
  '/get_model_info': { GET: alias('/model_info', MODEL_INFO) },
  '/server_info': { GET: SERVER_INFO },
  '/get_server_info': { GET: alias('/server_info', SERVER_INFO) },
  '/flush_cache': { POST: FLUSH },
  '/abort_request': {
    POST: {
      handle: abortRequest,
      summary: 'Aborts requests by their ids, or all requests.',
      group: 'Administration',
      fields: ABORT_FIELDS,
      reply: 'Aborted',
      access: 'admin',
    },
  },
  '/load_lora_adapter': {
    POST: {
      handle: loadAdapter,
      summary: 'Loads a LoRA adapter while requests run.',
      group: 'Administration',
      fields: LOAD_FIELDS,
      required: ['lora_name', 'lora_path'],
      reply: 'LoadedAdapters',
      access: 'admin',
    },
  },
  '/unload_lora_adapter': {
    POST: {
      handle: unloadAdapter,
      summary: 'Unloads a LoRA adapter; running requests that use it end normally.',
      group: 'Administration',
      fields: UNLOAD_FIELDS,
      required: ['lora_name'],
      reply: 'LoadedAdapters',
      access: 'admin',
    },
  },
  '/metrics': {
    GET: {
      handle: metricsPage,
      summary:
        'Counters, gauges and histograms in the Prometheus format: requests, tokens, times to first token, cache, queue, grammars, adapters.',
      group: 'Server',
      gives: 'text/plain',
      access: 'open',
    },
  },
  '/': {
    GET: {
      handle: home,
      summary: 'Name, version and links; browsers are redirected to /docs.',
      group: 'Server',
      reply: 'Home',
      access: 'open',
    },
  },
  '/openapi.json': {
    GET: {
      handle: (service) => openApiFile(service, ROUTES),
      summary: 'This interface as OpenAPI 3.1.',
      group: 'Server',
      reply: 'OpenApi',
      access: 'open',
    },
  },
  '/docs': {
    GET: {
      handle: (service, event) => docs(service, event, ROUTES),
      summary: 'This interface as a page, which loads nothing from elsewhere.',
      group: 'Server',
      gives: 'text/html',
      access: 'open',
    },
  },
  '/livez': {
    GET: {
      handle: () => ({ status: 'alive' }),
      summary: '200 as long as the process answers.',
      group: 'Server',
      reply: 'Alive',
      access: 'open',
    },
  },
  '/readyz': { GET: READINESS },
  '/health': { GET: READINESS },
  ...OLLAMA_ROUTES,
};

const PATTERNS = Object.entries(ROUTES).map(([path, methods]) => ({
  pattern: new RegExp(`^${path.replace(/:\w+/g, '[^/]+').replace('**', '.+')}$`),
  methods,
}));

/** Returns the route of a request; null if there is none with that path and method. */
export function routeOf(method: string, pathname: string): Route | null {
  const found = ROUTES[pathname] ?? PATTERNS.find(({ pattern }) => pattern.test(pathname))?.methods ?? {};
  return found[(method === 'HEAD' ? 'GET' : method) as Method] ?? null;
}

/** The form of errors of an address, also where it has no such route or method; undefined: OpenAI's. */
export function envelopeOf(method: string, pathname: string): Route['envelope'] {
  const known = routeOf(method, pathname);
  if (known) return known.envelope;
  const others = ROUTES[pathname] ?? PATTERNS.find(({ pattern }) => pattern.test(pathname))?.methods;
  const [other] = Object.values(others ?? {});
  if (other) return other.envelope;
  return /^\/api(\/|$)/.test(pathname) ? 'ollama' : undefined;
}
