// The routes of Ollama's interface.

import type { Route, RouteTable } from '../service/route.ts';
import { OLLAMA } from './ollama-schema.ts';
import { EMBED, EMBED_ONE } from './ollama-embed.ts';
import { DELETE, PULL, refuseManaging } from './ollama-manage.ts';
import { ollamaRunning, ollamaTags, ollamaVersion, SHOW } from './ollama-models.ts';
import { OLLAMA_CHAT, OLLAMA_GENERATE } from './ollama.ts';

const MANAGING: Route = {
  handle: refuseManaging,
  summary: 'Refused: models are those of --model-path or --models-dir.',
  ...OLLAMA,
};

export const OLLAMA_ROUTES: RouteTable = {
  '/api/chat': { POST: OLLAMA_CHAT },
  '/api/generate': { POST: OLLAMA_GENERATE },
  '/api/embed': { POST: EMBED },
  '/api/embeddings': { POST: EMBED_ONE },
  '/api/tags': {
    GET: { handle: ollamaTags, summary: 'Models for text and embeddings.', ...OLLAMA, reply: 'OllamaTags' },
  },
  '/api/show': { POST: SHOW },
  '/api/ps': {
    GET: {
      handle: ollamaRunning,
      summary: 'Models for text and embeddings with their memory.',
      ...OLLAMA,
      reply: 'OllamaRunning',
    },
  },
  '/api/version': {
    GET: {
      handle: ollamaVersion,
      summary: 'Version of Ollama that this interface follows.',
      ...OLLAMA,
      reply: 'OllamaVersion',
    },
  },
  '/api/pull': { POST: PULL },
  '/api/push': { POST: MANAGING },
  '/api/create': { POST: MANAGING },
  '/api/copy': { POST: MANAGING },
  '/api/delete': { DELETE },
  '/api/blobs/:id': { POST: MANAGING },
};
