// The routes for text and embeddings, in the interfaces of OpenAI and Anthropic.

import { COUNT_FIELDS, MESSAGE_FIELDS } from './anthropic/anthropic-schema.ts';
import { anthropicMessages, countTokens } from './anthropic/anthropic.ts';
import { CHAT_FIELDS } from './chat/chat-schema.ts';
import { chatCompletions } from './chat/chat.ts';
import { COMPLETION_FIELDS } from './completions/completion-schema.ts';
import { completions } from './completions/completions.ts';
import { EMBEDDING_FIELDS } from './tokens/embedding-schema.ts';
import { embeddings } from './tokens/embeddings.ts';
import { RESPONSE_FIELDS } from './responses/response-schema.ts';
import {
  cancelResponse,
  deleteResponse,
  getResponse,
  responseInput,
  responses,
} from './responses/responses.ts';
import { alias, type Route, type RouteTable } from './route.ts';
import { DETOKENIZE_FIELDS, TOKENIZE_FIELDS } from './tokens/tokenize-schema.ts';
import { detokenize, tokenize } from './tokens/tokenize.ts';

const TOKENIZE: Route = {
  handle: tokenize,
  summary: 'Token ids of a text, or of a conversation as the model reads it.',
  group: 'Text',
  fields: TOKENIZE_FIELDS,
  reply: 'Tokens',
};

const DETOKENIZE: Route = {
  handle: detokenize,
  summary: 'The text of token ids.',
  group: 'Text',
  fields: DETOKENIZE_FIELDS,
  required: ['tokens'],
  reply: 'Detokenized',
};

export const TEXT_ROUTES: RouteTable = {
  '/v1/chat/completions': {
    POST: {
      handle: chatCompletions,
      summary: 'Chat completions: a reply to a conversation, streaming or not; the fields stand below.',
      group: 'Text',
      fields: CHAT_FIELDS,
      required: ['messages', 'model'],
      reply: 'ChatCompletion',
      event: 'ChatCompletionEvent',
      marker: true,
    },
  },
  '/v1/completions': {
    POST: {
      handle: completions,
      summary:
        'Completions: continues texts or token ids without a chat template; lists of prompts, `echo`, `suffix`, `logprobs`.',
      group: 'Text',
      fields: COMPLETION_FIELDS,
      required: ['prompt', 'model'],
      reply: 'Completion',
      event: 'CompletionEvent',
      marker: true,
    },
  },
  '/v1/responses': {
    POST: {
      handle: responses,
      summary:
        "OpenAI's responses, kept in memory for `previous_response_id`; function, custom, namespace and client-run search tools, as Codex sends them.",
      group: 'Text',
      fields: RESPONSE_FIELDS,
      required: ['input', 'model'],
      reply: 'ResponseReply',
      event: 'ResponseEvent',
    },
  },
  '/v1/responses/:id': {
    GET: {
      handle: getResponse,
      summary: 'Returns a stored response.',
      group: 'Text',
      reply: 'ResponseReply',
    },
    DELETE: {
      handle: deleteResponse,
      summary: 'Deletes a stored response.',
      group: 'Text',
      reply: 'DeletedResponse',
    },
  },
  '/v1/responses/:id/input_items': {
    GET: {
      handle: responseInput,
      summary: 'Input items of a stored response.',
      group: 'Text',
      reply: 'InputItems',
    },
  },
  '/v1/responses/:id/cancel': {
    POST: {
      handle: cancelResponse,
      summary: 'Cancels a response in progress.',
      group: 'Text',
      reply: 'ResponseReply',
    },
  },
  '/v1/messages': {
    POST: {
      handle: anthropicMessages,
      summary:
        "Anthropic's messages, with that interface's events and errors, as Claude Code sends them to `ANTHROPIC_BASE_URL`.",
      group: 'Text',
      fields: MESSAGE_FIELDS,
      required: ['model', 'messages', 'max_tokens'],
      reply: 'Message',
      event: 'MessageEvent',
      envelope: 'anthropic',
    },
  },
  '/v1/messages/count_tokens': {
    POST: {
      handle: countTokens,
      summary: 'Counts the tokens of a conversation as the model reads it.',
      group: 'Text',
      fields: COUNT_FIELDS,
      required: ['model', 'messages'],
      reply: 'InputTokens',
      envelope: 'anthropic',
    },
  },
  '/v1/embeddings': {
    POST: {
      handle: embeddings,
      summary: 'Embeddings of texts; `dimensions`, `base64`.',
      group: 'Embeddings',
      fields: EMBEDDING_FIELDS,
      required: ['input', 'model'],
      reply: 'Embeddings',
    },
  },
  '/tokenize': { POST: alias('/v1/tokenize', TOKENIZE) },
  '/v1/tokenize': { POST: TOKENIZE },
  '/detokenize': { POST: alias('/v1/detokenize', DETOKENIZE) },
  '/v1/detokenize': { POST: DETOKENIZE },
};
