// Schemas that the replies of several routes for text share: usage, log probabilities, calls, extensions.

import { z } from 'zod';
import { calledFunction, count, counts, mediaUsage } from '../http/reply-members.ts';

export const Usage = z.strictObject({
  prompt_tokens: count.describe('Counted once, however many choices there are.'),
  ...counts('completion_tokens', 'total_tokens'),
  prompt_tokens_details: z.strictObject({ cached_tokens: count, ...mediaUsage }),
  completion_tokens_details: z.strictObject({
    reasoning_tokens: count,
    accepted_prediction_tokens: count.optional().describe('Drafted tokens that were right.'),
    rejected_prediction_tokens: count.optional(),
  }),
  reasoning_tokens: count,
});

const entry = {
  token: z
    .string()
    .describe('Its bytes as text; where they are not a whole character, with the sign for that.'),
  bytes: z.array(z.int().min(0).max(255)),
  logprob: z.number(),
};

export const TokenLogprob = z.strictObject({
  ...entry,
  top_logprobs: z.array(z.strictObject(entry)).describe('The likeliest at its place, best first.'),
});

export const Logprobs = z.strictObject({ content: z.array(TokenLogprob), refusal: z.null() });

export const ToolCall = z.strictObject({
  id: z.string(),
  type: z.literal('function'),
  function: calledFunction,
});

export const Extensions = z.strictObject({
  routed_experts: z
    .string()
    .optional()
    .describe('Of return_routed_experts: little-endian int32 in base64, shaped as the next member says.'),
  routed_experts_shape: z
    .tuple([count, count, count])
    .optional()
    .describe('Tokens, layers with experts, experts of a token.'),
  cached_tokens_details: z
    .strictObject({ ...counts('device', 'host', 'storage'), storage_backend: z.string().optional() })
    .optional()
    .describe('Of return_cached_tokens_details: where cached tokens of the prompt came from.'),
});

export type Usage = z.infer<typeof Usage>;
export type TokenLogprob = z.infer<typeof TokenLogprob>;
export type Logprobs = z.infer<typeof Logprobs>;
export type Extensions = z.infer<typeof Extensions>;
