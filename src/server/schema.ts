// The fields of a chat completion request: one table, from which the schema and the checks are made (fields.ts).

import { z } from 'zod';
import { honoured, honouredSchema, neutralOnly, noEffect, sampling, show, type Field } from './fields.ts';
import { messagesSchema } from './messages.ts';

/** Elsewhere -1 means "all". */
const tokenCount = z.int().refine((count) => count >= 1, {
  error: ({ input }) => `must be at least 1, got ${show(input)}; leave it out for all that the context holds`,
});
const stopString = z.string().min(1);
const tokenId = z.int().min(0);
const MOST_BIASES = 1024;
const fewBiases = (bias: object): boolean => Object.keys(bias).length <= MOST_BIASES;

export const FIELDS = {
  messages: honoured(messagesSchema, 'The conversation.'),
  model: honoured(z.string().min(1), 'A served name, its last segment, or "default".'),
  max_completion_tokens: honoured(tokenCount, 'Most tokens to generate; clamped to what the context leaves.'),
  max_tokens: honoured(tokenCount, 'Older name of max_completion_tokens, which wins.'),
  temperature: sampling(z.number().min(0).max(2), 'Higher is more random; 0 is greedy.', 1),
  top_p: sampling(z.number().gt(0).max(1), 'Nucleus: share of the probability mass to sample from.', 1),
  top_k: sampling(z.int().min(-1), 'Sample from the k best tokens; 0 and -1 mean all.', -1),
  min_p: sampling(z.number().min(0).max(1), "Share of the best token's probability a token needs.", 0),
  n: honoured(z.int().min(1).max(128), 'Choices to generate.', 1),
  seed: honoured(z.int(), 'The same seed gives the same text.'),
  stop: honoured(
    z.union([stopString, z.array(stopString).max(16)]),
    'Up to 16 strings that end a choice; not part of its text.',
  ),
  stop_token_ids: honoured(z.array(tokenId), 'Token ids that end a choice.'),
  logit_bias: honoured(
    z.record(z.string().regex(/^\d+$/), z.number().min(-100).max(100)).refine(fewBiases, {
      error: `must have at most ${MOST_BIASES} entries`,
    }),
    `Up to ${MOST_BIASES} token ids, each with a number added to that token's logit.`,
  ),
  stream: honoured(z.boolean(), 'Answer as server-sent events.', false),
  stream_options: honoured(
    z.looseObject({
      include_usage: z.boolean().nullish(),
      continuous_usage_stats: z.boolean().nullish(),
    }),
    'include_usage: a last chunk with usage. continuous_usage_stats: usage in every chunk.',
  ),
  ignore_eos: honoured(
    z.boolean(),
    'Go on after the end-of-sequence token; stop and stop_token_ids hold.',
    false,
  ),
  chat_template_kwargs: honoured(z.record(z.string(), z.unknown()), 'Variables for the chat template.'),

  frequency_penalty: neutralOnly('Lowers tokens by how often they were generated.', 0),
  presence_penalty: neutralOnly('Lowers tokens that were generated.', 0),
  repetition_penalty: neutralOnly('Divides the logits of repeated tokens.', 1),
  response_format: neutralOnly('Text, a JSON object, or JSON by a schema.', { type: 'text' }),
  regex: neutralOnly('Regular expression the text must match.'),
  ebnf: neutralOnly('Grammar the text must match.'),
  tools: neutralOnly('Tools the model may call.'),
  tool_choice: neutralOnly('Which tool to call.', 'auto', 'none'),
  functions: neutralOnly('Older form of tools.'),
  function_call: neutralOnly('Older form of tool_choice.', 'auto', 'none'),
  logprobs: neutralOnly('Log probabilities of the generated tokens.', false),
  top_logprobs: neutralOnly('Log probabilities of the best alternatives.', 0),
  max_dynamic_patch: neutralOnly('Most patches of an image.'),
  min_dynamic_patch: neutralOnly('Fewest patches of an image.'),
  modalities: neutralOnly('Kinds of output.', ['text']),
  audio: neutralOnly('How to speak the answer.'),
  reasoning_effort: neutralOnly('How long a reasoning model thinks.', 'medium'),
  separate_reasoning: neutralOnly('Reasoning apart from the answer.', true),
  stream_reasoning: neutralOnly('Stream the reasoning.', true),
  verbosity: neutralOnly('How long the answer is.', 'medium'),
  skip_special_tokens: neutralOnly('Leave special tokens out of the text.', true),
  no_stop_trim: neutralOnly('Keep the stop string in the text.', false),
  stop_regex: neutralOnly('Regular expressions that end a choice.'),
  min_tokens: neutralOnly('Fewest tokens to generate.', 0),
  continue_final_message: neutralOnly('Continue the last assistant message.', false),
  lora_path: neutralOnly('Adapter to apply.'),
  custom_logit_processor: neutralOnly('Program that changes logits.'),
  return_hidden_states: neutralOnly('Send hidden states.', false),
  return_routed_experts: neutralOnly('Send which experts ran.', false),
  return_cached_tokens_details: neutralOnly('Send where cached tokens were.', false),
  web_search_options: neutralOnly('Search the web first.'),

  user: noEffect('Who asks.'),
  store: noEffect('Keep the completion.'),
  metadata: noEffect('Labels of a stored completion.'),
  service_tier: noEffect('Which tier bills and serves.'),
  prompt_cache_key: noEffect('Which cache to look in; no prompt is kept.'),
  prompt_cache_retention: noEffect('How long to keep the cache.'),
  safety_identifier: noEffect('Who asks, hashed.'),
  prediction: noEffect('A guess at the answer.'),
  parallel_tool_calls: noEffect('Several tool calls at once; tools cannot be given.'),
} satisfies Record<string, Field>;

/** The honoured fields of a request; `null` has become "left out". */
export const chatBody = honouredSchema(FIELDS);

export type ChatBody = z.infer<typeof chatBody>;
