// Interface of the parsers that split a reply into content, reasoning and tool calls. Stop strings were matched before.

import type { Piece } from './piece.ts';
import type { TokenLogprob } from './text-model.ts';

/** A part of a reply. Each token's id is in exactly one part. A part without text is reported with the next part of its kind. */
export type OutputPart = { ids: number[]; logprobs: TokenLogprob[] } & (
  | { kind: 'content'; text: string }
  | { kind: 'reasoning'; text: string }
  /** The first part of a call has `id` and `name`. `text`: a piece of the arguments as JSON. */
  | { kind: 'toolCall'; text: string; call: number; id?: string; name?: string }
);

/** How the arguments of a call are written: as JSON, or in the syntax of a body of format.ts. */
export type ArgumentSyntax = 'json' | 'tagged' | 'python' | 'braces';

/** Arguments of a call that are being read. */
export interface OpenArguments {
  syntax: ArgumentSyntax;
  /** Name of the tool. */
  tool: string;
  /** Number of arguments that had begun, these included. */
  nth: number;
  /** Returns all that the model has written of them: texts, and ids of special tokens. */
  written(): (string | number)[];
}

/** The beginning of a call whose name is being read. */
export interface OpenName {
  /** Number of names that had begun, this one included. */
  nth: number;
  /** Returns all that the model has written from the call's marker on: texts, and ids of special tokens. */
  written(): (string | number)[];
}

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
  /** Arguments that are being read; null: none are. In syntaxes other than JSON they begin after the tool's name. */
  readonly openArguments: OpenArguments | null;
  /** A call that is certain to have begun, up to the end of its tool's name; null: there is none. */
  readonly openName: OpenName | null;
  /** Whether a call is being read whose arguments have not begun, or the text before the arguments of what may be a call. */
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
    openName: null,
    awaitsArguments: false,
    ended: false,
  };
}
