// A message of Anthropic's interface, and the events of its stream.

import { z } from 'zod';
import { anthropicError, count, named } from './reply-schema.ts';

const block = named(
  'ContentBlock',
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.literal('') }),
    z.strictObject({ type: z.literal('text'), text: z.string() }),
    z.strictObject({
      type: z.literal('tool_use'),
      id: z.string(),
      name: z.string(),
      input: z.record(z.string(), z.unknown()),
    }),
  ]),
);

const stop = {
  stop_reason: z
    .enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use'])
    .nullable()
    .describe('null until it ends, and where it was ended.'),
  stop_sequence: z.string().nullable(),
};

const usage = named(
  'MessageUsage',
  z.strictObject({
    input_tokens: count.describe('Those that were not cached.'),
    cache_creation_input_tokens: z.literal(0),
    cache_read_input_tokens: count,
    output_tokens: count,
  }),
);

export const messageReply = named(
  'Message',
  z.strictObject({
    id: z.string(),
    type: z.literal('message'),
    role: z.literal('assistant'),
    model: z.string(),
    content: z.array(block),
    ...stop,
    usage,
  }),
);

const delta = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text_delta'), text: z.string() }),
  z.strictObject({ type: z.literal('thinking_delta'), thinking: z.string() }),
  z.strictObject({ type: z.literal('input_json_delta'), partial_json: z.string() }),
]);

export const messageEvent = named(
  'MessageEvent',
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('message_start'), message: messageReply }),
    z.strictObject({ type: z.literal('ping') }),
    z.strictObject({ type: z.literal('content_block_start'), index: count, content_block: block }),
    z.strictObject({ type: z.literal('content_block_delta'), index: count, delta }),
    z.strictObject({ type: z.literal('content_block_stop'), index: count }),
    z.strictObject({ type: z.literal('message_delta'), delta: z.strictObject(stop), usage }),
    z.strictObject({ type: z.literal('message_stop') }),
    anthropicError,
  ]),
);

export const countReply = named('InputTokens', z.strictObject({ input_tokens: count }));

export type Block = z.infer<typeof block>;
export type Message = z.infer<typeof messageReply>;
