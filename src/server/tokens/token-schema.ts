// The fields of /v1/embeddings, /tokenize and /detokenize.

import { z } from 'zod';
import { list, MOST_IDS, MOST_TOOLS, record, tokenId, tokenInputs } from '../body/bounded.ts';
import { LIMITS } from '../../index.ts';
import { type FieldTable, honoured, noEffect } from '../body/fields.ts';
import { TILE_FIELDS } from '../chat/chat-schema.ts';
import { messagesSchema } from '../text/messages.ts';

const model = honoured(z.string().min(1), 'A served name, its last segment, or "default".', 'default');
const MOST_TEXTS = 2048;
const ids = list(tokenId, MOST_IDS);

export const TOKENIZE_FIELDS = {
  model,
  prompt: honoured(
    z.union([z.string(), list(z.string(), MOST_TEXTS).min(1)]),
    `A text or up to ${MOST_TEXTS}.`,
  ),
  messages: honoured(messagesSchema, 'In place of prompt: a conversation, as the template renders it.'),
  add_special_tokens: honoured(
    z.boolean(),
    'With what the tokenizer puts around a text; a template puts its own.',
    true,
  ),
  tools: honoured(list(record(z.unknown()), MOST_TOOLS), 'Tools for the template.'),
  chat_template_kwargs: honoured(record(z.unknown()), 'Variables for the chat template.'),
  ...TILE_FIELDS,
} satisfies FieldTable;

export const DETOKENIZE_FIELDS = {
  model,
  tokens: honoured(z.union([ids, list(ids, MOST_TEXTS)]), `Token ids, or up to ${MOST_TEXTS} lists of them.`),
  skip_special_tokens: honoured(z.boolean(), 'Leave special tokens out of the text.', true),
} satisfies FieldTable;

export const EMBEDDING_FIELDS = {
  input: honoured(
    tokenInputs(LIMITS.inputs),
    `A text, a list of token ids, or up to ${LIMITS.inputs} of either. Token ids are taken as they are.`,
  ),
  model: honoured(z.string().min(1), 'A served name, its last segment, or "default".'),
  dimensions: honoured(
    z.int().min(1),
    'Keep the first so many values and bring them to length one again; left out, all.',
  ),
  task: honoured(
    z.string().min(1),
    'What the vectors are for: a task or prompt that the files of the model name (retrieval.query, query).',
  ),
  encoding_format: honoured(z.enum(['float', 'base64']), 'base64: little-endian 32-bit floats.', 'float'),
  user: noEffect('Who asks.'),
};
