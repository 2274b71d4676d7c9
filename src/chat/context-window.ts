// Which part of a conversation the model is given when all of it exceeds the context. Turns are dropped from the oldest on, and whole: a message of the user
// with everything that answers it. More is dropped than necessary, so that the prompts that follow begin alike and are found in the prefix cache.

import { badRequest } from '../files/error.ts';
import { option, say } from '../files/message.ts';
import type { ChatMessage } from '../engine/text/calls/text-model.ts';
import { replyAborted, unlessAborted } from './tool-calls.ts';

/** Writes a summary of the messages that the model is no longer given. `summary`: the one so far. */
export type Summarise = (dropped: {
  summary: string | null;
  messages: readonly ChatMessage[];
  signal: AbortSignal;
}) => string | Promise<string>;

/**
 * The policy for a conversation that exceeds the context. `refuse`: the message fails with context_length_exceeded; `slide`: the oldest turns are left out;
 * `summarise`: they are replaced by a text of the program, which follows the system prompt.
 */
export type ContextPolicy = 'refuse' | 'slide' | { readonly summarise: Summarise };

/** The part of a conversation that the model is given. */
export interface Window {
  /** Index of the first message. */
  start: number;
  summary: string | null;
}

export const WHOLE: Window = { start: 0, summary: null };

/** Share of the room that is filled after turns were dropped. */
const KEPT = 0.75;

export function checkPolicy(policy: unknown): void {
  if (policy === 'refuse' || policy === 'slide') return;
  const summarise = (policy as { summarise?: unknown } | null)?.summarise;
  if (typeof summarise !== 'function')
    throw badRequest(
      say`context is ${JSON.stringify(policy) ?? 'undefined'}: give 'refuse', 'slide' or { summarise }`,
      'context',
    );
}

export interface Fitting {
  messages: readonly ChatMessage[];
  policy: ContextPolicy;
  /** Tokens that the prompt may have. */
  room: number;
  /** Counts the tokens of the prompt with a window of the messages. */
  count(window: Window): Promise<number>;
  signal: AbortSignal;
}

/** The window in which the messages fit, as near to the one given as possible. The last turn is never dropped. */
export async function fitWindow(
  window: Window,
  { messages, policy, room, count, signal }: Fitting,
): Promise<Window> {
  if (policy === 'refuse' || (await count(window)) <= room) return window;
  const starts = [...messages.keys()].filter((at) => at > window.start && messages[at]!.role === 'user');
  if (starts.length === 0) return window;
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((await count({ ...window, start: starts[middle]! })) <= room * KEPT) high = middle;
    else low = middle + 1;
  }
  const start = starts[low]!;
  if (policy === 'slide') return { start, summary: null };
  const dropped = { summary: window.summary, messages: messages.slice(window.start, start), signal };
  const written = Promise.resolve().then(() => policy.summarise(dropped));
  const summary: unknown = await unlessAborted(written, signal, replyAborted);
  if (typeof summary !== 'string')
    throw badRequest(
      `context.summarise returned ${JSON.stringify(summary) ?? 'undefined'}: return the summary as text`,
      'context',
    );
  return { start, summary };
}

/** Tokens that a prompt may have: the rest is for the reply. Throws bad_request. */
export function roomFor(
  { reserve, maxTokens }: { reserve: number | undefined; maxTokens: number | undefined },
  contextLength: number,
): number {
  if (reserve !== undefined && !(Number.isInteger(reserve) && reserve > 0 && reserve < contextLength))
    throw badRequest(
      say`reserve is ${String(reserve)}: give a number of tokens below ${option('contextLength')}, which is ${contextLength}`,
      'reserve',
    );
  const half = Math.floor(contextLength / 2);
  return contextLength - (reserve ?? Math.min(maxTokens ?? Math.ceil(contextLength / 4), half));
}
