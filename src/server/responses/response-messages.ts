// Converts the items of a response to the messages of a conversation.

import type { ChatMessage, ContentPart, ToolCall } from '../../index.ts';
import { audioPart, filePart, imagePart } from '../media/named-parts.ts';
import {
  type InputItem,
  type ItemContent,
  type ItemOf,
  type ItemType,
  MEDIA_PARTS,
  type PartOf,
} from './response-items.ts';
import { functionNames, nameOf, TOOL_SEARCH } from './response-tools.ts';

/**
 * Converts the items to messages. Consecutive items of the assistant become one message. The first `kept` items are those of earlier
 * requests.
 */
export function toMessages(items: readonly InputItem[], kept = 0): ChatMessage[] {
  const messages: ChatMessage[] = [];
  /** The assistant's last message, which takes further items until another role speaks. */
  let open: ChatMessage | null = null;
  const assistant = (isFree: (message: ChatMessage) => boolean): ChatMessage => {
    if (open && isFree(open)) return open;
    open = { role: 'assistant', content: null };
    messages.push(open);
    return open;
  };
  for (const [at, item] of items.entries()) {
    const path = at < kept ? null : `input.${at - kept}`;
    const type = (item.type ?? 'message') as ItemType;
    if (type === 'reasoning') {
      const own = assistant((message) => message.content === null && !message.tool_calls);
      own.reasoning_content = (own.reasoning_content ?? '') + thoughts(item);
    } else if (isOneOf(CALLS, type)) {
      const own = assistant(() => true);
      const call: ToolCall = {
        id: item['call_id'] as string,
        type: 'function',
        function: called(item, type),
      };
      own.tool_calls = [...(own.tool_calls ?? []), call];
    } else if (isOneOf(OUTPUTS, type)) {
      messages.push({
        role: 'tool',
        content: resultText(item, type, path),
        tool_call_id: item['call_id'] as string,
      });
      open = null;
    } else if (type === 'agent_message') {
      messages.push({ role: 'user', content: agentText(item as ItemOf<typeof type>) });
      open = null;
    } else if (type !== 'additional_tools') {
      const { role, content: said } = item as ItemOf<'message'>;
      const text = contentOf(said, path && `${path}.content`);
      if (role === 'assistant') {
        assistant((message) => message.content === null && !message.tool_calls).content = text;
      } else {
        messages.push({ role, content: text });
        open = null;
      }
    }
  }
  return messages.map(({ content, ...message }) => ({ ...message, content: content ?? '' }));
}

const CALLS = ['function_call', 'custom_tool_call', 'tool_search_call'] as const;
const OUTPUTS = ['function_call_output', 'custom_tool_call_output', 'tool_search_output'] as const;

function isOneOf<T extends ItemType>(types: readonly T[], type: ItemType): type is T {
  return (types as readonly ItemType[]).includes(type);
}

/** Name and arguments of a call as the model wrote them. */
function called(item: InputItem, type: (typeof CALLS)[number]): ToolCall['function'] {
  if (type === 'tool_search_call') {
    const { arguments: given } = item as ItemOf<'tool_search_call'>;
    return { name: TOOL_SEARCH, arguments: typeof given === 'string' ? given : JSON.stringify(given ?? {}) };
  }
  const name = nameOf(item as ItemOf<typeof type>);
  if (type === 'function_call') return { name, arguments: (item as ItemOf<typeof type>).arguments };
  return { name, arguments: JSON.stringify({ input: (item as ItemOf<typeof type>).input }) };
}

/** Returns the text that the model gets as the result of a call; tools that a search found are described in it. */
function resultText(
  item: InputItem,
  type: (typeof OUTPUTS)[number],
  path: string | null,
): Exclude<ChatMessage['content'], null | undefined> {
  if (type !== 'tool_search_output')
    return contentOf((item as ItemOf<typeof type>).output, path && `${path}.output`, '\n');
  const names = functionNames((item as ItemOf<typeof type>).tools);
  return names.length === 0 ? 'No tools found.' : `Found: ${names.join(', ')}`;
}

function agentText({ content }: ItemOf<'agent_message'>): string {
  return content.map((part) => ('text' in part ? part.text : part.encrypted_content)).join('');
}

function thoughts({ content: whole, summary }: ItemOf<'reasoning'>): string {
  const parts = whole?.length ? whole : (summary ?? []);
  return parts.map(({ text }) => text).join('');
}

/** Content without media is one text, which every template takes. `path`: that of the content; null: it is from an earlier request. */
function contentOf(given: ItemContent, path: string | null, between = ''): string | ContentPart[] {
  if (typeof given === 'string') return given;
  if (!given.some(isMedia)) return given.map(textOf).join(between);
  return given.map((part, at) =>
    isMedia(part) ? mediaPart(part, path, at) : { type: 'text', text: textOf(part) },
  );
}

type ItemPart = Exclude<ItemContent, string>[number];

const textOf = ({ text, refusal }: ItemPart): string => text ?? refusal ?? '';

const isMedia = ({ type }: ItemPart): boolean => type in MEDIA_PARTS;

const audioOf = ({ input_audio: { data, format } }: PartOf<'input_audio'>) => ({
  data,
  ...(format != null && { format }),
});

function mediaPart(part: ItemPart, path: string | null, at: number): ContentPart {
  const pathOf = (member: string): string =>
    path === null ? 'previous_response_id' : `${path}.${at}.${member}`;
  if (part.type === 'input_image')
    return imagePart((part as PartOf<'input_image'>).image_url, pathOf('image_url'));
  if (part.type === 'input_audio')
    return audioPart(audioOf(part as unknown as PartOf<'input_audio'>), pathOf('input_audio.data'));
  const { file_url: url, file_data: data } = part as PartOf<'input_file'>;
  return url ? filePart(url, pathOf('file_url')) : filePart(data!, pathOf('file_data'));
}
