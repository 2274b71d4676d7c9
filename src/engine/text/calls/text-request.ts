// A request to a text model as plain data: the prompt, sampling values, constraints on the reply, and its end.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { Clip, RgbaPixels, Sound } from '../../../files/media/decoded.ts';
import type { TileLimits } from '../../../files/media/decoded.ts';
import type { TextConstraint } from '../../../grammar/text-constraint.ts';
import type {
  EFFORTS,
  MESSAGE,
  PROCESSOR,
  REASONING,
  ROLES,
  TOOL,
  TOOL_CALL,
  TOOL_CHOICES,
  TOOL_MODES,
} from '../../../options/conversation.ts';
import type { ShapeOf } from '../../../options/shape.ts';
import type { SettingValues } from '../../../options/setting.ts';
import type { SAMPLING, SCHEDULING } from '../../../options/text-request.ts';

export type { SamplingOptions } from '../../../options/text-request.ts';
export type * from '../../../grammar/text-constraint.ts';
export type * from '../../../grammar/text-format.ts';

export type Role = (typeof ROLES)[number];

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

export type ToolCall = ShapeOf<typeof TOOL_CALL>;

/** A message of a conversation. Further members are passed to the model's chat template unchanged. */
export interface ChatMessage extends ShapeOf<typeof MESSAGE> {
  /** In the template, a missing content is undefined and null is None. */
  content?: string | ContentPart[] | null;
  [member: string]: unknown;
}

export type Tool = ShapeOf<typeof TOOL>;

/** A conversation for the model's own template, plain text, or token ids. */
export type TextPrompt =
  | {
      messages: ChatMessage[];
      tools?: Tool[];
      templateKwargs?: Record<string, unknown>;
      /**
       * true: the last message is an unfinished one of the assistant, and the reply continues it. Of encoder-decoder models it takes the place of the token
       * that their settings force: `deu_Latn` has NLLB write German.
       */
      continueFinal?: boolean;
      /** true: the oldest turns of a conversation that exceeds the context length are left out. */
      dropOldest?: boolean;
    }
  | { text: string }
  /** Token ids. `tools`: the tools that the prompt describes, so that calls of them are recognised in the reply. */
  | { ids: number[]; tools?: Tool[] };

/** A change of the logits, applied after `logitBias`. Several processors run in the order of the list. */
export type LogitProcessor = ShapeOf<typeof PROCESSOR>;

export type ReasoningEffort = (typeof EFFORTS)[number];

export type ReasoningOptions = ShapeOf<typeof REASONING>;

export type ToolChoice =
  | (typeof TOOL_CHOICES)[number]
  | { name: string }
  | { mode: (typeof TOOL_MODES)[number]; names: string[] };

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
  /** A text that the reply is expected to repeat in large parts, such as a file to be edited. Its tokens are drafted with `speculativeAlgorithm: 'ngram'`; the reply is the same without it. */
  prediction?: string;
  /** Reports the hidden states of all generated tokens, or of the last one. */
  hiddenStates?: 'all' | 'last';
  /** Reports the routed experts of each token from prompt token `from` on. */
  routedExperts?: { from: number };
  /** true: the `accepted` event has the prompt's token ids. */
  promptIds?: boolean;
}
