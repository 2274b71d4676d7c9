// A text completion, and the chunks of its stream.

import { z } from 'zod';
import { count, errorEvent, named } from './reply-schema.ts';
import { extensions, head, hiddenStates, matchedStop, tokenIds, usage } from './text-reply-schema.ts';

const logprobs = named(
  'CompletionLogprobs',
  z
    .strictObject({
      tokens: z.array(z.string()),
      token_logprobs: z.array(z.number().nullable()).describe("null for a prompt's first token."),
      top_logprobs: z.array(z.record(z.string(), z.number()).nullable()),
      text_offset: z.array(count).describe('Where each begins in the text.'),
    })
    .describe('Lists of one length, with an entry for each token.'),
);

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'abort']);

const choice = {
  index: count.describe("Counted through the prompts' choices."),
  text: z.string(),
  logprobs: logprobs.nullable(),
  finish_reason: finishReason,
  matched_stop: matchedStop,
  hidden_states: hiddenStates,
  ...tokenIds,
};

export const completionReply = named(
  'Completion',
  z.strictObject({
    ...head('text_completion'),
    choices: z.array(z.strictObject(choice)),
    usage,
    svcext: extensions.optional(),
  }),
);

const completionChunk = named(
  'CompletionChunk',
  z.strictObject({
    ...head('text_completion'),
    choices: z.array(z.strictObject({ ...choice, finish_reason: finishReason.nullable() })),
    usage: usage.optional().describe('In the last chunk or in each, as stream_options says.'),
    svcext: extensions.optional(),
  }),
);

export type Completion = z.infer<typeof completionReply>;
export type CompletionChunk = z.infer<typeof completionChunk>;

export const completionEvent = named('CompletionEvent', z.union([completionChunk, errorEvent]));
