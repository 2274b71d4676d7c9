// The fields that every request for text has, whatever its route: sampling, stops, constraints on the text, and additional output.
// generation-request.ts converts them to the engine's request.

import { z } from 'zod';
import { LIMITS } from '../../options/limits.ts';
import { SAMPLING, SCHEDULING } from '../../options/text-request.ts';
import { filled, list, MOST_IDS, record, tokenId } from '../body/bounded.ts';
import { by, type FieldTable, type HonouredBody, honoured, show } from '../body/fields.ts';
import { fieldsOf, schemaOf } from '../body/setting-fields.ts';
import { responseFormat } from './response-format.ts';

/** Names of response_format, and of settings beside it, on other servers. */
const FORMAT_NAMES = [
  'guided_json',
  'guided_decoding_backend',
  'guided_whitespace_pattern',
  'structured_outputs',
  'structural_tag',
  'json_schema',
  'format',
];
const REGEX_NAMES = ['guided_regex', 'guided_choice'];
const GRAMMAR_NAMES = ['guided_grammar', 'grammar'];

/** All names of constraints on other servers. */
export const CONSTRAINT_NAMES = [...FORMAT_NAMES, ...REGEX_NAMES, ...GRAMMAR_NAMES];

/** The model of a request for text. */
export const MODEL_FIELD = honoured(
  filled,
  'Required: a served name, its last segment, or "default"; name:LoRA applies a LoRA.',
  undefined,
  { stricter: 'an unknown name is 404' },
);

/** Other servers accept -1 for "all". */
export const tokenCount = z.int().refine((count) => count >= 1, {
  error: ({ input }) => `must be at least 1, got ${show(input)}; leave it out for all that the context holds`,
});
const seconds = schemaOf({ type: 'duration' });

export const GENERATION_FIELDS = {
  ...fieldsOf(SAMPLING, 'chat'),

  ...by('grammar/front-end.ts', {
    response_format: honoured(
      responseFormat,
      'Text, a JSON object, JSON by a schema (with `strict` false all that it allows), or structural tags (structures and triggers, or a `format` tree); with tools: this or a tool call.',
      { type: 'text' },
      { elsewhere: FORMAT_NAMES },
    ),
    regex: honoured(filled, 'Regular expression the whole text matches.', undefined, {
      elsewhere: REGEX_NAMES,
    }),
    ebnf: honoured(
      filled,
      'Grammar the whole text matches, W3C EBNF or GBNF; its start is `root`.',
      undefined,
      { elsewhere: GRAMMAR_NAMES },
    ),
  }),
  ...by('engine/text/request/processors.ts', {
    custom_logit_processor: honoured(
      filled,
      'JSON text: a processor or a list of them: allowed_tokens, disallowed_tokens {tokens}, thinking_budget {tokens}, no_repeat_ngram {size, window}, bad_words {words}, wgsl {source}.',
    ),
    custom_params: honoured(
      record(z.unknown()),
      'Members that custom_logit_processor leaves out; alone: thinking_budget.',
    ),
    allowed_token_ids: honoured(list(tokenId, MOST_IDS), 'Only these tokens are sampled.'),
  }),
  ...by('engine/text/request/banned-words.ts', {
    bad_words: honoured(
      list(filled, LIMITS.bannedWords),
      'Texts that do not occur in what is generated, within longer words neither, however tokens spell them (other servers ban one spelling); 8,192 bytes together.',
    ),
  }),

  ...fieldsOf(SCHEDULING, 'chat'),
  ...by('engine/text/run/live-requests.ts', {
    queue_timeout: honoured(
      seconds,
      'Seconds it may wait for a place, in place of --queue-timeout; then 503.',
    ),
    request_timeout: honoured(
      seconds,
      'Seconds it may take in all, in place of --request-timeout; then 503, with what was said until then.',
    ),
    rid: honoured(z.string().min(1).max(256), "The request's id, to abort it by; also the reply's id."),
  }),
  ...by('engine/text/request/sequences.ts', {
    cache_salt: honoured(filled, 'Prompts share the cache only with those of the same salt.'),
    extra_key: honoured(filled, 'Joined to cache_salt.'),
  }),

  ...by('server/text/text-reply.ts', {
    stream: honoured(z.boolean(), 'Answer as server-sent events.', false),
  }),
  ...by('server/chat/chat-reply.ts', {
    stream_options: honoured(
      z.looseObject({
        include_usage: z.boolean().nullish(),
        continuous_usage_stats: z.boolean().nullish(),
      }),
      'include_usage: a last chunk with usage. continuous_usage_stats: usage in every chunk. Needs stream.',
    ),
  }),
  ...by('engine/text/run/recorder.ts', {
    return_hidden_states: honoured(
      z.union([z.boolean(), z.enum(['last', 'all'])]),
      'Hidden states in choices[].hidden_states: of the last token (true, "last") or of all.',
      false,
    ),
    return_routed_experts: honoured(
      z.boolean(),
      'Experts of each token and layer, int32 in base64 with their shape, in svcext; of the first choice.',
      false,
    ),
    routed_experts_start_len: honoured(z.int().min(0), 'First prompt token of return_routed_experts.', 0),
  }),
  ...by('server/text/reply-fold.ts', {
    return_cached_tokens_details: honoured(
      z.boolean(),
      'Where cached prompt tokens were: device, host, storage, in svcext.',
      false,
    ),
  }),
  ...by('server/chat/chat-reply.ts', {
    return_token_ids: honoured(z.boolean(), 'Ids of the generated tokens in choices[].token_ids.', false),
  }),
  ...by('engine/text/model.ts', {
    return_prompt_token_ids: honoured(z.boolean(), 'Ids of the prompt in choices[].prompt_token_ids.', false),
  }),
} satisfies FieldTable;

/** The fields as sent, without those that are left out, null or at their default. */
export type GenerationBody = HonouredBody<typeof GENERATION_FIELDS>;
