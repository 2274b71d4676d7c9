// What callers of the Prompt API pass, and what of it becomes messages.

import type { ChatMessage, ContentPart } from '../../engine/text/calls/text-model.ts';
import type { DownloadMonitor } from './monitor.ts';
import { domError, unsupportedHere } from './dom-errors.ts';

export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available';

export interface PromptContent {
  type: 'text' | 'image' | 'audio';
  /** A text; for media a Blob, an ArrayBuffer or a view of one with the bytes of a file, an ImageData, an AudioBuffer. */
  value: unknown;
}

export interface PromptMessage {
  role: 'system' | 'user' | 'assistant';
  content: string | PromptContent[];
  prefix?: boolean;
}

export type PromptInput = string | PromptMessage[];

export interface Expected {
  type: 'text' | 'image' | 'audio';
  languages?: string[];
}

export interface PromptTool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  execute(args: never): unknown;
}

export interface CoreOptions {
  topK?: number;
  temperature?: number;
  expectedInputs?: Expected[];
  expectedOutputs?: Expected[];
  tools?: PromptTool[];
}

export interface CreateOptions extends CoreOptions {
  signal?: AbortSignal;
  monitor?(monitor: DownloadMonitor): void;
  initialPrompts?: PromptMessage[];
}

export interface PromptOptions {
  /** A JSON Schema, or a regular expression, that the whole reply matches. */
  responseConstraint?: Record<string, unknown> | RegExp;
  /** The constraint is enforced, and never written into the prompt: true and false are the same here. */
  omitResponseConstraintInput?: boolean;
  signal?: AbortSignal;
}

export interface LanguageModelParams {
  defaultTopK: number;
  maxTopK: number;
  defaultTemperature: number;
  maxTemperature: number;
}

export interface InitialState {
  system: string | null;
  /** Further messages, which are never dropped. */
  head: ChatMessage[];
}

/** The initial prompts; a system prompt is the first of them. Throws TypeError and NotSupportedError. */
export async function stateOf(prompts: readonly PromptMessage[]): Promise<InitialState> {
  const messages = await Promise.all(prompts.map(messageOf));
  const [first, ...others] = messages;
  const isSystem = first?.role === 'system';
  const head = isSystem ? others : messages;
  if (head.some(({ role }) => role === 'system'))
    throw new TypeError('a system prompt is not the first of initialPrompts: put it there');
  if (!isSystem) return { system: null, head };
  if (typeof first.content !== 'string') throw new TypeError('the system prompt is not a text');
  return { system: first.content, head };
}

/** The messages of a prompt. Throws TypeError and NotSupportedError. */
export async function messagesOf(input: PromptInput): Promise<ChatMessage[]> {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  const messages = await Promise.all(input.map(messageOf));
  if (messages.some(({ role }) => role === 'system'))
    throw new TypeError('a system prompt belongs to initialPrompts');
  return messages;
}

async function messageOf({ role, content, prefix }: PromptMessage): Promise<ChatMessage> {
  if (prefix) throw unsupportedHere('prefix is not supported: say in the prompt how the reply begins');
  if (!['system', 'user', 'assistant'].includes(role)) throw new TypeError(`there is no role ${role}`);
  if (typeof content === 'string') return { role, content };
  const parts = await Promise.all(content.map(partOf));
  const texts = parts.map((part) => (part.type === 'text' ? part.text : null));
  return { role, content: texts.includes(null) ? parts : texts.join('') };
}

async function partOf({ type, value }: PromptContent): Promise<ContentPart> {
  if (type === 'text') return { type: 'text', text: String(value) };
  if (type !== 'image' && type !== 'audio')
    throw new TypeError(`there is no content of type ${String(type)}`);
  const bytes = await bytesIn(value);
  if (type === 'image') {
    if (bytes !== null) return { type, image: bytes };
    if (isImageData(value))
      return { type, image: { width: value.width, height: value.height, data: value.data } };
    throw unsupportedHere(
      'an image is neither a Blob, nor bytes, nor an ImageData: draw it on a canvas first',
    );
  }
  if (bytes !== null) return { type, audio: bytes };
  if (isAudioBuffer(value)) return { type, audio: { samples: mixed(value), rate: value.sampleRate } };
  throw unsupportedHere('a sound is neither a Blob, nor bytes, nor an AudioBuffer');
}

async function bytesIn(value: unknown): Promise<Uint8Array | null> {
  if (value instanceof Blob) return new Uint8Array(await value.arrayBuffer());
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (!ArrayBuffer.isView(value)) return null;
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

interface Pixels {
  width: number;
  height: number;
  data: Uint8ClampedArray;
}

const isImageData = (value: unknown): value is Pixels =>
  (value as Partial<Pixels> | null)?.data instanceof Uint8ClampedArray;

interface Samples {
  numberOfChannels: number;
  sampleRate: number;
  getChannelData(channel: number): Float32Array;
}

const isAudioBuffer = (value: unknown): value is Samples =>
  typeof (value as Partial<Samples> | null)?.getChannelData === 'function';

function mixed(sound: Samples): Float32Array {
  const channels = Array.from({ length: sound.numberOfChannels }, (_, at) => sound.getChannelData(at));
  const [first] = channels;
  if (first === undefined) throw domError('DataError', 'the sound has no channels');
  return first.map((_, at) => channels.reduce((sum, one) => sum + one[at]!, 0) / channels.length);
}
