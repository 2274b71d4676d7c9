// The routes for text and embeddings, in the interfaces of OpenAI and Anthropic.

import { countReply, messageEvent, messageReply } from './anthropic-reply-schema.ts';
import { COUNT_FIELDS, MESSAGE_FIELDS } from './anthropic-schema.ts';
import { anthropicMessages, countTokens } from './anthropic.ts';
import { chatEvent, chatReply } from './chat-reply-schema.ts';
import { CHAT_FIELDS } from './chat-schema.ts';
import { chatCompletions } from './chat.ts';
import { completionEvent, completionReply } from './completion-reply-schema.ts';
import { COMPLETION_FIELDS } from './completion-schema.ts';
import { completions } from './completions.ts';
import { embeddingReply } from './embedding-reply-schema.ts';
import { EMBEDDING_FIELDS } from './embedding-schema.ts';
import { embeddings } from './embeddings.ts';
import { deletedReply, inputItemsReply, responseEvent, responseReply } from './response-reply-schema.ts';
import { RESPONSE_FIELDS } from './response-schema.ts';
import { cancelResponse, deleteResponse, getResponse, responseInput, responses } from './responses.ts';
import { alias, type Route, type RouteTable } from './route.ts';
import { detokenizeReply, tokenizeReply } from './tokenize-reply-schema.ts';
import { DETOKENIZE_FIELDS, TOKENIZE_FIELDS } from './tokenize-schema.ts';
import { detokenize, tokenize } from './tokenize.ts';

const TOKENIZE: Route = {
  handle: tokenize,
  summary: 'Token ids of a text, or of a conversation as the model reads it.',
  group: 'Text',
  fields: TOKENIZE_FIELDS,
  reply: tokenizeReply,
};

const DETOKENIZE: Route = {
  handle: detokenize,
  summary: 'The text of token ids.',
  group: 'Text',
  fields: DETOKENIZE_FIELDS,
  required: ['tokens'],
  reply: detokenizeReply,
};

export const TEXT_ROUTES: RouteTable = {
  '/v1/chat/completions': {
    POST: {
      handle: chatCompletions,
      summary: 'A reply to a conversation.',
      group: 'Text',
      fields: CHAT_FIELDS,
      required: ['messages', 'model'],
      reply: chatReply,
      event: chatEvent,
      marker: true,
    },
  },
  '/v1/completions': {
    POST: {
      handle: completions,
      summary: 'Texts continued, without a template.',
      group: 'Text',
      fields: COMPLETION_FIELDS,
      required: ['prompt', 'model'],
      reply: completionReply,
      event: completionEvent,
      marker: true,
    },
  },
  '/v1/responses': {
    POST: {
      handle: responses,
      summary: "A response in OpenAI's newer interface.",
      group: 'Text',
      fields: RESPONSE_FIELDS,
      required: ['input', 'model'],
      reply: responseReply,
      event: responseEvent,
    },
  },
  '/v1/responses/:id': {
    GET: { handle: getResponse, summary: 'A response that is kept.', group: 'Text', reply: responseReply },
    DELETE: { handle: deleteResponse, summary: 'Forgets a response.', group: 'Text', reply: deletedReply },
  },
  '/v1/responses/:id/input_items': {
    GET: {
      handle: responseInput,
      summary: 'What a response was asked with.',
      group: 'Text',
      reply: inputItemsReply,
    },
  },
  '/v1/responses/:id/cancel': {
    POST: {
      handle: cancelResponse,
      summary: 'Ends a response that is being made.',
      group: 'Text',
      reply: responseReply,
    },
  },
  '/v1/messages': {
    POST: {
      handle: anthropicMessages,
      summary: "A reply in Anthropic's interface.",
      group: 'Text',
      fields: MESSAGE_FIELDS,
      required: ['model', 'messages', 'max_tokens'],
      reply: messageReply,
      event: messageEvent,
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
      reply: countReply,
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
      reply: embeddingReply,
    },
  },
  '/tokenize': { POST: alias('/v1/tokenize', TOKENIZE) },
  '/v1/tokenize': { POST: TOKENIZE },
  '/detokenize': { POST: alias('/v1/detokenize', DETOKENIZE) },
  '/v1/detokenize': { POST: DETOKENIZE },
};
