// Converts a request for a response to a chat completion, and renames the fields in errors back.

import { fieldError, RequestError } from '../http/errors.ts';
import { show, withoutMissing } from '../body/fields.ts';
import type { Renames } from '../body/renamed.ts';
import type { InputItem } from './response-items.ts';
import { toMessages } from './response-messages.ts';
import { type ResponseBody, SHARED_FIELDS, wantsOutputLogprobs } from './response-schema.ts';
import type { ResponseStore } from './response-store.ts';
import { chooseTool, type OfferedTool, toolNames } from './response-tools.ts';

const RESPONSE_NAMES: Renames = [
  ['response_format.json_schema.schema', 'text.format.schema'],
  ['response_format.json_schema', 'text.format'],
  ['response_format', 'text.format'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['reasoning_effort', 'reasoning.effort'],
  ['messages', 'input'],
];

/** Names of the chat completion's fields → their names in the request. */
export const responseNames = (offered: readonly OfferedTool[]): Renames => [
  ...RESPONSE_NAMES,
  ...toolNames(offered),
];

/** Input of the request as items. */
export function inputOf({ input }: ResponseBody): InputItem[] {
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : (input ?? []);
}

/**
 * Returns the conversation so far followed by the new items, with references resolved. Throws if a referenced response or item is
 * not stored.
 */
export function conversationOf(body: ResponseBody, store: ResponseStore): InputItem[] {
  const { previous_response_id: previous } = body;
  const before = previous === undefined ? [] : store.get(previous)?.items;
  if (!before) {
    throw new RequestError(
      'not_found',
      `there is no response ${previous} here, or no longer; send the conversation itself as input`,
      { param: 'previous_response_id' },
    );
  }
  const now = inputOf(body).map((item, at) => {
    if (item.type !== 'item_reference') return item;
    const id = String(item['id']);
    const found = before.find((one) => one['id'] === id) ?? store.item(id);
    if (found) return found;
    throw new RequestError(
      'not_found',
      `input.${at} refers to ${id}, and no such item is kept here; send the item itself`,
      { param: `input.${at}` },
    );
  });
  const items = [...before, ...now];
  checkOutputs(items, before.length);
  return items;
}

const CALLS = ['function_call', 'custom_tool_call'];

/**
 * Throws if an output belongs to a call that the conversation does not contain. `kept` is the number of items that precede the
 * request's own.
 */
function checkOutputs(items: readonly InputItem[], kept: number): void {
  const called = new Set<unknown>();
  for (const [at, { type = '', call_id: id }] of items.entries()) {
    if (CALLS.includes(type)) called.add(id);
    if (!CALLS.includes(type.replace(/_output$/, '')) || called.has(id)) continue;
    const param = `input.${at - kept}.call_id`;
    throw fieldError(
      param,
      `is ${show(id)}, and no call before it has that; send the call too, or previous_response_id`,
    );
  }
}

/** Returns the body of /v1/chat/completions for the same request. */
export function toChat(
  body: ResponseBody,
  items: readonly InputItem[],
  offered: readonly OfferedTool[],
): object {
  const { instructions } = body;
  const wantsLogprobs = wantsOutputLogprobs(body);
  if (body.top_logprobs !== undefined && !wantsLogprobs) {
    throw fieldError('top_logprobs', 'needs message.output_text.logprobs in include; send both or neither');
  }
  const shared = Object.keys(SHARED_FIELDS).map((name) => [name, body[name as keyof typeof SHARED_FIELDS]]);
  return withoutMissing({
    model: body.model,
    messages: [
      ...(instructions === undefined ? [] : [{ role: 'system', content: instructions }]),
      ...toMessages(items, items.length - inputOf(body).length),
    ],
    ...Object.fromEntries(shared),
    max_completion_tokens: body.max_output_tokens,
    tools: offered.map(({ definition }) => ({ type: 'function', function: definition })),
    tool_choice: chooseTool(body.tool_choice, offered),
    parallel_tool_calls: body.parallel_tool_calls,
    response_format: toFormat(body.text?.format),
    reasoning_effort: body.reasoning?.effort ?? undefined,
    logprobs: wantsLogprobs || undefined,
    top_logprobs: body.top_logprobs,
  });
}

function toFormat(format: NonNullable<ResponseBody['text']>['format']): unknown {
  if (!format || format.type !== 'json_schema') return format ?? undefined;
  const { name, description, schema, strict } = format;
  return { type: 'json_schema', json_schema: { name, description, schema, strict } };
}
