// A conversation as clients send it, made into what templates were written for: roles they know, text where they
// take text, tool arguments as objects.

import { EngineError } from '../error.ts';
import { isRecord } from '../source.ts';

/** A message as it arrives. */
export interface TemplateMessage {
  role: string;
  content?: string | readonly TextPart[] | null;
  name?: string;
  reasoning_content?: string | null;
  tool_calls?: readonly TemplateToolCall[] | null;
  tool_call_id?: string;
}

interface TextPart {
  type: string;
  text?: string;
}

interface TemplateToolCall {
  id?: string;
  type?: string;
  /** JSON text, or the object itself. */
  function: { name: string; arguments?: string | Record<string, unknown> };
}

export interface TemplateTraits {
  roles: ReadonlySet<string>;
  /** Message content it renders: text, a list of parts, or both. */
  takesText: boolean;
  takesParts: boolean;
  /** It knows reasoning as `thinking`. */
  takesThinking?: boolean;
  /** A call's arguments are text to it, not an object. */
  argumentsAsText?: boolean;
  /** A message with calls and without text has no content at all. */
  noContentWithCalls?: boolean;
  /** It leaves calls out. */
  dropsCalls?: boolean;
  /** Ids of calls are nine letters and digits to it. */
  shortIds?: boolean;
}

/** Calls as text; their arguments are objects, or text that is JSON of none. */
export type CallText = (
  calls: readonly { name: string; arguments: string | Record<string, unknown> }[],
) => string;

/** Between text parts where the template takes text only. */
const PART_SEPARATOR = '\n';

export function prepareMessages(
  messages: readonly TemplateMessage[],
  traits: TemplateTraits,
  callText: CallText | null = null,
): Record<string, unknown>[] {
  return withCallsSaid(messages, traits, callText).map(
    ({ role, content, name, reasoning_content: reasoning, tool_calls: calls, tool_call_id: callId }, at) => ({
      role: knownRole(role, traits.roles),
      content:
        calls?.length && !content?.length && traits.noContentWithCalls
          ? null
          : preparedContent(content ?? null, traits, `messages.${at}.content`),
      ...(name != null && { name }),
      ...(reasoning != null && { reasoning_content: reasoning }),
      ...(reasoning != null && traits.takesThinking && { thinking: reasoning }),
      ...(calls?.length && {
        tool_calls: calls.map((call) => preparedCall(call, traits)),
      }),
      ...(callId != null && { tool_call_id: callId }),
    }),
  );
}

/** Where the template leaves calls out, they stand at the end of the text. */
function withCallsSaid(
  messages: readonly TemplateMessage[],
  { dropsCalls }: TemplateTraits,
  callText: CallText | null,
): readonly TemplateMessage[] {
  if (!dropsCalls || !callText) return messages;
  return messages.map((message) => {
    const { tool_calls: calls, content, ...rest } = message;
    if (!calls?.length) return message;
    const named = calls.map(({ function: called }) => ({
      name: called.name,
      arguments: argumentsOf(called.arguments),
    }));
    const said = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
    const parts = [...said.filter(({ text }) => text !== ''), { type: 'text', text: callText(named) }];
    return { ...rest, content: parts };
  });
}

function knownRole(role: string, roles: ReadonlySet<string>): string {
  if (role === 'developer' && !roles.has('developer')) return 'system';
  if (role === 'function' && !roles.has('function')) return 'tool';
  return role;
}

function preparedContent(
  content: string | readonly TextPart[] | null,
  { takesText, takesParts }: TemplateTraits,
  path: string,
): string | { type: 'text'; text: string }[] {
  const texts =
    typeof content === 'string'
      ? [content]
      : (content ?? []).map((part, at) => textOf(part, `${path}.${at}`));
  const fewPieces = texts.length <= 1;
  if (takesText && (fewPieces || !takesParts)) return texts.join(PART_SEPARATOR);
  return texts.map((text) => ({ type: 'text', text }));
}

function textOf(part: TextPart, path: string): string {
  if (part.type !== 'text') {
    throw new EngineError(
      'unsupported',
      `${path} is a part of type ${JSON.stringify(part.type)}, and this model reads text only: send text parts`,
      { param: path },
    );
  }
  if (typeof part.text !== 'string') {
    throw new EngineError('bad_request', `${path}.text is missing: a text part carries its text there`, {
      param: `${path}.text`,
    });
  }
  return part.text;
}

function preparedCall(
  { id, type = 'function', function: called }: TemplateToolCall,
  { argumentsAsText }: TemplateTraits,
): Record<string, unknown> {
  const read = argumentsOf(called.arguments);
  const shown = argumentsAsText && typeof read !== 'string' ? JSON.stringify(read) : read;
  return { ...(id != null && { id }), type, function: { name: called.name, arguments: shown } };
}

/** An object; what is no JSON of one stays text, as the model wrote it. A call without arguments has an empty text for some clients. */
function argumentsOf(given: string | Record<string, unknown> = {}): string | Record<string, unknown> {
  if (typeof given !== 'string') return given;
  if (given.trim() === '') return {};
  try {
    const parsed: unknown = JSON.parse(given);
    if (isRecord(parsed)) return parsed;
  } catch {}
  return given;
}
