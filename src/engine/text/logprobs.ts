// Log probabilities as they come back from the device, for a client.

import { LOGPROB_WORDS, MOST_LOGPROBS } from '../../kernels/logprobs.ts';
import type { Sequence } from './sequence.ts';
import type { TokenLogprob } from './text-model.ts';

/** In place of what is next to nothing, as the contract has it. */
const LEAST = -9999;

/** Of a sampled row; undefined where the sequence does not ask. */
export function readLogprob(
  { sampling, pieces }: Sequence,
  id: number,
  words: Uint32Array,
  row: number,
): TokenLogprob | undefined {
  if (sampling.logprobs === null) return undefined;
  const ids = words.subarray(row * LOGPROB_WORDS, (row + 1) * LOGPROB_WORDS);
  const values = new Float32Array(ids.buffer, ids.byteOffset, LOGPROB_WORDS);
  const logprob = (token: number, at: number) => ({
    id: token,
    bytes: [...pieces.bytes(token)],
    logprob: Math.max(values[at]!, LEAST),
  });
  const top = Array.from({ length: sampling.logprobs }, (_, i) => i);
  return {
    ...logprob(id, 0),
    // A vocabulary may be smaller than what is asked for.
    top: top.filter((i) => ids[1 + i] !== 0xffffffff).map((i) => logprob(ids[1 + i]!, 1 + MOST_LOGPROBS + i)),
  };
}
