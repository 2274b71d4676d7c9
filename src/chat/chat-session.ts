// A conversation with a model: history, tools, typed replies. It stands on generate() and renderPrompt() alone, so that it is the same in Node, in pages, in
// Electron and for models of other threads. The history changes only when a reply is whole: after an abort or an error it is what it was.

import { badRequest } from '../files/error.ts';
import type { ChatMessage } from '../engine/text/calls/text-model.ts';
import { ChatRun } from './chat-run.ts';
import { settingsOf, type AnyOptions, type Settings } from './chat-settings.ts';
import type {
  ChatEvent,
  ChatReply,
  ChatStream,
  SendOptions,
  StreamOf,
  TalkingModel,
  UserContent,
} from './chat-types.ts';
import { WHOLE, type Window } from './context-window.ts';
import { ReplyStream } from './reply-stream.ts';
import { restoreChat, saveChat, type ChatState, type SavedChat } from './saved-chat.ts';
import type { Schema } from './schema.ts';

export class ChatSession {
  readonly #model: TalkingModel;
  readonly #settings: Settings;
  #state: ChatState;
  #isAnswering = false;

  /** Throws bad_request. */
  constructor(model: TalkingModel, options: AnyOptions = {}, state?: ChatState) {
    this.#model = model;
    this.#settings = settingsOf(options, model);
    this.#state = state ?? firstState(options);
  }

  /** The conversation without its system prompt. */
  get messages(): readonly ChatMessage[] {
    return [...this.#state.messages];
  }

  get system(): string | null {
    return this.#state.system;
  }

  /** Whether a reply is being computed. */
  get isAnswering(): boolean {
    return this.#isAnswering;
  }

  /**
   * Sends a message of the user. The result is read as events or awaited: it runs either way. Errors, all of which leave the conversation as it was:
   * bad_request (also while another reply is being computed), context_length_exceeded, cancelled where `signal` aborts, unsupported for a reply that breaks
   * rules of `schema` which no grammar enforces, and those of generate().
   */
  send<const S extends Schema | undefined = undefined>(
    content: UserContent,
    options: Omit<SendOptions, 'schema'> & { schema?: S } = {},
  ): StreamOf<S> {
    return this.#answer(this.#state.messages.length, content, options) as StreamOf<S>;
  }

  /** Answers the last message of the user again; the new reply takes the place of the old one. */
  regenerate<const S extends Schema | undefined = undefined>(
    options: Omit<SendOptions, 'schema'> & { schema?: S } = {},
  ): StreamOf<S> {
    const at = this.#state.messages.findLastIndex(({ role }) => role === 'user');
    if (at < 0) throw badRequest('the conversation has no message to answer again: send one');
    return this.#answer(at, this.#state.messages[at]!.content!, options) as StreamOf<S>;
  }

  /** Replaces a message of the user, by its index in `messages`, and answers it; what followed it is dropped. Branch first to keep it. */
  edit<const S extends Schema | undefined = undefined>(
    at: number,
    content: UserContent,
    options: Omit<SendOptions, 'schema'> & { schema?: S } = {},
  ): StreamOf<S> {
    if (this.#state.messages[at]?.role !== 'user')
      throw badRequest(`messages.${at} is not a message of the user: name the index of one`, 'at');
    return this.#answer(at, content, options) as StreamOf<S>;
  }

  /** A session of its own that begins with the messages before index `at` (default: all), with the same options. */
  branch(at: number = this.#state.messages.length): ChatSession {
    const { messages } = this.#state;
    if (!(Number.isInteger(at) && at >= 0 && at <= messages.length))
      throw badRequest(`at is ${String(at)}: give an index from 0 to ${messages.length}`, 'at');
    const state = {
      ...this.#state,
      ...windowBefore(this.#state, at),
      messages: structuredClone(messages.slice(0, at)),
    };
    return new ChatSession(this.#model, this.#settings.options, state);
  }

  /** The conversation as plain data, for JSON.stringify and the option `restore`. KV pages are not in it: the prefix cache has them. */
  save(): SavedChat {
    return saveChat(this.#state);
  }

  /** Number of tokens of the prompt that the conversation makes; with `content`, as if it was sent. */
  async countTokens(content?: UserContent): Promise<number> {
    const next: ChatMessage[] = content === undefined ? [] : [{ role: 'user', content }];
    const run = new ChatRun(this.#model, this.#settings, this.#state);
    return run.count([...this.#state.messages, ...next], this.#state);
  }

  #answer(from: number, content: UserContent, options: SendOptions): ChatStream<unknown> {
    if (this.#isAnswering)
      throw badRequest(
        'the session is computing a reply: await it, abort it, or branch() the conversation for another one',
      );
    const base = { ...this.#state, ...windowBefore(this.#state, from) };
    base.messages = this.#state.messages.slice(0, from);
    const run = new ChatRun(this.#model, this.#settings, base, options);
    return new ReplyStream<ChatReply<unknown>, ChatEvent<unknown>>(async (emit, signal) => {
      this.#isAnswering = true;
      try {
        const { reply, window } = await run.answer(content, emit, signal);
        this.#state = { ...base, ...window, messages: [...base.messages, ...reply.messages] };
        this.#isAnswering = false; // the reader of `done` may send the next message
        emit({ type: 'done', reply });
        return reply;
      } finally {
        this.#isAnswering = false;
      }
    }, options.signal);
  }
}

/** The window of the messages before an index. */
function windowBefore({ start, summary }: Window, at: number): Window {
  return at > start ? { start, summary } : WHOLE;
}

function firstState({ restore, system }: AnyOptions): ChatState {
  const state = restore === undefined ? { system: null, messages: [], ...WHOLE } : restoreChat(restore);
  return system === undefined ? state : { ...state, system };
}
