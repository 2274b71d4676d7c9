// The items of a response's input: messages, calls and their outputs, thoughts; and the conversation that they are.

import { z } from 'zod';
import type { ChatMessage, ToolCall } from '../index.ts';
import { withMembers } from './unknown-members.ts';

const filled = z.string().min(1);
/** What replies have and requests send back; it says nothing here. */
const echoed = z.unknown().optional();

const FOREIGN_PARTS = new Set(['input_image', 'input_file', 'input_audio']);
const TEXT_PARTS = ['input_text', 'output_text', 'text', 'refusal'];

const part = z
  .looseObject({
    type: z.string(),
    text: z.string().optional(),
    refusal: z.string().optional(),
    annotations: echoed,
    logprobs: echoed,
  })
  .superRefine(({ type, text, refusal }, context) => {
    const issue = (message: string, path: string[], code?: string) =>
      context.addIssue({ code: 'custom', path, message, ...(code && { params: { code } }) });
    if (FOREIGN_PARTS.has(type))
      issue(`has the type ${type}, and the served model reads text only; send input_text`, [], 'unsupported');
    else if (!TEXT_PARTS.includes(type))
      issue(`must be one of ${TEXT_PARTS.join(', ')}, got ${JSON.stringify(type)}`, ['type']);
    else if ((type === 'refusal' ? refusal : text) === undefined)
      issue('is required in such a part', [type === 'refusal' ? type : 'text'], 'missing_required_parameter');
  });

const content = z.union([z.string(), z.array(part)]);

const MEMBERS = {
  message: z.looseObject({ role: z.enum(['user', 'assistant', 'system', 'developer']), content }),
  function_call: z.looseObject({ call_id: filled, name: filled, arguments: z.string() }),
  function_call_output: z.looseObject({ call_id: filled, output: content }),
  reasoning: z.looseObject({
    content: z.array(z.looseObject({ type: z.string(), text: z.string() })).nullish(),
    summary: z.array(z.looseObject({ type: z.string(), text: z.string() })).nullish(),
    encrypted_content: echoed,
  }),
  item_reference: z.looseObject({ id: filled }),
};

type ItemType = keyof typeof MEMBERS;

const TYPES = Object.keys(MEMBERS) as ItemType[];

const anyItem = z.looseObject({ type: z.string().optional(), id: echoed, status: echoed });

const checkedItem = anyItem.superRefine((item, context) => {
  const type = (item.type ?? 'message') as ItemType;
  if (!TYPES.includes(type)) {
    context.addIssue({
      code: 'custom',
      path: ['type'],
      message: `must be one of ${TYPES.join(', ')}, got ${JSON.stringify(type)}`,
      params: { code: 'unsupported' },
    });
    return;
  }
  const { error } = MEMBERS[type].safeParse(item);
  for (const issue of error?.issues ?? []) context.addIssue({ ...issue, input: item } as never);
});

export const inputItem = withMembers(checkedItem, (type) => MEMBERS[(type ?? 'message') as ItemType]);

export type InputItem = z.infer<typeof inputItem>;

type ItemOf<T extends ItemType> = z.infer<(typeof MEMBERS)[T]>;

/** The conversation. Neighbouring items of the assistant are one message. */
export function toMessages(items: readonly InputItem[]): ChatMessage[] {
  const messages: ChatMessage[] = [];
  /** The assistant's last one, as long as nobody else has spoken. */
  let open: ChatMessage | null = null;
  const assistant = (isFree: (message: ChatMessage) => boolean): ChatMessage => {
    if (open && isFree(open)) return open;
    open = { role: 'assistant', content: null };
    messages.push(open);
    return open;
  };
  for (const item of items) {
    const type = (item.type ?? 'message') as ItemType;
    if (type === 'reasoning') {
      const own = assistant((message) => message.content === null && !message.tool_calls);
      own.reasoning_content = (own.reasoning_content ?? '') + thoughts(item);
    } else if (type === 'function_call') {
      const { call_id: id, name, arguments: given } = item as ItemOf<'function_call'>;
      const own = assistant(() => true);
      const call: ToolCall = { id, type: 'function', function: { name, arguments: given } };
      own.tool_calls = [...(own.tool_calls ?? []), call];
    } else if (type === 'function_call_output') {
      const { call_id: id, output } = item as ItemOf<'function_call_output'>;
      messages.push({ role: 'tool', content: textOf(output), tool_call_id: id });
      open = null;
    } else {
      const { role, content: said } = item as ItemOf<'message'>;
      const text = textOf(said);
      if (role === 'assistant') {
        assistant((message) => message.content === null && !message.tool_calls).content = text;
      } else {
        messages.push({ role, content: text });
        open = null;
      }
    }
  }
  return messages;
}

function thoughts({ content: told, summary }: ItemOf<'reasoning'>): string {
  const parts = told?.length ? told : (summary ?? []);
  return parts.map(({ text }) => text).join('');
}

function textOf(given: z.infer<typeof content>): string {
  if (typeof given === 'string') return given;
  return given.map(({ text, refusal }) => text ?? refusal ?? '').join('');
}
