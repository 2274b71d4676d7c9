// Converts log probabilities to the form of OpenAI's interface.

import type { TokenLogprob } from '../../index.ts';
import type { Logprobs, TokenLogprob as Entry } from './text-reply-schema.ts';

/** The log probability that is sent for a probability of 0, because JSON cannot express minus infinity. */
const NEVER = -9999;
const decoder = new TextDecoder();

export function toLogprobs(tokens: readonly TokenLogprob[]): Logprobs {
  const content = tokens.map((token) => ({ ...toEntry(token), top_logprobs: token.top.map(toEntry) }));
  return { content, refusal: null };
}

function toEntry({ bytes, logprob }: { bytes: number[]; logprob: number }): Omit<Entry, 'top_logprobs'> {
  return {
    token: decoder.decode(Uint8Array.from(bytes)),
    bytes,
    logprob: Number.isFinite(logprob) ? logprob : NEVER,
  };
}
