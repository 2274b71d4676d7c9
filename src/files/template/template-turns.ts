// Adapts conversations to templates with restrictions: those of Mistral accept only alternating roles and ids of nine letters and
// digits; those of Llama 3 accept one call per message. Clients do not know that, and send back a server's own replies unchanged.

import type { TemplateMessage } from './template-messages.ts';

type Messages = readonly TemplateMessage[];

/** Forms to try, in this order, where a template refuses a conversation as it is; each also has text in place of a content that is null. */
export const OTHER_FORMS: readonly ((messages: Messages) => Messages)[] = [
  (messages) => messages,
  (messages) => inTurns(messages, true),
  oneCallEach,
  (messages) => inTurns(oneCallEach(messages), true),
  (messages) => inTurns(oneCallEach(messages), false),
];

const isResult = ({ role }: TemplateMessage): boolean => role === 'tool' || role === 'function';
const isSystem = ({ role }: TemplateMessage): boolean => role === 'system' || role === 'developer';

/** Neighbours of a role are one message, and system messages but the first the user's; what follows a tool's result is part of it. */
function inTurns(messages: Messages, keepsSystem: boolean): Messages {
  const turns: TemplateMessage[] = [];
  for (const [at, message] of messages.entries()) {
    const own = isSystem(message) && (at > 0 || !keepsSystem) ? { ...message, role: 'user' } : message;
    const last = turns.at(-1);
    const joins =
      last && (own.role === 'user' ? last.role === 'user' || isResult(last) : isAnswer(last, own));
    if (!joins) turns.push(own);
    else turns[turns.length - 1] = { ...last, content: [...partsOf(last), ...partsOf(own)] };
  }
  return turns;
}

function isAnswer(last: TemplateMessage, next: TemplateMessage): boolean {
  return [last, next].every(({ role, tool_calls: calls }) => role === 'assistant' && !calls?.length);
}

function partsOf({ content }: TemplateMessage) {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
}

/** Makes a message of each call, followed by its result. */
function oneCallEach(messages: Messages): Messages {
  const single: TemplateMessage[] = [];
  let at = 0;
  while (at < messages.length) {
    const message = messages[at++]!;
    const { tool_calls: calls } = message;
    if (!calls || calls.length < 2) {
      single.push(message);
      continue;
    }
    const results: TemplateMessage[] = [];
    while (at < messages.length && isResult(messages[at]!)) results.push(messages[at++]!);
    calls.forEach((call, nth) => {
      single.push({ ...message, tool_calls: [call], ...(nth > 0 && { content: null }) });
      const own = results.findIndex(({ tool_call_id: id }) => id == null || id === call.id);
      if (own >= 0) single.push(...results.splice(own, 1));
    });
    single.push(...results);
  }
  return single;
}

/** Calls and their results under such ids; where none were sent, results answer calls in their order. */
export function withShortIds(messages: Messages): Messages {
  let open: string[] = [];
  return messages.map((message, at) => {
    const { tool_calls: calls, tool_call_id: answered } = message;
    if (calls?.length) {
      const named = calls.map((call, nth) => ({ ...call, id: shortId(call.id ?? `${at}.${nth}`) }));
      open = named.map(({ id }) => id);
      return { ...message, tool_calls: named };
    }
    if (!isResult(message)) return message;
    const id = answered == null ? (open[0] ?? shortId(String(at))) : shortId(answered);
    open = open.filter((other) => other !== id);
    return { ...message, tool_call_id: id };
  });
}

/** A short id derived from an id by FNV-1a, so that a continued conversation renders the same beginning. */
function shortId(id: string): string {
  if (/^[a-z0-9]{9}$/i.test(id)) return id;
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(id))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(36).padStart(9, '0').slice(-9);
}
