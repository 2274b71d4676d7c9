// Every route once: who answers it, who may ask, and what the API page says of it.

import { loadAdapter, unloadAdapter } from './lora-adapters.ts';
import { ABORT_FIELDS, FLUSH_FIELDS, LOAD_FIELDS, UNLOAD_FIELDS } from './admin-schema.ts';
import { abortRequest, flushCache } from './admin.ts';
import { COUNT_FIELDS, MESSAGE_FIELDS } from './anthropic-schema.ts';
import { anthropicMessages, countTokens } from './anthropic.ts';
import { chatCompletions } from './chat.ts';
import { COMPLETION_FIELDS } from './completion-schema.ts';
import { completions } from './completions.ts';
import { docs, home, openApiFile } from './docs.ts';
import { EMBEDDING_FIELDS } from './embedding-schema.ts';
import { embeddings } from './embeddings.ts';
import { EDIT_FIELDS, IMAGE_FIELDS } from './image-schema.ts';
import { imageContent, imageEdits, imageGenerations } from './images.ts';
import { metricsPage } from './metrics.ts';
import { modelEntry, modelList } from './models.ts';
import { OLLAMA_ROUTES } from './ollama-routes.ts';
import { readiness } from './readiness.ts';
import { RESPONSE_FIELDS } from './response-schema.ts';
import { cancelResponse, deleteResponse, getResponse, responseInput, responses } from './responses.ts';
import type { Method, Route, RouteTable } from './route.ts';
import { CHAT_FIELDS } from './chat-schema.ts';
import { modelInfo, serverInfo } from './server-info.ts';
import { DETOKENIZE_FIELDS, TOKENIZE_FIELDS } from './tokenize-schema.ts';
import { detokenize, tokenize } from './tokenize.ts';

const alias = (aliasOf: string, route: Route): Route => ({ ...route, aliasOf });

const CHAT: Route = {
  handle: chatCompletions,
  summary: 'A reply to a conversation.',
  group: 'Text',
  fields: CHAT_FIELDS,
  required: ['messages', 'model'],
};

const TOKENIZE: Route = {
  handle: tokenize,
  summary: 'Token ids of a text, or of a conversation as the model reads it.',
  group: 'Text',
  fields: TOKENIZE_FIELDS,
};

const DETOKENIZE: Route = {
  handle: detokenize,
  summary: 'The text of token ids.',
  group: 'Text',
  fields: DETOKENIZE_FIELDS,
  required: ['tokens'],
};

const READINESS: Route = {
  handle: readiness,
  summary: '200 once every model answers; 503 before that, and while the server stops.',
  group: 'Server',
  access: 'open',
};

const SERVER_INFO: Route = {
  handle: serverInfo,
  summary: 'Version, settings, and what each model does at the moment.',
  group: 'Server',
};

const FLUSH: Route = {
  handle: flushCache,
  summary: 'Empties the prefix cache, in storage excepted, and forgets grammars; 400 while requests run.',
  group: 'Administration',
  fields: FLUSH_FIELDS,
  access: 'admin',
};

const MODEL_INFO: Route = {
  handle: modelInfo,
  summary: 'Where a model comes from and what it is.',
  group: 'Models',
  query: { model: 'A served name; left out, the first model.' },
};

export const ROUTES: RouteTable = {
  '/v1/chat/completions': { POST: CHAT },
  '/v1/completions': {
    POST: {
      handle: completions,
      summary: 'Texts continued, without a template.',
      group: 'Text',
      fields: COMPLETION_FIELDS,
      required: ['prompt', 'model'],
    },
  },
  '/v1/responses': {
    POST: {
      handle: responses,
      summary: "A response in OpenAI's newer interface.",
      group: 'Text',
      fields: RESPONSE_FIELDS,
      required: ['input', 'model'],
    },
  },
  '/v1/responses/:id': {
    GET: { handle: getResponse, summary: 'A response that is kept.', group: 'Text' },
    DELETE: { handle: deleteResponse, summary: 'Forgets a response.', group: 'Text' },
  },
  '/v1/responses/:id/input_items': {
    GET: { handle: responseInput, summary: 'What a response was asked with.', group: 'Text' },
  },
  '/v1/responses/:id/cancel': {
    POST: { handle: cancelResponse, summary: 'Ends a response that is being made.', group: 'Text' },
  },
  '/v1/messages': {
    POST: {
      handle: anthropicMessages,
      summary: "A reply in Anthropic's interface.",
      group: 'Text',
      fields: MESSAGE_FIELDS,
      required: ['model', 'messages', 'max_tokens'],
      envelope: 'anthropic',
    },
  },
  '/v1/messages/count_tokens': {
    POST: {
      handle: countTokens,
      summary: 'Tokens of a conversation as the model reads it.',
      group: 'Text',
      fields: COUNT_FIELDS,
      required: ['model', 'messages'],
      envelope: 'anthropic',
    },
  },
  '/v1/embeddings': {
    POST: {
      handle: embeddings,
      summary: 'Vectors that stand for texts.',
      group: 'Embeddings',
      fields: EMBEDDING_FIELDS,
      required: ['input', 'model'],
    },
  },
  '/tokenize': { POST: alias('/v1/tokenize', TOKENIZE) },
  '/v1/tokenize': { POST: TOKENIZE },
  '/detokenize': { POST: alias('/v1/detokenize', DETOKENIZE) },
  '/v1/detokenize': { POST: DETOKENIZE },
  '/v1/images/generations': {
    POST: {
      handle: imageGenerations,
      summary: 'Pictures from a prompt.',
      group: 'Images',
      fields: IMAGE_FIELDS,
      required: ['prompt'],
    },
  },
  '/v1/images/edits': {
    POST: {
      handle: imageEdits,
      summary: 'Pictures from a picture and a prompt.',
      group: 'Images',
      form: { ...IMAGE_FIELDS, ...EDIT_FIELDS },
      required: ['prompt'],
    },
  },
  '/v1/images/:id/content': {
    GET: {
      handle: imageContent,
      summary: 'A picture that was asked for by URL.',
      group: 'Images',
      gives: 'image/*',
      // Nobody can guess its address, and a page should be able to show it.
      access: 'open',
    },
  },
  '/v1/models': {
    GET: { handle: modelList, summary: 'The models that are ready.', group: 'Models' },
  },
  '/v1/models/**': {
    GET: { handle: modelEntry, summary: 'One model, by its name.', group: 'Models' },
  },
  '/model_info': { GET: MODEL_INFO },
  '/get_model_info': { GET: alias('/model_info', MODEL_INFO) },
  '/server_info': { GET: SERVER_INFO },
  '/get_server_info': { GET: alias('/server_info', SERVER_INFO) },
  '/flush_cache': { POST: FLUSH },
  '/abort_request': {
    POST: {
      handle: abortRequest,
      summary: 'Ends requests by their ids, or all of them.',
      group: 'Administration',
      fields: ABORT_FIELDS,
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
      access: 'admin',
    },
  },
  '/unload_lora_adapter': {
    POST: {
      handle: unloadAdapter,
      summary: 'Unloads one; requests that run with it end as they would.',
      group: 'Administration',
      fields: UNLOAD_FIELDS,
      required: ['lora_name'],
      access: 'admin',
    },
  },
  '/metrics': {
    GET: {
      handle: metricsPage,
      summary: 'Counters, gauges and histograms, in the form that Prometheus reads.',
      group: 'Server',
      gives: 'text/plain',
      access: 'open',
    },
  },
  '/': {
    GET: {
      handle: home,
      summary: 'What this is, and where to go on; a browser is sent to /docs.',
      group: 'Server',
      access: 'open',
    },
  },
  '/openapi.json': {
    GET: {
      handle: (service) => openApiFile(service, ROUTES),
      summary: 'This interface as OpenAPI 3.1.',
      group: 'Server',
      access: 'open',
    },
  },
  '/docs': {
    GET: {
      handle: (service, event) => docs(service, event, ROUTES),
      summary: 'This page.',
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

/** The route that a request is for; null: none, or not by that method. */
export function routeOf(method: string, pathname: string): Route | null {
  const found = ROUTES[pathname] ?? PATTERNS.find(({ pattern }) => pattern.test(pathname))?.methods ?? {};
  return found[(method === 'HEAD' ? 'GET' : method) as Method] ?? null;
}
