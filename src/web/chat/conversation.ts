// A conversation as a tree of messages: each message has a parent, and the branch that is shown ends at `leaf`.

import { newId } from '../api/new-id.ts';
import type { SettingValues } from './settings.ts';

export interface Attachment {
  kind: 'image' | 'audio' | 'video' | 'text';
  name: string;
  /** A data: URL; of texts the text itself. */
  data: string;
}

export interface ToolCall {
  id: string;
  name: string;
  /** JSON, as far as it has come. */
  arguments: string;
  state?: 'running';
  result?: string;
}

export interface Usage {
  prompt: number;
  completion: number;
  /** Tokens that came from the prefix cache. */
  cached?: number;
  /** Tokens in a second, from the first one to the last. */
  rate?: number;
}

export interface Message {
  id: string;
  parent: string | null;
  role: 'user' | 'assistant';
  text: string;
  createdAt: number;
  attachments?: Attachment[];
  /** Of a reply: the model that was asked. */
  model?: string;
  reasoning?: string;
  calls?: ToolCall[];
  usage?: Usage;
  /** Why it ended, in OpenAI's words; `stopped`: by the user. */
  finish?: string;
  error?: { message: string; code: string };
  /** Id of the stream while the reply runs. */
  stream?: string;
  /** Replies to one message that are shown side by side have one group. */
  group?: string;
}

export interface Conversation {
  id: string;
  title: string;
  createdAt: number;
  updatedAt: number;
  /** Models that are asked: the first, or all of them side by side. */
  models: string[];
  settings: SettingValues;
  messages: Record<string, Message>;
  leaf: string | null;
}

/** What the list of conversations shows. */
export type Head = Pick<Conversation, 'id' | 'title' | 'updatedAt'> & { isRunning: boolean };

export function newConversation(models: string[], settings: SettingValues): Conversation {
  const now = Date.now();
  const id = newId();
  return {
    id,
    title: 'New conversation',
    createdAt: now,
    updatedAt: now,
    models,
    settings,
    messages: {},
    leaf: null,
  };
}

export const headOf = ({ id, title, updatedAt, messages }: Conversation): Head => ({
  id,
  title,
  updatedAt,
  isRunning: Object.values(messages).some(({ stream }) => stream !== undefined),
});

export function addMessage(conversation: Conversation, message: Omit<Message, 'id' | 'createdAt'>): Message {
  const added = { ...message, id: newId(), createdAt: Date.now() };
  conversation.messages[added.id] = added;
  return added;
}

/** Messages from the first one to `leaf`. */
export function pathTo({ messages }: Conversation, leaf: string | null): Message[] {
  const path: Message[] = [];
  for (let id = leaf; id !== null;) {
    const message = messages[id];
    if (!message) break;
    path.push(message);
    id = message.parent;
  }
  return path.reverse();
}

export function childrenOf({ messages }: Conversation, parent: string | null): Message[] {
  return Object.values(messages)
    .filter((message) => message.parent === parent)
    .sort((a, b) => a.createdAt - b.createdAt);
}

/** The branches at a message, itself among them; replies side by side are one branch, that of the one which is shown. */
export function branchesAt(conversation: Conversation, message: Message): Message[] {
  const groups = new Set<string>();
  return childrenOf(conversation, message.parent).filter(({ id, group }) => {
    if (group === undefined) return true;
    if (group === message.group) return id === message.id;
    return groups.has(group) ? false : Boolean(groups.add(group));
  });
}

/** Messages that are shown beside a reply, itself among them. */
export const columnsAt = (conversation: Conversation, message: Message): Message[] =>
  message.group === undefined
    ? [message]
    : childrenOf(conversation, message.parent).filter(({ group }) => group === message.group);

/** The end of the newest branch below a message. */
export function newestLeaf(conversation: Conversation, from: string): string {
  const last = childrenOf(conversation, from).at(-1);
  return last ? newestLeaf(conversation, last.id) : from;
}

/** The first words of a text, as a title. */
export function titleOf(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.length > 60 ? `${line.slice(0, 60).trimEnd()}…` : line || 'New conversation';
}
