// A message of Anthropic's interface, and the events of its stream.

import { z } from 'zod';
import { AnthropicError } from '../http/error-reply-schema.ts';
import { count, texts, typed } from '../http/reply-members.ts';

export const ContentBlock = z.discriminatedUnion('type', [
  typed('thinking', { thinking: z.string(), signature: z.literal('') }),
  typed('text', { text: z.string() }),
  typed('tool_use', { ...texts('id', 'name'), input: z.record(z.string(), z.unknown()) }),
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
  typed('text_delta', texts('text')),
  typed('thinking_delta', texts('thinking')),
  typed('input_json_delta', texts('partial_json')),
]);

export const MessageEvent = z.discriminatedUnion('type', [
  typed('message_start', { message: Message }),
  typed('ping', {}),
  typed('content_block_start', { index: count, content_block: ContentBlock }),
  typed('content_block_delta', { index: count, delta }),
  typed('content_block_stop', { index: count }),
  typed('message_delta', { delta: z.strictObject(stop), usage: MessageUsage }),
  typed('message_stop', {}),
  AnthropicError,
]);

export const InputTokens = z.strictObject({ input_tokens: count });

export type ContentBlock = z.infer<typeof ContentBlock>;
export type Message = z.infer<typeof Message>;
