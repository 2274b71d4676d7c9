// From pieces of text to what they are: content, reasoning, tool calls. Stop strings are through with the text before.

import type { Piece } from '../piece.ts';
import type { TokenLogprob } from '../text-model.ts';

/** Each token's id is in one part. A part without text waits for the next one of its kind before it is told. */
export type OutputPart = { ids: number[]; logprobs: TokenLogprob[] } & (
  | { kind: 'content'; text: string }
  | { kind: 'reasoning'; text: string }
  /** The first part of a call has its id and name. `text`: more of its arguments. */
  | { kind: 'toolCall'; text: string; call: number; id?: string; name?: string }
);

/** Separates the output of one choice into parts. */
export interface OutputParser {
  push(piece: Piece): OutputPart[];
  /** Returns the withheld parts; called when no further piece follows. */
  flush(): OutputPart[];
  /** Tokens of reasoning so far; null: this output has none. */
  readonly reasoningTokens: number | null;
  /** Tool calls begun. */
  readonly toolCalls: number;
  /** There are calls, and the arguments of each are a JSON object: others cannot be made. */
  readonly callsAreWhole: boolean;
  /** Arguments read so far of the call that is being read, where they are passed on as JSON; null: there is no such call. */
  readonly openArguments: string | null;
  /** The reply is over, whatever the model would go on with. */
  readonly ended: boolean;
}

/** All of it is content. */
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
    ended: false,
  };
}
