// Interface of the parsers that split a reply into content, reasoning and tool calls. Stop strings were matched before.

import type { Piece } from '../piece.ts';
import type { TokenLogprob } from '../text-model.ts';

/** A part of a reply. Each token's id is in exactly one part. A part without text is reported with the next part of its kind. */
export type OutputPart = { ids: number[]; logprobs: TokenLogprob[] } & (
  | { kind: 'content'; text: string }
  | { kind: 'reasoning'; text: string }
  /** The first part of a call has `id` and `name`. `text`: a piece of the arguments as JSON. */
  | { kind: 'toolCall'; text: string; call: number; id?: string; name?: string }
);

/** Parser of one choice. */
export interface OutputParser {
  push(piece: Piece): OutputPart[];
  /** Ends the reply and returns the parts that were withheld. */
  flush(): OutputPart[];
  /** Number of reasoning tokens so far; null: the output is not searched for reasoning. */
  readonly reasoningTokens: number | null;
  /** Number of tool calls that have begun. */
  readonly toolCalls: number;
  /** Whether there are calls and the arguments of each are a complete JSON object. */
  readonly callsAreWhole: boolean;
  /** Arguments so far of a call that is being read and is written in JSON; null without one. */
  readonly openArguments: string | null;
  /** Whether a call is being read whose arguments have not begun. */
  readonly awaitsArguments: boolean;
  /** Whether the reply has ended, so that further text of the model is ignored. */
  readonly ended: boolean;
}

/** A parser that reports all text as content. */
export function plainOutput(): OutputParser {
  return {
    push: ({ id, text, logprob }) => [
      { kind: 'content', text, ids: id === null ? [] : [id], logprobs: logprob ? [logprob] : [] },
    ],
    flush: () => [],
    reasoningTokens: null,
    toolCalls: 0,
    callsAreWhole: false,
    openArguments: null,
    awaitsArguments: false,
    ended: false,
  };
}
