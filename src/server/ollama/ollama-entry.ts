// What all routes of Ollama's interface share.

import { readUntypedJson } from '../body/json-body.ts';
import { OLLAMA_ERRORS } from '../http/errors.ts';
import { LINES } from '../http/sse.ts';
import type { Endpoints } from '../service/models.ts';

export const OLLAMA = {
  group: 'Ollama',
  errors: OLLAMA_ERRORS,
  framing: LINES,
  read: readUntypedJson,
  schemas: [() => import('./ollama-reply-schema.ts')],
} as const;

/** Ollama's clients have no other routes. */
export const OLLAMA_ENDPOINTS: Endpoints = {
  text: 'POST /api/chat or /api/generate',
  embedding: 'POST /api/embed',
};
