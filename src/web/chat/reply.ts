// Replies as they come: the events of a stream written into a message, which is stored as it grows.

import { signal } from '@preact/signals';
import { ServerError } from '../api/call.ts';
import { resumeStream, startStream, stopStream } from '../api/resumable.ts';
import type { ServerEvent } from '../api/events.ts';
import type { Conversation, Message } from './conversation.ts';
import { changed, load, save } from './state.ts';

/** Milliseconds between two writes of a growing reply, at least; writes take at most a twentieth of the time. */
const SAVE_TIME = 1000;
const SAVE_SHARE = 20;

interface Chunk {
  choices?: {
    delta: { content?: string | null; reasoning_content?: string | null; tool_calls?: CallPart[] };
    finish_reason: string | null;
  }[];
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens?: number } | null;
  } | null;
  error?: { message: string; code?: string | null };
}

interface CallPart {
  index: number;
  id?: string | null;
  function: { name?: string | null; arguments?: string | null };
}

/** Replies that run in this page, by message. */
const running = new Map<string, AbortController>();
/** Ids of the messages in `running`. */
export const runningReplies = signal<ReadonlySet<string>>(new Set());
/** What the server says of replies that have not begun, by message: how far the opening of a model is. */
export const notes = signal<ReadonlyMap<string, string>>(new Map());
/** What readers of screens are told: that a reply has begun or ended. */
export const announcement = signal('');

/** Asks for a reply and writes it into a message. Resolves when it has ended, however it did. */
export async function runReply(conversation: Conversation, message: Message, body: object): Promise<void> {
  const id = message.stream!;
  await save(conversation, true);
  const signal = begin(message);
  await write(conversation, message, startStream({ path: 'v1/chat/completions', body, id, signal }), true);
}

/** Takes the running reply of a message up again, after a reload of the page. */
export async function takeUp(conversation: Conversation, message: Message): Promise<void> {
  if (running.has(message.id)) return;
  await write(conversation, message, resumeStream(message.stream!, 0, begin(message)), false);
}

export async function stopReply(message: Message): Promise<void> {
  const { stream } = message;
  running.get(message.id)?.abort('stopped');
  if (stream !== undefined) await stopStream(stream).catch(() => {});
}

/** Forgets the replies of a conversation that is deleted. */
export async function stopAll({ messages }: Conversation): Promise<void> {
  const all = Object.values(messages).filter(({ id }) => running.has(id));
  await Promise.all(all.map(stopReply));
}

function begin({ id }: Message): AbortSignal {
  const abort = new AbortController();
  running.set(id, abort);
  runningReplies.value = new Set(running.keys());
  announcement.value = 'The reply has begun.';
  return abort.signal;
}

async function write(
  conversation: Conversation,
  message: Message,
  events: AsyncIterable<ServerEvent>,
  isTimed: boolean,
): Promise<void> {
  const times = { first: 0, last: 0 };
  let nextSave = performance.now() + SAVE_TIME;
  let isFirst = true;
  try {
    for await (const { data, isComment } of events) {
      if (isComment) {
        if (data !== 'ping') setNote(message, data);
        continue;
      }
      // A stream that is taken up comes from its beginning.
      if (isFirst) {
        clear(message);
        setNote(message, null);
      }
      isFirst = false;
      applyChunk(message, JSON.parse(data) as Chunk, times);
      changed();
      const now = performance.now();
      if (now < nextSave) continue;
      nextSave = Infinity;
      void save(conversation).then(() => {
        const took = performance.now() - now;
        nextSave = performance.now() + Math.max(SAVE_TIME, SAVE_SHARE * took);
      });
    }
    if (message.finish === undefined && !message.error) {
      const text = 'The reply ended before it was complete; ask for it again.';
      message.error = { message: text, code: 'cut_short' };
    }
  } catch (error) {
    if (error === 'stopped') message.finish = 'stopped';
    else message.error = errorFor(error, isTimed);
  }
  const { usage } = message;
  const seconds = (times.last - times.first) / 1000;
  if (usage && isTimed && usage.completion > 1 && seconds > 0) usage.rate = (usage.completion - 1) / seconds;
  delete message.stream;
  setNote(message, null);
  running.delete(message.id);
  runningReplies.value = new Set(running.keys());
  const { text, error } = message;
  announcement.value = error ? `The reply failed: ${error.message}` : `Reply: ${text.slice(0, 1000)}`;
  // A conversation that was deleted meanwhile stays deleted.
  if (await load(conversation.id)) await save(conversation, true);
}

function setNote({ id }: Message, note: string | null): void {
  if (note === null && !notes.value.has(id)) return;
  const changed = new Map(notes.value);
  if (note === null) changed.delete(id);
  else changed.set(id, note);
  notes.value = changed;
}

function clear(message: Message): void {
  message.text = '';
  delete message.reasoning;
  delete message.calls;
}

function applyChunk(message: Message, chunk: Chunk, times: { first: number; last: number }): void {
  const { choices = [], usage, error } = chunk;
  for (const { delta, finish_reason: finish } of choices) {
    const thought = delta.reasoning_content;
    if (delta.content || thought || delta.tool_calls) {
      times.last = performance.now();
      times.first ||= times.last;
    }
    if (delta.content) message.text += delta.content;
    if (thought) message.reasoning = (message.reasoning ?? '') + thought;
    for (const part of delta.tool_calls ?? []) applyCall(message, part);
    if (finish) message.finish = finish;
  }
  if (error) message.error = { message: error.message, code: error.code ?? 'internal' };
  if (!usage) return;
  const cached = usage.prompt_tokens_details?.cached_tokens;
  message.usage = {
    prompt: usage.prompt_tokens,
    completion: usage.completion_tokens,
    ...(cached && { cached }),
  };
}

function applyCall(message: Message, { index, id, function: spoken }: CallPart): void {
  const calls = (message.calls ??= []);
  const call = (calls[index] ??= { id: id ?? `call_${index}`, name: '', arguments: '' });
  call.name += spoken.name ?? '';
  call.arguments += spoken.arguments ?? '';
}

function errorFor(error: unknown, isNew: boolean): { message: string; code: string } {
  if (!(error instanceof ServerError)) return { message: String(error), code: 'internal' };
  const { message, code, status } = error;
  if (isNew || status !== 404) return { message, code };
  return { message: 'The server no longer has this reply; ask for it again.', code };
}
