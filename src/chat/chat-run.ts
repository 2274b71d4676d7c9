// The computation of one reply of a conversation: rounds of the model and of its tools, until it answers.

import { badRequest, EngineError, reasonOf, unsupported } from '../files/error.ts';
import type { ChatMessage, TextPrompt, TextRequest } from '../engine/text/calls/text-model.ts';
import type { Settings } from './chat-settings.ts';
import type { ChatEvent, ChatReply, SendOptions, TalkingModel, UserContent } from './chat-types.ts';
import { fitWindow, roomFor, type Window } from './context-window.ts';
import { addUsage, noUsage, runRound, type Round } from './round.ts';
import type { ChatState } from './saved-chat.ts';
import { jsonSchemaOf, readValue, type Schema } from './schema.ts';
import { readCall, resultText, runCall, type ToolOutcome } from './tool-calls.ts';

export class ChatRun {
  readonly #model: TalkingModel;
  readonly #settings: Settings;
  readonly #base: ChatState;
  readonly #schema: Schema | undefined;
  readonly #request: Omit<TextRequest, 'prompt'>;
  readonly #toolChoice: SendOptions['toolChoice'];

  /** Throws bad_request. */
  constructor(model: TalkingModel, settings: Settings, base: ChatState, options: SendOptions = {}) {
    const { schema, signal: _signal, toolChoice, ...own } = options;
    this.#model = model;
    this.#settings = settings;
    this.#base = base;
    this.#schema = schema;
    this.#toolChoice = toolChoice;
    this.#request = { ...settings.request, ...own };
    if (schema === undefined) return;
    if (own.constraint)
      throw badRequest('schema is given beside constraint: leave one of them out', 'schema');
    this.#request.constraint = { type: 'json_schema', schema: jsonSchemaOf(schema, 'schema') };
  }

  /** Answers a message of the user. Throws EngineError; `base` is not changed. */
  async answer(
    content: UserContent,
    emit: (event: ChatEvent<unknown>) => void,
    signal: AbortSignal,
  ): Promise<{ reply: ChatReply<unknown>; window: Window }> {
    const added: ChatMessage[] = [{ role: 'user', content }];
    const outcomes: ToolOutcome[] = [];
    const usage = noUsage();
    let window: Window = this.#base;
    let round: Round;
    for (let rounds = 0; ; rounds++) {
      const messages = [...this.#base.messages, ...added];
      window = await this.#fit(messages, window, signal);
      const request = this.#requestOf(messages, window, rounds);
      round = await runRound(this.#model, request, signal, emit);
      addUsage(usage, round.usage);
      added.push(messageOf(round));
      if (round.calls.length === 0 || rounds === this.#settings.maxRounds) break;
      const results = await this.#runTools(round, emit, signal);
      outcomes.push(...results);
      added.push(...results.map(resultMessage));
    }
    const { text, reasoning, finishReason } = round;
    const value = await this.#valueOf(round);
    const { start, summary } = window;
    return {
      reply: { text, reasoning, value, finishReason, toolCalls: outcomes, usage, messages: added },
      window: { start, summary },
    };
  }

  /** Tokens of the prompt that a window of the messages makes. */
  async count(messages: readonly ChatMessage[], window: Window, signal?: AbortSignal): Promise<number> {
    const prompt = this.#prompt(messages, window);
    if (prompt.messages.length === 0) return 0;
    const { minTiles, maxTiles } = this.#request;
    const limits = {
      ...(minTiles !== undefined && { minTiles }),
      ...(maxTiles !== undefined && { maxTiles }),
    };
    const more = signal ? { signal } : {};
    const { ids } = await this.#model.renderPrompt(prompt, limits, more);
    return ids.length;
  }

  #fit(messages: readonly ChatMessage[], window: Window, signal: AbortSignal): Promise<Window> {
    const { context: policy = 'refuse', reserve } = this.#settings.options;
    const room = roomFor({ reserve, maxTokens: this.#request.maxTokens }, this.#model.info.contextLength);
    const count = (one: Window): Promise<number> => this.count(messages, one, signal);
    return fitWindow(window, { messages, policy, room, count, signal });
  }

  #prompt(
    messages: readonly ChatMessage[],
    { start, summary }: Window,
  ): Extract<TextPrompt, { messages: ChatMessage[] }> {
    const { promptTools: tools, options } = this.#settings;
    const system = [this.#base.system, summary].filter((one) => one !== null).join('\n\n');
    const first: ChatMessage[] = system === '' ? [] : [{ role: 'system', content: system }];
    return {
      messages: [...first, ...(this.#base.head ?? []), ...messages.slice(start)],
      ...(tools.length > 0 && { tools }),
      ...(options.templateKwargs && { templateKwargs: options.templateKwargs }),
    };
  }

  #requestOf(messages: readonly ChatMessage[], window: Window, rounds: number): TextRequest {
    const isLast = rounds === this.#settings.maxRounds && this.#settings.promptTools.length > 0;
    const toolChoice = isLast ? 'none' : rounds === 0 ? this.#toolChoice : undefined;
    return {
      ...this.#request,
      prompt: this.#prompt(messages, window),
      ...(toolChoice !== undefined && { toolChoice }),
    };
  }

  async #runTools(
    { calls }: Round,
    emit: (event: ChatEvent<unknown>) => void,
    signal: AbortSignal,
  ): Promise<ToolOutcome[]> {
    const { tools, options } = this.#settings;
    const rules = { tools, toolTimeout: options.toolTimeout, confirm: options.confirm };
    const read = calls.map(readCall);
    for (const call of read) emit({ type: 'toolCall', ...call });
    return Promise.all(
      read.map(async (call) => {
        const outcome = await runCall(call, rules, signal);
        emit({ type: 'toolResult', ...outcome });
        return outcome;
      }),
    );
  }

  async #valueOf({ text, finishReason, usage }: Round): Promise<unknown> {
    if (this.#schema === undefined) return undefined;
    if (finishReason === 'length') {
      const { maxTokens = Infinity } = this.#request;
      const isContext = usage.completionTokens < maxTokens;
      const code = isContext ? 'context_length_exceeded' : 'bad_request';
      const limit = isContext ? 'the end of the context' : `maxTokens, which is ${maxTokens}`;
      throw new EngineError(
        code,
        `the value was cut by ${limit}, before it was complete: make room for more tokens`,
        { param: 'maxTokens' },
      );
    }
    const json = parsed(text);
    const read = await readValue(this.#schema, json);
    if ('value' in read) return read.value;
    throw unsupported(
      `schema has a rule that cannot be enforced while the model writes, and the reply breaks it: ${read.problem}; ask again, or leave the rule out`,
      'schema',
    );
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unsupported(`the reply is not JSON of the schema: ${reasonOf(cause)}; ask again`, 'schema', cause);
  }
}

/** The message of the assistant that a round makes. What a template shows of earlier reasoning is the template's decision. */
function messageOf({ text, reasoning, calls }: Round): ChatMessage {
  return {
    role: 'assistant',
    content: text,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, arguments: text }) => ({
        id,
        type: 'function' as const,
        function: { name, arguments: text },
      })),
    }),
  };
}

const resultMessage = (outcome: ToolOutcome): ChatMessage => ({
  role: 'tool',
  tool_call_id: outcome.id,
  name: outcome.name,
  content: resultText(outcome),
});
