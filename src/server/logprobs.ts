// Log probabilities in the interface's form.

import type { TokenLogprob } from '../index.ts';

/** What stands for a probability of 0, as JSON has no word for minus infinity. */
const NEVER = -9999;
const decoder = new TextDecoder();

interface Entry {
  /** The bytes as text; where they are no whole character, with the sign for that. */
  token: string;
  bytes: number[];
  logprob: number;
}

export interface LogprobEntry extends Entry {
  top_logprobs: Entry[];
}

export interface Logprobs {
  content: LogprobEntry[];
  refusal: null;
}

export function toLogprobs(tokens: readonly TokenLogprob[]): Logprobs {
  const content = tokens.map((token) => ({ ...toEntry(token), top_logprobs: token.top.map(toEntry) }));
  return { content, refusal: null };
}

function toEntry({ bytes, logprob }: { bytes: number[]; logprob: number }): Entry {
  return {
    token: decoder.decode(Uint8Array.from(bytes)),
    bytes,
    logprob: Number.isFinite(logprob) ? logprob : NEVER,
  };
}
