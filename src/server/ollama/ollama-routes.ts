// The routes of Ollama's interface.

import { ollamaEmbed, ollamaEmbedOne } from './ollama-embed.ts';
import { ollamaRunning, ollamaShow, ollamaTags, ollamaVersion, refuseManaging } from './ollama-models.ts';
import {
  EMBED_FIELDS,
  GENERATE_FIELDS,
  OLLAMA_CHAT_FIELDS,
  ONE_EMBEDDING_FIELDS,
  SHOW_FIELDS,
} from './ollama-schema.ts';
import { ollamaChat, ollamaGenerate } from './ollama.ts';
import type { Route, RouteTable } from '../route.ts';

const COMMON = { group: 'Ollama', envelope: 'ollama' } as const;

const MANAGING: Route = {
  handle: refuseManaging,
  summary: 'Refused: models are those of --model-path.',
  ...COMMON,
};

export const OLLAMA_ROUTES: RouteTable = {
  '/api/chat': {
    POST: {
      handle: ollamaChat,
      summary: "Ollama's chat, with tools, thoughts, schemas and its lines of JSON.",
      fields: OLLAMA_CHAT_FIELDS,
      required: ['model'],
      reply: 'OllamaChat',
      event: 'OllamaChatLine',
      ...COMMON,
    },
  },
  '/api/generate': {
    POST: {
      handle: ollamaGenerate,
      summary: "Ollama's generate: a reply to a prompt, or a continuation with `raw`.",
      fields: GENERATE_FIELDS,
      required: ['model'],
      reply: 'OllamaGenerate',
      event: 'OllamaGenerateLine',
      ...COMMON,
    },
  },
  '/api/embed': {
    POST: {
      handle: ollamaEmbed,
      summary: 'Embeddings of texts; `dimensions`, `base64`.',
      fields: EMBED_FIELDS,
      required: ['model', 'input'],
      reply: 'OllamaEmbed',
      ...COMMON,
    },
  },
  '/api/embeddings': {
    POST: {
      handle: ollamaEmbedOne,
      summary: 'Older route: the embedding of one text.',
      fields: ONE_EMBEDDING_FIELDS,
      required: ['model', 'prompt'],
      reply: 'OllamaEmbedding',
      ...COMMON,
    },
  },
  '/api/tags': {
    GET: {
      handle: ollamaTags,
      summary: 'Models for text and embeddings.',
      reply: 'OllamaTags',
      ...COMMON,
    },
  },
  '/api/show': {
    POST: {
      handle: ollamaShow,
      summary: 'Properties and capabilities of a model.',
      fields: SHOW_FIELDS,
      reply: 'OllamaShow',
      ...COMMON,
    },
  },
  '/api/ps': {
    GET: {
      handle: ollamaRunning,
      summary: 'Models for text and embeddings with their memory.',
      reply: 'OllamaRunning',
      ...COMMON,
    },
  },
  '/api/version': {
    GET: {
      handle: ollamaVersion,
      summary: 'Version of Ollama that this interface follows.',
      reply: 'OllamaVersion',
      ...COMMON,
    },
  },
  '/api/pull': { POST: MANAGING },
  '/api/push': { POST: MANAGING },
  '/api/create': { POST: MANAGING },
  '/api/copy': { POST: MANAGING },
  '/api/delete': { DELETE: MANAGING },
  '/api/blobs/:id': { POST: MANAGING },
};
