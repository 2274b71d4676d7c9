// Adapts a conversation from a client to a chat template. Content that the template accepts is passed unchanged, including unknown
// members; unknown roles, content parts that it does not accept, and arguments of calls are converted.

import { badRequest, unsupported } from '../error.ts';
import { isRecord } from '../source.ts';
import { JsonSource } from './jinja/values/from-json.ts';

/** A message as it arrives. It may have other members, which templates read: they are handed over as they are. */
export interface TemplateMessage {
  role: string;
  content?: string | readonly TextPart[] | null;
  name?: string | null;
  reasoning_content?: string | null;
  tool_calls?: readonly TemplateToolCall[] | null;
  tool_call_id?: string | null;
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
  /** Forms of message content that the template renders: text, a list of parts, or both. */
  takesText: boolean;
  takesParts: boolean;
  /** Whether it prints a call's arguments as JSON for both objects and text, so that they can stay the client's text. */
  argumentsAsText?: boolean;
  /** Whether a message with calls and without text must have no content. */
  noContentWithCalls?: boolean;
  /** Whether it ignores calls. */
  dropsCalls?: boolean;
  /** Whether it requires call ids of nine letters and digits. */
  shortIds?: boolean;
}

/** Calls as text; their arguments are objects, or text that is JSON of none. */
export type CallText = (
  calls: readonly { name: string; arguments: string | Record<string, unknown> }[],
) => string;

/** Text that stands for a part of a type other than text. */
type Placeholders = Readonly<Record<string, string>>;

interface Preparing {
  callText?: CallText | null | undefined;
  media?: Placeholders;
  /** Whether media come before the texts of their message where the template takes text only, and whether they stand between texts without line breaks. */
  mediaFirst?: boolean;
  mediaJoined?: boolean;
}

/** Between text parts where the template takes text only. */
const PART_SEPARATOR = '\n';

export function prepareMessages(
  messages: readonly TemplateMessage[],
  traits: TemplateTraits,
  { callText = null, ...shown }: Preparing = {},
): Record<string, unknown>[] {
  return withCallsSaid(messages, traits, callText).map((message, at) => {
    const { role, content, tool_calls: calls } = message;
    const empties = calls?.length && !content?.length && traits.noContentWithCalls;
    return withReasoningNames({
      ...message,
      role: knownRole(role, traits.roles),
      ...(empties
        ? { content: null }
        : content !== undefined && {
            content: preparedContent(message, traits, shown, `messages.${at}.content`),
          }),
      ...(calls && { tool_calls: calls.map((call) => preparedCall(call, traits)) }),
    });
  });
}

/** The message without a null content, for a template that fails on None. */
export function withoutNull(
  messages: readonly TemplateMessage[],
  { takesText }: TemplateTraits,
): readonly TemplateMessage[] {
  return messages.map((message) =>
    message.content == null ? { ...message, content: takesText ? '' : [] } : message,
  );
}

/** Names of a message's reasoning, the first one what most templates read. */
const REASONING = ['reasoning_content', 'thinking', 'reasoning'];

/** Reasoning under any name as `reasoning_content`, and as `thinking` for the templates of gpt-oss: what transformers hands over. */
function withReasoningNames(message: Record<string, unknown>): Record<string, unknown> {
  const name = REASONING.find((one) => message[one] != null);
  if (name === undefined) return message;
  return { thinking: message[name], ...message, reasoning_content: message[name] };
}

/** Appends calls to the text, for a template that leaves them out. */
export function withCallsSaid(
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
      arguments: argumentsOf(called.arguments).read,
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

/**
 * The content as it was sent, text or parts, where the template takes it in that form. Only for the messages of the user is it known whether
 * the template takes parts, so a message of another role with a single part becomes text.
 */
function preparedContent(
  { role, content }: TemplateMessage,
  { takesText, takesParts }: TemplateTraits,
  { media = {}, mediaFirst = false, mediaJoined = false }: Omit<Preparing, 'callText'>,
  path: string,
): TemplateMessage['content'] {
  if (content == null) return null;
  if (typeof content === 'string') return takesText ? content : [{ type: 'text', text: content }];
  const texts = content.map((part, at) => textOf(part, media, `${path}.${at}`));
  const isSingle = texts.length <= 1 && role !== 'user';
  if (!takesText || (!isSingle && takesParts)) return content;
  const parts = texts.map((text, at) => ({ text, isMedium: content[at]!.type !== 'text' }));
  const isFirst = (part: { isMedium: boolean }): boolean => mediaFirst && part.isMedium;
  const shown = [...parts.filter(isFirst), ...parts.filter((part) => !isFirst(part))];
  return shown
    .map(({ text, isMedium }, at) => {
      const next = shown[at + 1];
      const isJoined = mediaJoined && (isMedium || next?.isMedium);
      return !next || isJoined ? text : text + PART_SEPARATOR;
    })
    .join('');
}

function textOf(part: TextPart, media: Placeholders, path: string): string {
  const placeholder = media[part.type];
  if (placeholder !== undefined) return placeholder;
  if (part.type !== 'text') {
    throw unsupported(
      `${path} is a part of type ${JSON.stringify(part.type)}, and this model reads ${typesRead(media)}`,
      path,
    );
  }
  if (typeof part.text !== 'string') {
    throw badRequest(`${path}.text is missing: a text part carries its text there`, `${path}.text`);
  }
  return part.text;
}

/** The types of parts that a model reads, and what to send instead, as the end of a message that refuses a part of another type. */
function typesRead(media: Placeholders): string {
  const types = ['text', ...Object.keys(media)].map((type) => JSON.stringify(type));
  return types.length === 1
    ? 'text only: send text parts'
    : `parts of the types ${types.join(', ')}: send those, media as the bytes of a file or decoded`;
}

function preparedCall(call: TemplateToolCall, { argumentsAsText }: TemplateTraits): Record<string, unknown> {
  const { function: called } = call;
  const { text, read } = argumentsOf(called.arguments);
  const shown = argumentsAsText || typeof read === 'string' ? text : new JsonSource(text);
  return { ...call, function: { ...called, arguments: shown } };
}

/** `read`: the object; what is not JSON of one stays text, as the model wrote it. A call without arguments has an empty text for some clients. */
function argumentsOf(given: string | Record<string, unknown> = {}): {
  text: string;
  read: string | Record<string, unknown>;
} {
  if (typeof given !== 'string') return { text: JSON.stringify(given), read: given };
  if (given.trim() === '') return { text: '{}', read: {} };
  try {
    const parsed: unknown = JSON.parse(given);
    if (isRecord(parsed)) return { text: given, read: parsed };
  } catch {}
  return { text: given, read: given };
}
