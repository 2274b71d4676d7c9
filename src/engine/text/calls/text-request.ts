// A request to a text model as plain data: the prompt, sampling values, constraints on the reply, and its end.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { Clip, RgbaPixels, Sound } from '../../../files/media/decoded.ts';
import type { TileLimits } from '../../../files/media/decoded.ts';
import type { TextConstraint } from '../../../grammar/text-constraint.ts';
import type { SettingValues } from '../../../options/setting.ts';
import type { SAMPLING, SCHEDULING } from '../../../options/text-request.ts';

export type { SamplingOptions } from '../../../options/text-request.ts';
export type * from '../../../grammar/text-constraint.ts';
export type * from '../../../grammar/text-format.ts';

export type Role = 'system' | 'user' | 'assistant' | 'tool' | 'function' | 'developer';

export interface TextPart {
  type: 'text';
  text: string;
  [member: string]: unknown;
}

/** An image, as the bytes of a file or decoded. */
export interface ImagePart extends TileLimits {
  type: 'image';
  image: Uint8Array | Pixels | RgbaPixels;
  [member: string]: unknown;
}

export interface VideoPart extends TileLimits {
  type: 'video';
  video: Uint8Array | Clip;
  [member: string]: unknown;
}

export interface AudioPart extends TileLimits {
  type: 'audio';
  audio: Uint8Array | Sound;
  [member: string]: unknown;
}

/** A part of a message; media are for models that take them. Further members are passed to the model's chat template unchanged. */
export type ContentPart = TextPart | MediumPart;

export type MediumPart = ImagePart | VideoPart | AudioPart;

export interface ToolCall {
  id?: string;
  type?: 'function';
  /** `arguments` is a JSON object as text, or the object itself; any other value is passed to the template unchanged. */
  function: { name: string; arguments: string | Record<string, unknown> };
}

/** A message of a conversation. Further members are passed to the model's chat template unchanged. */
export interface ChatMessage {
  role: Role;
  /** In the template, a missing content is undefined and null is None. */
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
      /** true: the last message is an unfinished one of the assistant, and the reply continues it. */
      continueFinal?: boolean;
      /** true: the oldest turns of a conversation that exceeds the context length are left out. */
      dropOldest?: boolean;
    }
  | { text: string }
  /** Token ids. `tools`: the tools that the prompt describes, so that calls of them are recognised in the reply. */
  | { ids: number[]; tools?: Tool[] };

/** A change of the logits, applied after `logitBias`. Several processors run in the order of the list. */
export type LogitProcessor =
  | { name: 'allowed_tokens'; tokens: number[] }
  | { name: 'disallowed_tokens'; tokens: number[] }
  /** Closes the reasoning after `tokens` tokens. */
  | { name: 'thinking_budget'; tokens: number }
  /** No run of `size` tokens occurs twice; runs are looked for in the last `window` tokens. */
  | { name: 'no_repeat_ngram'; size: number; window?: number }
  /** The generated text contains none of `words`, wherever they begin and however tokens spell them. */
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
  /** Maximum number of reasoning tokens; the engine then writes the end of the reasoning. */
  budget?: number;
}

export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { name: string }
  | { mode: 'auto' | 'required'; names: string[] };

export interface TextRequest
  extends SettingValues<typeof SAMPLING>, SettingValues<typeof SCHEDULING>, TileLimits {
  prompt: TextPrompt;
  /** Name of the request, unique among unfinished requests. Default: a generated one. */
  id?: string;
  /** Maximum tokens of each choice, at most (and by default) the rest of the context. 0: only the prompt is computed. */
  maxTokens?: number;
  processors?: LogitProcessor[];
  /** Reports the log probability of each generated token and of this many most likely ones, 0 to 20. */
  logprobs?: number;
  /** Reports log probabilities of the prompt's tokens, as `logprobs` does; the prompt is then computed without the prefix cache. */
  promptLogprobs?: number;
  constraint?: TextConstraint;
  /** Which of the prompt's tools the model may or must call. Default: auto. */
  toolChoice?: ToolChoice;
  /** false: at most one tool call in a reply. Default: true. */
  parallelToolCalls?: boolean;
  reasoning?: ReasoningOptions;
  /**
   * The prefix cache shares prompts only among requests with an equal salt. Grammars of requests with an equal salt count as those of one
   * client where compilations take turns.
   */
  cacheSalt?: string;
  /** Limits in milliseconds on the time in the queue and on the whole request. Default: the model's limits. */
  timeouts?: {
    queue?: number;
    total?: number;
    /** Milliseconds of both limits that have passed already, for a request that waited elsewhere. Default: 0. */
    waited?: number;
  };
  /** Reports the hidden states of all generated tokens, or of the last one. */
  hiddenStates?: 'all' | 'last';
  /** Reports the routed experts of each token from prompt token `from` on. */
  routedExperts?: { from: number };
  /** true: the `accepted` event has the prompt's token ids. */
  promptIds?: boolean;
}
