// A response of OpenAI's newer interface, and the events of its stream.

import { z } from 'zod';
import { count, mediaUsage, seconds, texts, typed } from '../http/reply-members.ts';
import { TokenLogprob } from '../text/text-reply-schema.ts';

const id = z.string();
const status = z.enum(['in_progress', 'completed', 'incomplete']);
const nothing = z.array(z.never()).length(0);
const namespace = z.string().optional().describe('Of a tool that has one.');
const tokens = z.array(TokenLogprob).describe('Empty unless include asks for them.');

const textPart = typed('output_text', { text: z.string(), annotations: nothing, logprobs: tokens });
const reasoningPart = typed('reasoning_text', { text: z.string() });

const item = { id, status };
const called = { ...item, ...texts('call_id', 'name'), namespace };

export const OutputItem = z.discriminatedUnion('type', [
  typed('message', { ...item, role: z.literal('assistant'), content: z.array(textPart) }),
  typed('reasoning', { ...item, summary: nothing, content: z.array(reasoningPart) }),
  typed('function_call', {
    ...called,
    arguments: z.string().describe('JSON; cut short where the response is.'),
  }),
  typed('custom_tool_call', { ...called, input: z.string() }),
  typed('tool_search_call', {
    ...item,
    call_id: z.string(),
    execution: z.literal('client'),
    arguments: z.unknown().describe('What its JSON says; the text where the response ended within it.'),
  }),
]);

export const ResponseUsage = z.strictObject({
  input_tokens: count,
  input_tokens_details: z.strictObject({ cached_tokens: count, ...mediaUsage }),
  output_tokens: count,
  output_tokens_details: z.strictObject({ reasoning_tokens: count }),
  total_tokens: count,
});

/** A value that is echoed from the request. */
const echoed = z.looseObject({ type: z.string() });

export const ResponseReply = z.strictObject({
  id,
  object: z.literal('response'),
  created_at: seconds,
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  background: z.literal(false),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.strictObject({ reason: z.literal('max_output_tokens') }).nullable(),
  instructions: z.string().nullable(),
  max_output_tokens: count.nullable(),
  model: z.string(),
  output: z.array(OutputItem),
  parallel_tool_calls: z.boolean(),
  previous_response_id: z.string().nullable(),
  reasoning: z.strictObject({ effort: z.string().nullable(), summary: z.null() }),
  store: z.boolean(),
  temperature: z.number(),
  text: z.strictObject({ format: echoed }),
  tool_choice: z.union([z.string(), echoed]),
  tools: z.array(echoed).describe('Those that the model is offered.'),
  top_logprobs: count,
  top_p: z.number(),
  truncation: z.enum(['auto', 'disabled']),
  usage: ResponseUsage.nullable().describe('null until it ends.'),
  user: z.null(),
  metadata: z.record(z.string(), z.string()),
});

export type ResponseReply = z.infer<typeof ResponseReply>;

/** Schema of an event of one type; events are numbered consecutively. */
const event = <T extends string, Shape extends z.ZodRawShape>(type: T, shape: Shape) =>
  typed(type, { sequence_number: count, ...shape });

const whole = { response: ResponseReply };
const ofItem = { output_index: count, item: OutputItem };
const inItem = { item_id: z.string(), output_index: count };
const inPart = { ...inItem, content_index: z.literal(0) };
const ofPart = { ...inPart, part: z.discriminatedUnion('type', [textPart, reasoningPart]) };

export const ResponseEvent = z.discriminatedUnion('type', [
  event('response.created', whole),
  event('response.in_progress', whole),
  event('response.output_item.added', ofItem),
  event('response.content_part.added', ofPart),
  event('response.output_text.delta', { ...inPart, delta: z.string(), logprobs: tokens }),
  event('response.output_text.done', { ...inPart, text: z.string(), logprobs: tokens }),
  event('response.reasoning_text.delta', { ...inPart, delta: z.string() }),
  event('response.reasoning_text.done', { ...inPart, text: z.string() }),
  event('response.content_part.done', ofPart),
  event('response.function_call_arguments.delta', { ...inItem, delta: z.string() }),
  event('response.function_call_arguments.done', { ...inItem, name: z.string(), arguments: z.string() }),
  event('response.custom_tool_call_input.delta', { ...inItem, delta: z.string() }),
  event('response.custom_tool_call_input.done', { ...inItem, input: z.string() }),
  event('response.output_item.done', ofItem),
  event('response.completed', whole),
  event('response.incomplete', whole),
  event('response.failed', whole),
]);

export const DeletedResponse = z.strictObject({
  id,
  object: z.literal('response'),
  deleted: z.literal(true),
});

export const InputItems = z.strictObject({
  object: z.literal('list'),
  data: z.array(z.looseObject({ id })).describe('As they were sent, each with an id.'),
  first_id: id.nullable(),
  last_id: id.nullable(),
  has_more: z.literal(false),
});
