// A chat completion, and the chunks of its stream.

import { z } from 'zod';
import { ErrorEvent } from '../http/error-reply-schema.ts';
import { calledFunction, count, head, hiddenStates, matchedStop, tokenIds } from '../http/reply-members.ts';
import { Extensions, Logprobs, ToolCall, Usage } from '../text/text-reply-schema.ts';

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'function_call', 'abort']);

const message = z.strictObject({
  role: z.literal('assistant'),
  content: z.string().nullable().describe('null where the message only calls tools.'),
  reasoning_content: z.string().nullable(),
  reasoning: z.string().optional().describe('The same, where there is some.'),
  tool_calls: z.array(ToolCall).nullable(),
  function_call: calledFunction.nullable().optional().describe('Where the request has functions, not tools.'),
});

export const ChatCompletion = z.strictObject({
  ...head('chat.completion'),
  choices: z.array(
    z.strictObject({
      index: count,
      message,
      logprobs: Logprobs.nullable(),
      finish_reason: finishReason,
      matched_stop: matchedStop,
      hidden_states: hiddenStates,
      ...tokenIds,
    }),
  ),
  usage: Usage,
  svcext: Extensions.optional(),
});

const calledPart = calledFunction.partial({ name: true });

const delta = z.strictObject({
  role: z.literal('assistant').optional().describe('In the first chunk of a choice.'),
  content: z.string().optional(),
  reasoning_content: z.string().optional(),
  reasoning: z.string().optional().describe('The same.'),
  tool_calls: z
    .array(ToolCall.partial({ id: true, type: true }).extend({ index: count, function: calledPart }))
    .optional()
    .describe('The first part of a call has its id, type and name; arguments add up to JSON.'),
  function_call: calledPart.optional(),
  hidden_states: hiddenStates,
});

export const ChatCompletionChunk = z.strictObject({
  ...head('chat.completion.chunk'),
  choices: z.array(
    z.strictObject({
      index: count,
      delta,
      logprobs: Logprobs.nullable(),
      finish_reason: finishReason.nullable().describe('null until the choice ends.'),
      matched_stop: matchedStop,
      ...tokenIds,
    }),
  ),
  usage: Usage.optional().describe('In the last chunk or in each, as stream_options says.'),
  svcext: Extensions.optional(),
  prompt_progress: z
    .strictObject({ total: count, cache: count, processed: count })
    .optional()
    .describe('Of return_progress: tokens of the prompt, those that were cached, those that are read.'),
});

export const ChatCompletionEvent = z.union([ChatCompletionChunk, ErrorEvent]);

export type ChatCompletion = z.infer<typeof ChatCompletion>;
export type ChatCompletionChunk = z.infer<typeof ChatCompletionChunk>;
