// The body of a chat completion for a branch of a conversation.

import type { Attachment, Conversation, Message, ToolCall } from './conversation.ts';
import { settingMembers } from './settings.ts';

/** A tool as requests declare it. */
export interface OfferedTool {
  type: 'function';
  function: { name: string; description?: string; parameters: object };
}

export function requestFor(
  { settings }: Conversation,
  model: string,
  path: readonly Message[],
  tools: readonly OfferedTool[],
): object {
  const system = settings.system?.trim() ? [{ role: 'system', content: settings.system }] : [];
  return {
    model,
    messages: [...system, ...joined(path.flatMap(messagesOf))],
    stream: true,
    stream_options: { include_usage: true },
    ...settingMembers(settings),
    ...(tools.length > 0 && { tools }),
  };
}

interface SentMessage {
  role: string;
  content: string | object[] | null;
}

/** Messages of the user in a row, between which a reply failed, as one: templates of many models want roles that take turns. */
function joined(messages: readonly SentMessage[]): SentMessage[] {
  const result: SentMessage[] = [];
  for (const message of messages) {
    const last = result.at(-1);
    if (last?.role === 'user' && message.role === 'user')
      last.content = bothContents(last.content, message.content);
    else result.push({ ...message });
  }
  return result;
}

function bothContents(a: SentMessage['content'], b: SentMessage['content']): SentMessage['content'] {
  if (typeof a === 'string' && typeof b === 'string') return `${a}\n\n${b}`;
  return [a, b].flatMap((one) => (typeof one === 'string' ? [{ type: 'text', text: one }] : (one ?? [])));
}

function messagesOf({ role, text, attachments = [], calls = [] }: Message): SentMessage[] {
  if (role === 'user') return [{ role, content: contentOf(text, attachments) }];
  if (calls.length === 0) return text === '' ? [] : [{ role, content: text }];
  const called = calls.map(({ id, name, arguments: given }) => {
    return { id, type: 'function', function: { name, arguments: given } };
  });
  const asking = { role, content: text === '' ? null : text, tool_calls: called };
  return [asking, ...calls.map(resultOf)];
}

const resultOf = ({ id, result = 'There is no result: the tool was not called.' }: ToolCall) => ({
  role: 'tool',
  tool_call_id: id,
  content: result,
});

function contentOf(text: string, attachments: readonly Attachment[]): string | object[] {
  const files = attachments.filter(({ kind }) => kind === 'text').map(fenced);
  const whole = [...files, text].filter((part) => part !== '').join('\n\n');
  const media = attachments.filter(({ kind }) => kind !== 'text').map(partOf);
  if (media.length === 0) return whole;
  return whole === '' ? media : [...media, { type: 'text', text: whole }];
}

/** A text file between fences that are longer than any in it. */
function fenced({ name, data }: Attachment): string {
  const longest = Math.max(2, ...[...data.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${name}:\n${fence}\n${data.replace(/\n$/, '')}\n${fence}`;
}

function partOf({ kind, data }: Attachment): object {
  if (kind === 'image') return { type: 'image_url', image_url: { url: data } };
  if (kind === 'video') return { type: 'video_url', video_url: { url: data } };
  return { type: 'input_audio', input_audio: { data: data.slice(data.indexOf(',') + 1) } };
}
