// The fields of /tokenize and /detokenize.

import { z } from 'zod';
import { bodyChecker } from './body.ts';
import { type FieldTable, honoured } from './fields.ts';
import { messagesSchema } from './messages.ts';

const model = honoured(z.string().min(1), 'A served name, its last segment, or "default".', 'default');
const ids = z.array(z.int().min(0));

export const TOKENIZE_FIELDS = {
  model,
  prompt: honoured(z.union([z.string(), z.array(z.string()).min(1)]), 'A text or a list of them.'),
  messages: honoured(messagesSchema, 'In place of prompt: a conversation, as the template renders it.'),
  add_special_tokens: honoured(
    z.boolean(),
    'With what the tokenizer puts around a text; a template puts its own.',
    true,
  ),
  tools: honoured(z.array(z.record(z.string(), z.unknown())), 'Tools for the template.'),
  chat_template_kwargs: honoured(z.record(z.string(), z.unknown()), 'Variables for the chat template.'),
} satisfies FieldTable;

export const DETOKENIZE_FIELDS = {
  model,
  tokens: honoured(z.union([ids, z.array(ids)]), 'Token ids, or a list of such lists.'),
  skip_special_tokens: honoured(z.boolean(), 'Leave special tokens out of the text.', true),
} satisfies FieldTable;

export const checkTokenize = bodyChecker({
  table: TOKENIZE_FIELDS,
  required: [],
  mayBeEmpty: ['prompt', 'messages'],
});
export const checkDetokenize = bodyChecker({ table: DETOKENIZE_FIELDS, required: ['tokens'] });
