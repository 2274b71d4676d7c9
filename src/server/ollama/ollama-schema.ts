// The fields of Ollama's interface, and what all of its routes share.

import { z } from 'zod';
import { LIMITS } from '../../index.ts';
import { filled, list, MOST_TOOLS, MOST_TURNS, record } from '../body/bounded.ts';
import { CHAT_FIELDS } from '../chat/chat-schema.ts';
import { CONSTRAINT_NAMES } from '../text/generation-fields.ts';
import {
  type FieldTable,
  type HonouredBody,
  honoured,
  neutralOnly,
  noEffect,
  pickFields,
} from '../body/fields.ts';
import { optionsSchema } from './ollama-options.ts';
import { readUntypedJson } from '../body/json-body.ts';
import { OLLAMA_ERRORS } from '../http/errors.ts';
import { LINES } from '../http/sse.ts';
import type { Endpoints } from '../service/models.ts';

const model = honoured(
  filled,
  'A served name, its last segment, or "default", with or without :latest; name:LoRA applies a LoRA.',
);
const keepAlive = honoured(
  z.union([z.number(), z.string()]),
  'How long a model of --models-dir stays open after the request: seconds, or as 5m; 0: it is closed, below 0: it stays. Left out, as --sleep-idle-seconds says. Those of --model-path stay in any case.',
);

/** Bytes of images in base64. */
const images = list(filled, MOST_TURNS);

const call = z.looseObject({
  id: z.string().nullish(),
  type: z.literal('function').nullish(),
  function: z.looseObject({
    name: filled,
    arguments: record(z.unknown()),
    // The position in the list determines the index.
    index: z.unknown().optional(),
  }),
});

const message = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string().nullish(),
  thinking: z.string().nullish(),
  images: images.nullish(),
  tool_calls: list(call, MOST_TOOLS).nullish(),
  tool_name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
});

/** Fields that both routes for text have. */
const TEXT_FIELDS = {
  stream: honoured(z.boolean(), 'Answer as lines of JSON, application/x-ndjson.', true),
  think: honoured(
    z.union([z.boolean(), z.enum(['low', 'medium', 'high'])]),
    'Whether or how much to think; left out, up to the model. Thoughts come apart, in thinking.',
  ),
  format: honoured(
    z.union([z.literal('json'), record(z.unknown())]),
    '"json", or a JSON schema that the reply fits.',
    '',
    { elsewhere: ['response_format', ...CONSTRAINT_NAMES, 'regex', 'ebnf'] },
  ),
  options: honoured(optionsSchema, 'How to sample and when to stop.'),
  ...pickFields(CHAT_FIELDS, 'logprobs', 'top_logprobs'),
  keep_alive: keepAlive,
} satisfies FieldTable;

export const OLLAMA_CHAT_FIELDS = {
  model,
  messages: honoured(
    list(message, MOST_TURNS),
    "The conversation; where the assistant's message is last, the reply goes on with it. Left out or empty: a model that sleeps wakes, and nothing is said.",
  ),
  tools: honoured(CHAT_FIELDS.tools.schema, 'Functions the model may call.'),
  ...TEXT_FIELDS,
} satisfies FieldTable;

export const GENERATE_FIELDS = {
  model,
  prompt: honoured(
    z.string(),
    "The user's message, or with raw the text to go on from. Left out or empty: a model that sleeps wakes, and nothing is said.",
  ),
  system: honoured(z.string(), 'A system message before it.', ''),
  raw: honoured(z.boolean(), 'The prompt as it is, without a template.', false),
  images: honoured(images, 'Images in base64, for models that see; they precede the prompt.'),
  suffix: honoured(
    z.string(),
    'What comes after the text: for models whose tokenizer has tokens to fill in the middle.',
    '',
  ),
  ...TEXT_FIELDS,
  template: neutralOnly(
    "A template in place of the checkpoint's own; raw takes a prompt made elsewhere.",
    '',
  ),
  context: neutralOnly('Token ids of an earlier reply; /api/chat takes a conversation.'),
} satisfies FieldTable;

const EMBEDDING_COMMON = {
  options: noEffect('How to sample.'),
  keep_alive: keepAlive,
};

export const EMBED_FIELDS = {
  model,
  input: honoured(
    z.union([filled, list(filled, LIMITS.inputs).min(1)]),
    `A text, or up to ${LIMITS.inputs}.`,
  ),
  truncate: honoured(z.boolean(), 'Cut texts that the context does not hold; false: refuse them.', true),
  dimensions: honoured(
    z.int().min(1),
    'Keep the first so many values and bring them to length one again; left out, all.',
  ),
  ...EMBEDDING_COMMON,
} satisfies FieldTable;

/** Fields of the older route /api/embeddings. */
export const ONE_EMBEDDING_FIELDS = {
  model,
  prompt: honoured(filled, 'A text.'),
  ...EMBEDDING_COMMON,
} satisfies FieldTable;

export const SHOW_FIELDS = {
  model,
  name: honoured(filled, 'Older name of model.'),
  verbose: noEffect('Lists of the vocabulary; there are none here.'),
} satisfies FieldTable;

const managed = {
  model: honoured(filled, 'A name, with or without :latest.'),
  name: honoured(filled, 'Older name of model.'),
};

export const PULL_FIELDS = {
  ...managed,
  model: honoured(
    filled,
    'Id on the hub, as owner/name or owner/name:Q4_K_M, with or without hf.co/ before it.',
  ),
  stream: honoured(z.boolean(), 'Answer as lines of JSON, application/x-ndjson.', true),
  insecure: noEffect('Without TLS: HF_ENDPOINT says where the hub is.'),
} satisfies FieldTable;

export const DELETE_FIELDS = managed satisfies FieldTable;

export type OllamaChatBody = HonouredBody<typeof OLLAMA_CHAT_FIELDS>;
export type OllamaMessage = z.infer<typeof message>;
export type TextBody = HonouredBody<typeof TEXT_FIELDS> & { model: string };
export type GenerateBody = HonouredBody<typeof GENERATE_FIELDS> & { model: string };

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
