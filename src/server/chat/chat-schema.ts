// The fields of a chat completion request: one table, from which the schema and the checks are made (fields.ts), and the rules that
// involve more than one of them.

import { z } from 'zod';
import { LIMITS } from '../../index.ts';
import { list, MOST_IDS, record, tokenId } from '../body/bounded.ts';
import { by, type FieldTable, type HonouredBody, honoured, neutralOnly, noEffect } from '../body/fields.ts';
import { GENERATION_FIELDS, MODEL_FIELD, tokenCount } from '../text/generation-fields.ts';
import { tileCount } from '../text/content-parts.ts';
import { messagesSchema } from '../text/messages.ts';
import { REASONING_FIELDS, checkReasoning } from '../text/reasoning.ts';
import { TOOL_FIELDS, checkTools } from '../text/tools.ts';
import { bodyChecker, type BodyRules } from '../body/body.ts';
import { refuseField } from '../http/errors.ts';
import { checkGeneration } from '../text/generation-request.ts';

/** Most parts of a prediction. */
const MOST_PARTS = 1024;

/** Limits on the tiles of images; those of a part take their place for that part. */
export const TILE_FIELDS = {
  max_dynamic_patch: honoured(
    tileCount,
    'Most tiles of an image, for models that divide images; an image_url or video_url part may have its own.',
    undefined,
    { stricter: `at most ${LIMITS.tiles}` },
  ),
  min_dynamic_patch: honoured(tileCount, 'Fewest tiles of an image.', undefined, {
    stricter: `at most ${LIMITS.tiles}`,
  }),
} satisfies FieldTable;

const predictedPart = z.object({ type: z.literal('text'), text: z.string() });

const predictionSchema = z.object({
  type: z.literal('content'),
  content: z.union([z.string(), list(predictedPart, MOST_PARTS)]),
});

export const CHAT_FIELDS = {
  ...by('files/template/template.ts', {
    messages: honoured(
      messagesSchema,
      'Required: the conversation; content may mix text, image_url, video_url, audio_url, input_audio and file parts, as far as the model takes them.',
    ),
  }),
  ...by('server/service/models.ts', {
    model: MODEL_FIELD,
  }),
  ...by('engine/text/request/sequences.ts', {
    max_completion_tokens: honoured(
      tokenCount,
      'Most tokens to generate; clamped to what the context leaves.',
    ),
    max_tokens: honoured(tokenCount, 'Older name of max_completion_tokens, which wins.'),
  }),
  ...GENERATION_FIELDS,
  ...by('server/text/reply-fold.ts', {
    logprobs: honoured(z.boolean(), 'Log probability of every generated token.', false),
    top_logprobs: honoured(
      z.int().min(0).max(LIMITS.logprobs),
      `The same of up to ${LIMITS.logprobs} best tokens at its place; needs logprobs.`,
      0,
      { stricter: `at most ${LIMITS.logprobs}` },
    ),
  }),
  ...TOOL_FIELDS,
  ...REASONING_FIELDS,
  ...by('files/template/template.ts', {
    chat_template_kwargs: honoured(record(z.unknown()), 'Variables for the chat template.'),
  }),
  ...by('engine/text/request/prompt.ts', {
    continue_final_message: honoured(
      z.boolean(),
      "The reply goes on where the last message, the assistant's, ends: response_format, regex and ebnf hold for both together, and a tool_choice that asks for a call brings it next.",
      false,
      { stricter: 'after a message whose content is a text' },
    ),
  }),
  ...by('server/chat/chat-reply.ts', {
    return_progress: honoured(
      z.boolean(),
      'Chunks without choices that say in prompt_progress how far the prompt is read. Needs stream.',
      false,
    ),
  }),
  ...by('engine/text/request/sequences.ts', {
    input_ids: honoured(
      list(tokenId, MOST_IDS).min(1),
      'The prompt as token ids, in place of what messages would become.',
    ),
  }),
  ...by('server/chat/chat-request.ts', TILE_FIELDS),
  ...by('engine/text/speculation/ngram-drafter.ts', {
    prediction: honoured(
      predictionSchema,
      'What much of the answer may be, such as a file to change: with --speculative-algorithm ngram its tokens are drafted; none is changed. Usage counts drafted tokens of any kind.',
    ),
  }),

  modalities: neutralOnly('Kinds of output.', ['text']),
  audio: neutralOnly('How to speak the answer.'),
  verbosity: noEffect(
    'How long the answer is: a hint for models that were trained to know it.',
    'low',
    'medium',
    'high',
  ),
  web_search_options: { ...neutralOnly('Search the web first.'), emptyAsks: true },

  user: noEffect('Who asks.'),
  store: noEffect('Keep the completion.'),
  metadata: noEffect('Labels of a stored completion.'),
  service_tier: noEffect('Which tier bills and serves.'),
  prompt_cache_key: noEffect('Which cache to look in; there is one, and it looks by content.'),
  prompt_cache_retention: noEffect('How long to keep the cache.'),
  safety_identifier: noEffect('Who asks, hashed.'),
} satisfies FieldTable;

/** The honoured fields of a request; `null` and defaults have become "left out". */
export type ChatBody = HonouredBody<typeof CHAT_FIELDS>;

export const CHAT_RULES = {
  fields: CHAT_FIELDS,
  required: ['messages', 'model'],
  inPlace: { messages: 'input_ids' },
  checkTogether: checkPairs,
} satisfies BodyRules<typeof CHAT_FIELDS, 'messages' | 'model'>;

export const validateChat = bodyChecker(CHAT_RULES);

function checkPairs(body: ChatBody): void {
  const maxTokens = body.max_completion_tokens ?? body.max_tokens;
  const name = body.max_completion_tokens === undefined ? 'max_tokens' : 'max_completion_tokens';
  checkGeneration(body, [name, maxTokens]);
  checkTools(body);
  checkReasoning(body);
  if (body.top_logprobs !== undefined && !body.logprobs)
    refuseField('top_logprobs', 'needs logprobs to be true; send both or neither');
  if (body.return_progress && !body.stream)
    refuseField('return_progress', 'needs stream to be true; send both or neither');
  if (body.continue_final_message) {
    const last = body.messages?.at(-1);
    if (last?.role !== 'assistant' || typeof last.content !== 'string')
      refuseField(
        'continue_final_message',
        "needs the last message to be the assistant's, with a text to go on from",
      );
  }
  const rendered = ['chat_template_kwargs', 'continue_final_message'] as const;
  const unread = body.input_ids && rendered.find((field) => body[field] !== undefined);
  if (unread) refuseField(unread, 'is for the chat template, and input_ids go past it; send one of them');
}
