// A chat completion, and the chunks of its stream.

import { z } from 'zod';
import { count, errorEvent, named } from './reply-schema.ts';
import {
  calledFunction,
  extensions,
  head,
  hiddenStates,
  logprobs,
  matchedStop,
  tokenIds,
  toolCall,
  usage,
} from './text-reply-schema.ts';

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'function_call', 'abort']);

const message = z.strictObject({
  role: z.literal('assistant'),
  content: z.string(),
  reasoning_content: z.string().nullable(),
  reasoning: z.string().optional().describe('The same, where there is some.'),
  tool_calls: z.array(toolCall).nullable(),
  function_call: calledFunction.nullable().optional().describe('Where the request has functions, not tools.'),
});

export const chatReply = named(
  'ChatCompletion',
  z.strictObject({
    ...head('chat.completion'),
    choices: z.array(
      z.strictObject({
        index: count,
        message,
        logprobs: logprobs.nullable(),
        finish_reason: finishReason,
        matched_stop: matchedStop,
        hidden_states: hiddenStates,
        ...tokenIds,
      }),
    ),
    usage,
    svcext: extensions.optional(),
  }),
);

const calledPart = calledFunction.partial({ name: true });

const delta = z.strictObject({
  role: z.literal('assistant').optional().describe('In the first chunk of a choice.'),
  content: z.string().optional(),
  reasoning_content: z.string().optional(),
  reasoning: z.string().optional().describe('The same.'),
  tool_calls: z
    .array(toolCall.partial({ id: true, type: true }).extend({ index: count, function: calledPart }))
    .optional()
    .describe('The first part of a call has its id, type and name; arguments add up to JSON.'),
  function_call: calledPart.optional(),
  hidden_states: hiddenStates,
});

export const chatChunk = named(
  'ChatCompletionChunk',
  z.strictObject({
    ...head('chat.completion.chunk'),
    choices: z.array(
      z.strictObject({
        index: count,
        delta,
        logprobs: logprobs.nullable(),
        finish_reason: finishReason.nullable().describe('null until the choice ends.'),
        matched_stop: matchedStop,
        ...tokenIds,
      }),
    ),
    usage: usage.optional().describe('In the last chunk or in each, as stream_options says.'),
    svcext: extensions.optional(),
    prompt_progress: z
      .strictObject({ total: count, cache: count, processed: count })
      .optional()
      .describe('Of return_progress: tokens of the prompt, those that were cached, those that are read.'),
  }),
);

export const chatEvent = named('ChatCompletionEvent', z.union([chatChunk, errorEvent]));

export type ChatCompletion = z.infer<typeof chatReply>;
export type ChatCompletionChunk = z.infer<typeof chatChunk>;
