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
  summary: 'Refused: models are given with --model-path.',
  ...COMMON,
};

export const OLLAMA_ROUTES: RouteTable = {
  '/api/chat': {
    POST: {
      handle: ollamaChat,
      summary: "A reply to a conversation in Ollama's interface.",
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
      summary: 'A reply to a prompt, or with raw a text continued.',
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
      summary: 'Vectors that stand for texts.',
      fields: EMBED_FIELDS,
      required: ['model', 'input'],
      reply: 'OllamaEmbed',
      ...COMMON,
    },
  },
  '/api/embeddings': {
    POST: {
      handle: ollamaEmbedOne,
      summary: 'The older route: the vector of one text.',
      fields: ONE_EMBEDDING_FIELDS,
      required: ['model', 'prompt'],
      reply: 'OllamaEmbedding',
      ...COMMON,
    },
  },
  '/api/tags': {
    GET: {
      handle: ollamaTags,
      summary: 'The models for text and embeddings.',
      reply: 'OllamaTags',
      ...COMMON,
    },
  },
  '/api/show': {
    POST: {
      handle: ollamaShow,
      summary: 'What a model is and can do.',
      fields: SHOW_FIELDS,
      reply: 'OllamaShow',
      ...COMMON,
    },
  },
  '/api/ps': {
    GET: {
      handle: ollamaRunning,
      summary: 'The same models, with their memory.',
      reply: 'OllamaRunning',
      ...COMMON,
    },
  },
  '/api/version': {
    GET: {
      handle: ollamaVersion,
      summary: 'Version of the interface followed here.',
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
