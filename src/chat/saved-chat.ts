// A conversation as JSON and back. Bytes of media become base64; everything is checked before it is used again.

import { badRequest } from '../files/error.ts';
import { ROLES } from '../options/conversation.ts';
import type { ChatMessage } from '../engine/text/calls/text-model.ts';
import type { Window } from './context-window.ts';

/** A saved conversation: plain data for JSON.stringify. */
export interface SavedChat {
  system: string | null;
  messages: unknown[];
  /** Index of the first message that the model is given, and what stands for those before it. */
  start: number;
  summary: string | null;
}

export interface ChatState extends Window {
  system: string | null;
  /** Messages after the system prompt that are never dropped. They are neither listed nor saved: callers that have some keep them. */
  head?: readonly ChatMessage[];
  messages: ChatMessage[];
}

const BYTES = { $bytes: Uint8Array, $clamped: Uint8ClampedArray, $floats: Float32Array } as const;
type Mark = keyof typeof BYTES;

export function saveChat({ system, messages, start, summary }: ChatState): SavedChat {
  return { system, messages: messages.map(plainOf), start, summary };
}

/** Throws bad_request for what saveChat() did not write. */
export function restoreChat(saved: unknown): ChatState {
  const wrong = (what: string): Error =>
    badRequest(`restore ${what}: give what save() of a session returned`, 'restore');
  if (typeof saved !== 'object' || saved === null) throw wrong('is not an object');
  const { system, messages, start, summary } = saved as Partial<SavedChat>;
  if (system !== null && typeof system !== 'string') throw wrong('has a system that is no text');
  if (summary !== null && typeof summary !== 'string') throw wrong('has a summary that is no text');
  if (!Array.isArray(messages)) throw wrong('has no messages');
  for (const [at, message] of messages.entries()) {
    const role = (message as { role?: unknown } | null)?.role;
    if (!ROLES.includes(role as (typeof ROLES)[number]))
      throw wrong(`has messages.${at} with the role ${JSON.stringify(role) ?? 'undefined'}`);
  }
  if (!(Number.isInteger(start) && start! >= 0 && start! <= messages.length))
    throw wrong(`has the start ${String(start)} of ${messages.length} messages`);
  return { system, summary, start: start!, messages: messages.map((one) => valueOf(one) as ChatMessage) };
}

function plainOf(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) {
    const mark = (Object.keys(BYTES) as Mark[]).find((one) => value instanceof BYTES[one]);
    if (mark === undefined)
      throw badRequest(`a message holds a ${value.constructor.name}, which cannot be saved`);
    return { [mark]: base64Of(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) };
  }
  if (Array.isArray(value)) return value.map(plainOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plainOf(one)]));
}

function valueOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(valueOf);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [[name, text] = []] = entries;
  if (entries.length === 1 && name !== undefined && name in BYTES && typeof text === 'string') {
    const bytes = bytesOf(text);
    const type = BYTES[name as Mark];
    return bytes.byteLength % type.BYTES_PER_ELEMENT === 0 ? new type(bytes.buffer) : value;
  }
  return Object.fromEntries(entries.map(([key, one]) => [key, valueOf(one)]));
}

const PIECE = 0x8000;

function base64Of(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += PIECE)
    binary += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(binary);
}

/** Throws bad_request for what is not base64. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  } catch (cause) {
    throw badRequest('the bytes of a medium are not base64', undefined, cause);
  }
}
