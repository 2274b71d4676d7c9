// A text completion, and the chunks of its stream.

import { z } from 'zod';
import { ErrorEvent } from '../http/error-reply-schema.ts';
import { count, head, hiddenStates, matchedStop, tokenIds } from '../http/reply-members.ts';
import { Extensions, Usage } from '../text/text-reply-schema.ts';

export const CompletionLogprobs = z
  .strictObject({
    tokens: z.array(z.string()),
    token_logprobs: z.array(z.number().nullable()).describe("null for a prompt's first token."),
    top_logprobs: z.array(z.record(z.string(), z.number()).nullable()),
    text_offset: z.array(count).describe('Where each begins in the text.'),
  })
  .describe('Lists of one length, with an entry for each token.');

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'abort']);

const choice = {
  index: count.describe("Counted through the prompts' choices."),
  text: z.string(),
  logprobs: CompletionLogprobs.nullable(),
  finish_reason: finishReason,
  matched_stop: matchedStop,
  hidden_states: hiddenStates,
  ...tokenIds,
};

export const Completion = z.strictObject({
  ...head('text_completion'),
  choices: z.array(z.strictObject(choice)),
  usage: Usage,
  svcext: Extensions.optional(),
});

export const CompletionChunk = z.strictObject({
  ...head('text_completion'),
  choices: z.array(z.strictObject({ ...choice, finish_reason: finishReason.nullable() })),
  usage: Usage.optional().describe('In the last chunk or in each, as stream_options says.'),
  svcext: Extensions.optional(),
});

export type Completion = z.infer<typeof Completion>;
export type CompletionChunk = z.infer<typeof CompletionChunk>;

export const CompletionEvent = z.union([CompletionChunk, ErrorEvent]);
