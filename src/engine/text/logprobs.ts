// Log probabilities as they come back from the device, for a client.

import { LOGPROB_WORDS, MOST_LOGPROBS } from '../../kernels/logprobs.ts';
import type { Pieces } from './piece.ts';
import type { Sequence } from './sequence.ts';
import type { PromptToken, TokenLogprob } from './text-model.ts';

/** In place of what is next to nothing, as the contract has it. */
const LEAST = -9999;

/** Of a sampled row; undefined where the sequence does not ask. */
export function readLogprob(
  { request: { sampling }, output: { pieces } }: Sequence,
  id: number,
  words: Uint32Array,
  row: number,
): TokenLogprob | undefined {
  if (sampling.logprobs === null) return undefined;
  const own = words.subarray(row * LOGPROB_WORDS, (row + 1) * LOGPROB_WORDS);
  return tokenLogprob(id, own, pieces, sampling.logprobs);
}

/** Of a prompt, from the words of its tokens by position. */
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

/** `words`: LOGPROB_WORDS of them. */
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
    // A vocabulary may be smaller than what is asked for.
    top: top
      .filter((i) => words[1 + i] !== 0xffffffff)
      .map((i) => logprob(words[1 + i]!, 1 + MOST_LOGPROBS + i)),
  };
}
