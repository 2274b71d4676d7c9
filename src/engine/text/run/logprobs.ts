// Converts log probabilities from the device's words to the values that a client gets.

import { LOGPROB_WORDS, MOST_LOGPROBS } from '../../../kernels/logprobs.ts';
import type { Pieces } from '../calls/piece.ts';
import type { PromptToken, TokenLogprob } from '../calls/text-model.ts';

/** Lower bound of reported log probabilities, as in OpenAI's API. */
const LEAST = -9999;

/** The parts of a sequence that its log probabilities depend on. */
interface Sampled {
  /** `logprobs`: most likely tokens to report beside the sampled one; null: the request asks for no log probabilities. */
  request: { sampling: { logprobs: number | null } };
  output: { pieces: Pieces };
}

/** Log probabilities of a sampled row; undefined if the request asks for none. */
export function readLogprob(
  { request: { sampling }, output: { pieces } }: Sampled,
  id: number,
  words: Uint32Array,
  row: number,
): TokenLogprob | undefined {
  if (sampling.logprobs === null) return undefined;
  const own = words.subarray(row * LOGPROB_WORDS, (row + 1) * LOGPROB_WORDS);
  return tokenLogprob(id, own, pieces, sampling.logprobs);
}

/** Log probabilities of a prompt, from the words of its tokens by position. */
export function readPrompt(
  ids: readonly number[],
  words: ReadonlyMap<number, Uint32Array>,
  pieces: Pieces,
  most: number,
): PromptToken[] {
  return ids.map((id, position) => {
    const { text } = pieces.of(id);
    const own = words.get(position);
    if (own) return { ...tokenLogprob(id, own, pieces, most), text };
    return { id, bytes: [...pieces.bytes(id)], logprob: null, top: [], text };
  });
}

/** `words`: the LOGPROB_WORDS words of one row. */
function tokenLogprob(id: number, words: Uint32Array, pieces: Pieces, most: number): TokenLogprob {
  const values = new Float32Array(words.buffer, words.byteOffset, LOGPROB_WORDS);
  const logprob = (token: number, at: number) => ({
    id: token,
    bytes: [...pieces.bytes(token)],
    logprob: Math.max(values[at]!, LEAST),
  });
  const top = Array.from({ length: most }, (_, i) => i);
  return {
    ...logprob(id, 0),
    // The vocabulary may be smaller than the number of alternatives requested.
    top: top
      .filter((i) => words[1 + i] !== 0xffffffff)
      .map((i) => logprob(words[1 + i]!, 1 + MOST_LOGPROBS + i)),
  };
}
