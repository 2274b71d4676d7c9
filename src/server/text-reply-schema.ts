// What the replies of several routes for text share: usage, log probabilities, calls, how a choice ended, extensions.

import { z } from 'zod';
import { count, named, seconds } from './reply-schema.ts';

export const usage = named(
  'Usage',
  z.strictObject({
    prompt_tokens: count.describe('Counted once, however many choices there are.'),
    completion_tokens: count,
    total_tokens: count,
    prompt_tokens_details: z.strictObject({ cached_tokens: count }),
    completion_tokens_details: z.strictObject({ reasoning_tokens: count }),
    reasoning_tokens: count,
  }),
);

const entry = {
  token: z.string().describe('Its bytes as text; where they are no whole character, with the sign for that.'),
  bytes: z.array(z.int().min(0).max(255)),
  logprob: z.number(),
};

export const logprobEntry = named(
  'TokenLogprob',
  z.strictObject({
    ...entry,
    top_logprobs: z.array(z.strictObject(entry)).describe('The likeliest at its place, best first.'),
  }),
);

export const logprobs = named(
  'Logprobs',
  z.strictObject({ content: z.array(logprobEntry), refusal: z.null() }),
);

export const calledFunction = z.strictObject({
  name: z.string(),
  arguments: z.string().describe('JSON; cut short where the reply is.'),
});

export const toolCall = named(
  'ToolCall',
  z.strictObject({ id: z.string(), type: z.literal('function'), function: calledFunction }),
);

export const extensions = named(
  'Extensions',
  z.strictObject({
    routed_experts: z
      .string()
      .optional()
      .describe('Of return_routed_experts: little-endian int32 in base64, shaped as the next member says.'),
    routed_experts_shape: z
      .tuple([count, count, count])
      .optional()
      .describe('Tokens, layers with experts, experts of a token.'),
    cached_tokens_details: z
      .strictObject({ device: count, host: count, storage: count, storage_backend: z.string().optional() })
      .optional()
      .describe('Of return_cached_tokens_details: where cached tokens of the prompt came from.'),
  }),
);

export type Usage = z.infer<typeof usage>;
export type LogprobEntry = z.infer<typeof logprobEntry>;
export type Logprobs = z.infer<typeof logprobs>;
export type Extensions = z.infer<typeof extensions>;

/** What begins a reply, and every chunk of its stream. */
export const head = <T extends string>(object: T) => ({
  id: z.string(),
  object: z.literal(object),
  created: seconds,
  model: z.string().describe('As the request named it.'),
  system_fingerprint: z.string(),
});

const ids = z.array(count).optional();

/** Of return_token_ids. */
export const tokenIds = { token_ids: ids, prompt_token_ids: ids };

export const matchedStop = z
  .union([z.int(), z.string()])
  .nullable()
  .describe('The stop string, or the token id, that ended it.');

export const hiddenStates = z
  .union([z.array(z.number()), z.array(z.array(z.number()))])
  .optional()
  .describe('Of return_hidden_states: of the last token, or of each.');
