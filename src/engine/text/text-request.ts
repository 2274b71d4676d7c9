// A request to a text model: a conversation or a text, how to sample, what the text must match, where it ends. Plain data.

import type { TextConstraint } from '../../grammar/text-constraint.ts';
import type { SettingValues } from '../../options/setting.ts';
import type { SAMPLING, SCHEDULING } from '../../options/text-request.ts';

export type { SamplingOptions } from '../../options/text-request.ts';
export type * from '../../grammar/text-constraint.ts';
export type * from '../../grammar/text-format.ts';

export type Role = 'system' | 'user' | 'assistant' | 'tool' | 'function' | 'developer';

export interface ContentPart {
  type: string;
  text?: string;
  [member: string]: unknown;
}

export interface ToolCall {
  id?: string;
  type?: 'function';
  /** `arguments` is a JSON object as text, or the object itself; what is neither goes to the template as it stands. */
  function: { name: string; arguments: string | Record<string, unknown> };
}

/** Further members reach the model's template as they are. */
export interface ChatMessage {
  role: Role;
  /** Left out, it is undefined to the template; null is None. */
  content?: string | ContentPart[] | null;
  name?: string | null;
  reasoning_content?: string | null;
  tool_calls?: ToolCall[] | null;
  tool_call_id?: string | null;
  [member: string]: unknown;
}

export interface Tool {
  type: 'function';
  function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean };
}

/** A conversation for the model's own template, plain text, or token ids. */
export type TextPrompt =
  | {
      messages: ChatMessage[];
      tools?: Tool[];
      templateKwargs?: Record<string, unknown>;
      /** The last message is the assistant's and unfinished: the reply goes on with it. */
      continueFinal?: boolean;
      /** Where it is too long for the context, its oldest turns are left out. */
      dropOldest?: boolean;
    }
  | { text: string }
  /** `tools`: those the prompt shows, so that their calls are looked for. */
  | { ids: number[]; tools?: Tool[] };

/** Changes logits, after the bias. Several run in their order. */
export type LogitProcessor =
  | { name: 'allowed_tokens'; tokens: number[] }
  | { name: 'disallowed_tokens'; tokens: number[] }
  /** Thinking ends after so many tokens. */
  | { name: 'thinking_budget'; tokens: number }
  /** No run of `size` tokens occurs twice; runs are looked for in the last `window` tokens. */
  | { name: 'no_repeat_ngram'; size: number; window?: number }
  /** Texts that do not occur in what is generated, wherever they begin and however tokens spell them. */
  | { name: 'bad_words'; words: string[] }
  /** `fn process(token: u32, logit: f32, position: u32, count: u32) -> f32`: needs the option customLogitProcessors. */
  | { name: 'wgsl'; source: string };

export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface ReasoningOptions {
  /** false: reasoning stays in the text, tags included. Left out: true. */
  separate?: boolean;
  /** false: reasoning comes in one piece when it is over. Left out: true. */
  stream?: boolean;
  effort?: ReasoningEffort;
  /** Most tokens of reasoning; then it is ended. */
  budget?: number;
}

export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { name: string }
  | { mode: 'auto' | 'required'; names: string[] };

export interface TextRequest extends SettingValues<typeof SAMPLING>, SettingValues<typeof SCHEDULING> {
  prompt: TextPrompt;
  /** A name for it, unique among those that live; left out: one is made up. */
  id?: string;
  /** Clamped to what the context leaves; left out: all of it. 0: the prompt is read, and nothing said. */
  maxTokens?: number;
  processors?: LogitProcessor[];
  /** Log probabilities of each generated token and of so many most likely ones, 0 to 20. */
  logprobs?: number;
  /** As `logprobs`, for the tokens of the prompt, which then are computed even if the cache has them. */
  promptLogprobs?: number;
  constraint?: TextConstraint;
  /** Tools are in the prompt. Left out: auto. */
  toolChoice?: ToolChoice;
  /** false: one tool call at most. */
  parallelToolCalls?: boolean;
  reasoning?: ReasoningOptions;
  /** Prompts are shared in the cache only among requests with the same salt. */
  cacheSalt?: string;
  /** Milliseconds to wait for a place, and for the whole; left out: the model's. */
  timeouts?: {
    queue?: number;
    total?: number;
    /** How much of both is over already, as for one that waited elsewhere. Left out: nothing. */
    waited?: number;
  };
  /** `last`: of the last token alone. */
  hiddenStates?: 'all' | 'last';
  /** Which experts ran, from that prompt token on. */
  routedExperts?: { from: number };
  /** Tell the prompt's token ids when it is accepted. */
  promptIds?: boolean;
}
