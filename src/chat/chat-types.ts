// Types of a conversation: its options, its replies and their events.

import type {
  ChatMessage,
  TextConstraint,
  TextModel,
  TextRequest,
  ToolChoice,
} from '../engine/text/calls/text-model.ts';
import type { ContextPolicy } from './context-window.ts';
import type { ReplyStream } from './reply-stream.ts';
import type { ReplyUsage, Round, SpokenEvent } from './round.ts';
import type { SavedChat } from './saved-chat.ts';
import type { Schema, ValueOf } from './schema.ts';
import type { ConfirmCall, ToolCallOf, ToolOutcome } from './tool-calls.ts';
import type { ToolsOf } from './tools.ts';

/** The members of a text model that a session calls. */
export type TalkingModel = Pick<TextModel, 'info' | 'generate' | 'renderPrompt'>;

/** Sampling, limits and scheduling of replies: the members of a TextRequest that neither the session nor its results decide. */
export type ReplyOptions = Omit<TextRequest, (typeof NOT_OF_REPLIES)[number]>;

/** Members of a TextRequest that the session or its results decide. */
export const NOT_OF_REPLIES = [
  'prompt',
  'id',
  'n',
  'constraint',
  'toolChoice',
  'logprobs',
  'promptLogprobs',
  'hiddenStates',
  'routedExperts',
  'promptIds',
] as const satisfies (keyof TextRequest)[];

/** The content of a message of the user: text, or parts of text and media. */
export type UserContent = NonNullable<ChatMessage['content']>;

// oxlint-disable-next-line typescript/no-empty-object-type -- no tools
export interface ChatOptions<Schemas extends Record<string, Schema> = {}> extends ReplyOptions {
  /** The system prompt. */
  system?: string;
  /** Functions that the model may call; their results go back to it until it answers. */
  tools?: ToolsOf<Schemas>;
  /** Most replies with tool calls to one message, 1 to 100; the next one has to be an answer. Default: 8. */
  maxRounds?: number;
  /** Milliseconds that each tool has, unless it says its own. Default: no limit. */
  toolTimeout?: number;
  /** Asked before each call: false, or a reason, refuses it. */
  confirm?: ConfirmCall;
  /** The policy for a conversation that exceeds the context. Default: refuse. */
  context?: ContextPolicy;
  /** Tokens of the context that are kept free for a reply where `context` drops turns. Default: `maxTokens`, else a quarter; at most half. */
  reserve?: number;
  /** Variables of the chat template. */
  templateKwargs?: Record<string, unknown>;
  /** A conversation that save() returned. `system` replaces its system prompt. */
  restore?: SavedChat;
}

export interface SendOptions<S extends Schema = Schema> extends ReplyOptions {
  /** The reply is JSON of this schema, and `value` is what it says. */
  schema?: S;
  /** Any other constraint on the reply's text. */
  constraint?: TextConstraint;
  /** Which tools the first reply may or must call; those after it are free. */
  toolChoice?: ToolChoice;
  signal?: AbortSignal;
}

export interface ChatReply<Value = undefined> {
  /** Text of the answer. */
  text: string;
  /** Reasoning before the answer; '' if there is none. */
  reasoning: string;
  /** The value of `schema`; undefined without one. */
  value: Value;
  /** `length`: the answer was cut by `maxTokens` or by the end of the context. */
  finishReason: Round['finishReason'];
  /** All tools that ran for this reply, in order. */
  toolCalls: readonly ToolOutcome[];
  usage: ReplyUsage;
  /** The messages that the reply has added to the conversation, that of the user first. */
  messages: readonly ChatMessage[];
}

export type ChatEvent<Value = undefined> =
  | SpokenEvent
  /** The model calls a tool; its arguments are whole. */
  | ({ type: 'toolCall' } & ToolCallOf)
  | ({ type: 'toolResult' } & ToolOutcome)
  | { type: 'done'; reply: ChatReply<Value> };

export type ChatStream<Value = undefined> = ReplyStream<ChatReply<Value>, ChatEvent<Value>>;

export type StreamOf<S> = ChatStream<S extends Schema ? ValueOf<S> : undefined>;
