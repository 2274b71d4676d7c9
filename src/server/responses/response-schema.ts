// The fields of OpenAI's Responses interface, and the sampling fields that all routes for text share.

import { z } from 'zod';
import { filled, list, MOST_TOOLS, MOST_TURNS, record } from '../body/bounded.ts';
import {
  type FieldTable,
  type HonouredBody,
  honoured,
  neutralOnly,
  noEffect,
  pickFields,
} from '../body/fields.ts';
import { SAMPLING, SCHEDULING } from '../../options/text-request.ts';
import { fieldsOf } from '../body/setting-fields.ts';
import { CONSTRAINT_NAMES, GENERATION_FIELDS, MODEL_FIELD, tokenCount } from '../text/generation-fields.ts';
import { effort } from '../text/reasoning.ts';
import { inputItem } from './response-items.ts';
import { toolChoice, toolSchema } from './response-tool-schema.ts';

const format = z.looseObject({
  type: z.enum(['text', 'json_object', 'json_schema']),
  name: z.string().nullish(),
  description: z.string().nullish(),
  schema: record(z.unknown()).nullish(),
  strict: z.boolean().nullish(),
});

const MOST_INCLUDES = 64;
const INCLUDES = ['message.output_text.logprobs', 'reasoning.encrypted_content'];

/** Fields with the same name and meaning as in a chat completion. */
export const SHARED_FIELDS = {
  ...fieldsOf(SAMPLING, 'responses'),
  ...pickFields(GENERATION_FIELDS, 'regex', 'ebnf'),
  ...fieldsOf(SCHEDULING, 'responses'),
  ...pickFields(GENERATION_FIELDS, 'cache_salt', 'extra_key'),
};

export const RESPONSE_FIELDS = {
  input: honoured(
    z.union([filled, list(inputItem, MOST_TURNS).min(1)]),
    'A text, or items: message, reasoning, item_reference, additional_tools; function_call, custom_tool_call, tool_search_call, and what each led to.',
  ),
  model: MODEL_FIELD,
  instructions: honoured(
    z.string(),
    'A system message before the input; not carried on to the next response.',
  ),
  previous_response_id: honoured(filled, 'The conversation goes on from that response, if it is still kept.'),
  store: honoured(z.boolean(), 'Keep the response, in memory and within bounds.', true),
  max_output_tokens: honoured(tokenCount, 'Most tokens to generate; clamped to what the context leaves.'),
  tools: honoured(
    list(toolSchema, MOST_TOOLS),
    'What the model may call: function, custom (its text held to a regex or Lark grammar), namespace, tool_search that the client runs. web_search passes, and is never offered.',
  ),
  tool_choice: honoured(
    toolChoice,
    'auto, none, required, one function or custom tool, or allowed_tools.',
    'auto',
  ),
  parallel_tool_calls: honoured(z.boolean(), 'false: one call at most.', true),
  text: honoured(
    z.looseObject({ format: format.nullish(), verbosity: z.enum(['low', 'medium', 'high']).nullish() }),
    'format: text, json_object or json_schema (with strict false all that the schema allows). verbosity has no effect: a hint for models that were trained to know it.',
    undefined,
    { elsewhere: ['response_format', ...CONSTRAINT_NAMES] },
  ),
  reasoning: honoured(
    z.looseObject({
      effort: effort.nullish(),
      summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
    }),
    'effort, as reasoning_effort of chat completions. Thoughts come whole, not as a summary.',
  ),
  top_logprobs: honoured(
    z.int().min(0).max(20),
    'Log probabilities of so many best tokens; needs message.output_text.logprobs in include.',
    0,
  ),
  include: honoured(
    list(
      z
        .string()
        .refine((name) => INCLUDES.includes(name), { error: `must be one of ${INCLUDES.join(', ')}` }),
      MOST_INCLUDES,
    ),
    'message.output_text.logprobs. reasoning.encrypted_content has no effect: thoughts are not encrypted.',
  ),
  metadata: honoured(record(z.string()), 'Labels, sent back with the response.'),
  ...SHARED_FIELDS,
  stream: GENERATION_FIELDS.stream,
  stream_options: noEffect('Nothing is padded here.'),
  truncation: honoured(
    z.enum(['auto', 'disabled']),
    'auto: the oldest turns of a conversation that is too long are left out, but for its instructions.',
    'disabled',
  ),
  background: neutralOnly('Answer later.', false),
  conversation: neutralOnly('A stored conversation.'),
  prompt: neutralOnly('A stored prompt.'),
  max_tool_calls: noEffect('Bounds calls of tools that a server runs itself.'),
  user: noEffect('Who asks.'),
  client_metadata: noEffect('Labels for who runs the server.'),
  safety_identifier: noEffect('Who asks, hashed.'),
  prompt_cache_key: noEffect('Which cache to look in; there is one, and it looks by content.'),
  prompt_cache_retention: noEffect('How long to keep the cache.'),
  service_tier: noEffect('Which tier bills and serves.'),
} satisfies FieldTable;

export type ResponseBody = HonouredBody<typeof RESPONSE_FIELDS> & { model: string };

/** Whether the log probabilities of the text are asked for. */
export const wantsOutputLogprobs = ({ include }: Pick<ResponseBody, 'include'>): boolean =>
  include?.includes('message.output_text.logprobs') ?? false;
