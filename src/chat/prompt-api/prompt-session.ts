// A session of the Prompt API on a conversation. Prompts wait for each other; what overflows the context loses its oldest turns, and the session says so.

import type { ChatMessage, TextConstraint, TextModel } from '../../engine/text/calls/text-model.ts';
import { ChatSession } from '../chat-session.ts';
import type { ChatEvent, SendOptions } from '../chat-types.ts';
import { WHOLE } from '../context-window.ts';
import type { ChatState } from '../saved-chat.ts';
import type { AnyTool } from '../tools.ts';
import { domError, promptError } from './dom-errors.ts';
import {
  type CreateOptions,
  type InitialState,
  messagesOf,
  type PromptInput,
  type PromptOptions,
  type PromptTool,
} from './prompt-input.ts';

export interface PromptLimits {
  maxTopK: number;
  maxTemperature: number;
}

export class PromptSession extends EventTarget {
  readonly topK: number;
  readonly temperature: number;
  /** Called as listeners of `contextoverflow` are. */
  oncontextoverflow: ((event: Event) => void) | null = null;
  readonly #model: TextModel;
  readonly #options: CreateOptions;
  #state: ChatState;
  #usage = 0;
  readonly #ending = new AbortController();
  /** Ends when the last prompt that was given has its reply. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(model: TextModel, options: CreateOptions, state: ChatState, limits: PromptLimits) {
    super();
    const { temperature, topK } = model.info.sampling;
    this.#model = model;
    this.#options = options;
    this.#state = state;
    this.temperature = Math.min(options.temperature ?? temperature, limits.maxTemperature);
    this.topK = Math.min(options.topK ?? (topK >= 1 ? topK : limits.maxTopK), limits.maxTopK);
  }

  /** Throws TypeError for values that are not allowed, and QuotaExceededError for initial prompts that exceed the context. */
  static async create(
    model: TextModel,
    options: CreateOptions,
    { system, head }: InitialState,
    limits: PromptLimits,
  ): Promise<PromptSession> {
    const { temperature, topK, signal } = options;
    if (temperature !== undefined && !(temperature >= 0))
      throw new RangeError(`temperature is ${temperature}`);
    if (topK !== undefined && !(topK >= 1)) throw new RangeError(`topK is ${topK}`);
    const state = { system, head, messages: [], ...WHOLE };
    const session = new PromptSession(model, options, state, limits);
    await session.#measure();
    if (session.#usage > session.contextWindow)
      throw domError('QuotaExceededError', `the initial prompts have ${session.#usage} tokens`);
    signal?.addEventListener('abort', () => session.destroy(), { once: true });
    return session;
  }

  /** Tokens that the session takes of the context. */
  get contextUsage(): number {
    return this.#usage;
  }

  get contextWindow(): number {
    return this.#model.info.contextLength;
  }

  /** Earlier names of the same values. */
  get inputUsage(): number {
    return this.#usage;
  }

  get inputQuota(): number {
    return this.contextWindow;
  }

  async prompt(input: PromptInput, options: PromptOptions = {}): Promise<string> {
    let text = '';
    for await (const piece of this.#reply(input, options)) text += piece;
    return text;
  }

  /** Pieces of the reply, which is computed whether or not they are read. */
  promptStreaming(input: PromptInput, options: PromptOptions = {}): ReadableStream<string> {
    const left = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, left.signal]) : left.signal;
    const pieces = this.#reply(input, { ...options, signal });
    let pumped: Promise<void>;
    return new ReadableStream<string>({
      start(controller) {
        pumped = pump(pieces, controller);
      },
      async cancel() {
        left.abort();
        await pumped;
      },
    });
  }

  /** Adds messages without asking for a reply. */
  append(input: PromptInput, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    return this.#inTurn(signal, async () => {
      const messages = await messagesOf(input);
      this.#state = { ...this.#state, messages: [...this.#state.messages, ...messages] };
      await this.#measure();
    });
  }

  /** Tokens that a prompt would take. */
  async measureContextUsage(input: PromptInput, { signal }: PromptOptions = {}): Promise<number> {
    return this.#checked(signal, async () => {
      const more = await messagesOf(input);
      const before = this.#session(this.#state.messages);
      const after = this.#session([...this.#state.messages, ...more]);
      return (await after.countTokens()) - (await before.countTokens());
    });
  }

  measureInputUsage(input: PromptInput, options: PromptOptions = {}): Promise<number> {
    return this.measureContextUsage(input, options);
  }

  /** A session with the same messages and options. */
  async clone({ signal }: { signal?: AbortSignal } = {}): Promise<PromptSession> {
    this.#assertAlive(signal);
    const { topK, temperature } = this;
    const limits = { maxTopK: Infinity, maxTemperature: Infinity };
    const { signal: _, ...options } = this.#options;
    const copy = new PromptSession(this.#model, { ...options, topK, temperature }, this.#state, limits);
    copy.#usage = this.#usage;
    signal?.addEventListener('abort', () => copy.destroy(), { once: true });
    return copy;
  }

  /** Aborts all prompts, and refuses later ones. The model stays open. */
  destroy(): void {
    this.#ending.abort(domError('AbortError', 'the session was destroyed'));
  }

  async *#reply(input: PromptInput, options: PromptOptions): AsyncGenerator<string, void, void> {
    const before = this.#turn;
    const { promise: over, resolve: end } = resolvers();
    this.#turn = over;
    const signal = this.#signal(options.signal);
    try {
      await before;
      this.#assertAlive(options.signal);
      const messages = await messagesOf(input);
      const last = messages.at(-1);
      if (last?.role !== 'user') throw domError('NotSupportedError', 'the last message is not of the user');
      const session = this.#session([...this.#state.messages, ...messages.slice(0, -1)]);
      for await (const event of session.send(
        last.content!,
        sendOptions(options, signal),
      ) as AsyncIterable<ChatEvent>)
        if (event.type === 'delta') yield event.text;
      await this.#adopt(session);
    } catch (error) {
      throw promptError(error, signal);
    } finally {
      end();
    }
  }

  /** Takes the state over that a reply has left. */
  async #adopt(session: ChatSession): Promise<void> {
    const overflows = session.save().start > this.#state.start;
    this.#state = { ...this.#state, messages: [...session.messages], start: session.save().start };
    await this.#measure();
    if (!overflows) return;
    for (const type of ['contextoverflow', 'quotaoverflow']) this.dispatchEvent(new Event(type));
    this.oncontextoverflow?.(new Event('contextoverflow'));
  }

  async #measure(): Promise<void> {
    this.#usage = await this.#session(this.#state.messages).countTokens();
  }

  #session(messages: ChatMessage[]): ChatSession {
    const { topK, temperature } = this;
    const tools = Object.fromEntries((this.#options.tools ?? []).map((one) => [one.name, toolOf(one)]));
    const options = { topK, temperature, context: 'slide' as const, tools };
    return new ChatSession(this.#model, options, { ...this.#state, messages });
  }

  async #inTurn<T>(signal: AbortSignal | undefined, act: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    const acting = this.#checked(signal, async () => {
      await before;
      return this.#checked(signal, act);
    });
    this.#turn = acting.catch(() => {});
    return acting;
  }

  async #checked<T>(signal: AbortSignal | undefined, act: () => Promise<T>): Promise<T> {
    this.#assertAlive(signal);
    try {
      return await act();
    } catch (error) {
      throw promptError(error, this.#signal(signal));
    }
  }

  #assertAlive(signal: AbortSignal | undefined): void {
    signal?.throwIfAborted();
    if (this.#ending.signal.aborted)
      throw domError('InvalidStateError', 'the session is destroyed: create another one');
  }

  #signal(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#ending.signal]) : this.#ending.signal;
  }
}

function sendOptions({ responseConstraint }: PromptOptions, signal: AbortSignal): SendOptions {
  if (responseConstraint === undefined) return { signal };
  const constraint: TextConstraint =
    responseConstraint instanceof RegExp
      ? { type: 'regex', pattern: responseConstraint.source }
      : { type: 'json_schema', schema: responseConstraint };
  return { signal, constraint };
}

const toolOf = ({ description, inputSchema, execute }: PromptTool): AnyTool => ({
  description,
  schema: inputSchema,
  run: (args: never) => execute(args),
});

function resolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

/** Writes pieces into a stream until they or its readers end. Never rejects: the stream has the error. */
async function pump(
  pieces: AsyncIterable<string>,
  controller: ReadableStreamDefaultController<string>,
): Promise<void> {
  try {
    for await (const piece of pieces) controller.enqueue(piece);
    controller.close();
  } catch (error) {
    controller.error(error);
  }
}
