// A message of Anthropic's interface, and the events of its stream.

import { z } from 'zod';
import { AnthropicError } from '../http/error-reply-schema.ts';
import { count } from '../http/reply-members.ts';

export const ContentBlock = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.literal('') }),
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
  }),
]);

const stop = {
  stop_reason: z
    .enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use'])
    .nullable()
    .describe('null until it ends, and where it was ended.'),
  stop_sequence: z.string().nullable(),
};

export const MessageUsage = z.strictObject({
  input_tokens: count.describe('Those that were not cached.'),
  cache_creation_input_tokens: z.literal(0),
  cache_read_input_tokens: count,
  output_tokens: count,
});

export const Message = z.strictObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(ContentBlock),
  ...stop,
  usage: MessageUsage,
});

const delta = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text_delta'), text: z.string() }),
  z.strictObject({ type: z.literal('thinking_delta'), thinking: z.string() }),
  z.strictObject({ type: z.literal('input_json_delta'), partial_json: z.string() }),
]);

export const MessageEvent = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('message_start'), message: Message }),
  z.strictObject({ type: z.literal('ping') }),
  z.strictObject({ type: z.literal('content_block_start'), index: count, content_block: ContentBlock }),
  z.strictObject({ type: z.literal('content_block_delta'), index: count, delta }),
  z.strictObject({ type: z.literal('content_block_stop'), index: count }),
  z.strictObject({ type: z.literal('message_delta'), delta: z.strictObject(stop), usage: MessageUsage }),
  z.strictObject({ type: z.literal('message_stop') }),
  AnthropicError,
]);

export const InputTokens = z.strictObject({ input_tokens: count });

export type ContentBlock = z.infer<typeof ContentBlock>;
export type Message = z.infer<typeof Message>;
