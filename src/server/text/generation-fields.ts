// The fields that every request for text has, whatever its route: how to sample, when to stop, what the text has to match, what to
// send beside it. generation-request.ts makes the engine's request of them.

import { z } from 'zod';
import { LIMITS } from '../../index.ts';
import { list, MOST_IDS, record, tokenId } from '../body/bounded.ts';
import { by, type FieldTable, honoured, honouredSchema, sampling, show } from '../body/fields.ts';
import { responseFormat } from './response-format.ts';

/** What other servers call response_format. */
export const FORMAT_NAMES = ['guided_json', 'structured_outputs', 'json_schema', 'format'];

/** Elsewhere -1 means "all". */
export const tokenCount = z.int().refine((count) => count >= 1, {
  error: ({ input }) => `must be at least 1, got ${show(input)}; leave it out for all that the context holds`,
});
const filled = z.string().min(1);
const seconds = z
  .number()
  .gt(0)
  .max(Math.floor(LIMITS.timeout / 1000));
const upToStops = z.union([filled, list(filled, LIMITS.stops)]);

export const GENERATION_FIELDS = {
  ...by('kernels/sample.ts', {
    temperature: sampling(z.number().min(0).max(2), 'Higher is more random; 0 is greedy.', 1),
    top_p: sampling(z.number().gt(0).max(1), 'Nucleus: share of the probability mass to sample from.', 1, {
      stricter: 'above 0, at most 1',
    }),
    top_k: sampling(z.int().min(-1), 'Sample from the k best tokens; 0 and -1 mean all.', -1, {
      stricter: 'from -1 to 2147483647',
    }),
    min_p: sampling(z.number().min(0).max(1), "Share of the best token's probability a token needs.", 0, {
      stricter: 'from 0 to 1',
    }),
  }),
  ...by('engine/text/request.ts', {
    n: honoured(z.int().min(1).max(LIMITS.choices), 'Choices to generate.', 1, {
      stricter: `at most ${LIMITS.choices}`,
    }),
    seed: honoured(z.int(), 'The same seed gives the same text; each choice draws its own.', undefined, {
      stricter: 'at most 2^53 - 1 either way',
    }),
  }),
  ...by('kernels/sample.ts', {
    frequency_penalty: honoured(
      z.number().min(-2).max(2),
      "Taken from a token's logit for each time it was generated.",
      0,
    ),
    presence_penalty: honoured(
      z.number().min(-2).max(2),
      'Taken once from the logit of a token that was generated.',
      0,
    ),
    repetition_penalty: sampling(
      z.number().gt(0).max(2),
      'Divides positive logits of generated tokens, multiplies negative ones.',
      1,
      { stricter: 'above 0, at most 2' },
    ),
    logit_bias: honoured(
      record(z.number().min(-100).max(100), {
        names: z.string().regex(/^(0|[1-9]\d*)$/),
        most: LIMITS.biases,
      }),
      `Up to ${LIMITS.biases} token ids, each with a number added to that token's logit.`,
      undefined,
      { stricter: `at most ${LIMITS.biases} entries` },
    ),
  }),
  ...by('engine/text/stop-matcher.ts', {
    stop: honoured(
      upToStops,
      `Up to ${LIMITS.stops} strings that end a choice; not part of its text.`,
      undefined,
      { stricter: `at most ${LIMITS.stops}, none empty` },
    ),
  }),
  ...by('engine/text/request.ts', {
    stop_token_ids: honoured(
      list(tokenId, LIMITS.stopIds),
      'Token ids that end a choice, with ignore_eos too.',
      undefined,
      { stricter: `at most ${LIMITS.stopIds}, of the vocabulary` },
    ),
  }),
  ...by('engine/text/stop-matcher.ts', {
    stop_regex: honoured(
      upToStops,
      `Up to ${LIMITS.stops} regular expressions that end a choice, matched in linear time.`,
      undefined,
      {
        stricter: `at most ${LIMITS.stops}, of 4,000 places and 65,536 characters together, without look-around, back-references and flags`,
      },
    ),
  }),
  ...by('engine/text/sequence.ts', {
    min_tokens: honoured(
      z.int().min(0),
      'Tokens before which no end token and no stop ends a choice, unless a grammar leaves nothing but the end; at most max_completion_tokens.',
      0,
    ),
  }),
  ...by('engine/text/request.ts', {
    ignore_eos: honoured(
      z.boolean(),
      'Go on after the end-of-sequence token; stop and stop_token_ids hold.',
      false,
    ),
  }),
  ...by('engine/text/stop-matcher.ts', {
    no_stop_trim: honoured(z.boolean(), 'What a stop matched stays in the text.', false),
  }),
  ...by('engine/text/piece.ts', {
    skip_special_tokens: honoured(z.boolean(), 'Leave special tokens out of the text.', true),
  }),

  ...by('grammar/front-end.ts', {
    response_format: honoured(
      responseFormat,
      'Text, a JSON object, JSON by a schema (always strict), or structural tags (structures and triggers, or a `format` tree); with tools: this or a tool call.',
      { type: 'text' },
      { elsewhere: FORMAT_NAMES },
    ),
    regex: honoured(filled, 'Regular expression the whole text matches.', undefined, {
      elsewhere: ['guided_regex', 'guided_choice'],
    }),
    ebnf: honoured(
      filled,
      'Grammar the whole text matches, W3C EBNF or GBNF; its start is `root`.',
      undefined,
      { elsewhere: ['guided_grammar', 'grammar'] },
    ),
  }),
  ...by('engine/text/processors.ts', {
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
  ...by('engine/text/banned-words.ts', {
    bad_words: honoured(
      list(filled, LIMITS.bannedWords),
      'Texts that do not occur in what is generated, within longer words neither, however tokens spell them (other servers ban one spelling); 8,192 bytes together.',
    ),
  }),

  ...by('engine/text/adapters.ts', {
    lora_path: honoured(
      filled,
      'A loaded adapter, or a folder of one that --lora-dir or --lora-paths allows; a suffix of model wins.',
    ),
  }),
  ...by('engine/text/scheduler.ts', {
    priority: honoured(
      z.int(),
      'Higher comes first; where the queue is full, it takes the place of the lowest that waits, which gets 503.',
      0,
    ),
  }),
  ...by('engine/text/live-requests.ts', {
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
  ...by('engine/text/request.ts', {
    cache_salt: honoured(filled, 'Prompts share the cache only with those of the same salt.'),
    extra_key: honoured(filled, 'Joined to cache_salt.'),
  }),

  ...by('server/text/text-stream.ts', {
    stream: honoured(z.boolean(), 'Answer as server-sent events.', false),
  }),
  ...by('server/chat/chat-stream.ts', {
    stream_options: honoured(
      z.looseObject({
        include_usage: z.boolean().nullish(),
        continuous_usage_stats: z.boolean().nullish(),
      }),
      'include_usage: a last chunk with usage. continuous_usage_stats: usage in every chunk. Needs stream.',
    ),
  }),
  ...by('engine/text/recorder.ts', {
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

const generationBody = honouredSchema(GENERATION_FIELDS);

/** The fields as sent; those left out, null or at their default are missing. */
export type GenerationBody = z.infer<typeof generationBody>;
