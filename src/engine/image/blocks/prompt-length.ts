// The limit on the tokens of a prompt in families whose text encoders are language models.

import { say } from '../../../files/message.ts';
import { EngineError } from '../../../files/error.ts';
import type { RunRequest } from './family.ts';

/** Most tokens of a prompt that T5 reads, and their number by default. */
export const MOST_TOKENS = 512;

/** Throws bad_request for a limit above the number of tokens that a text encoder reads; left out: that of T5. */
export function checkLength(
  { maxSequenceLength = 0 }: Pick<RunRequest, 'maxSequenceLength'>,
  most = MOST_TOKENS,
): void {
  if (maxSequenceLength <= most) return;
  const problem = say`maxSequenceLength is ${maxSequenceLength}; the model reads at most ${most} tokens of a prompt: choose at most that`;
  throw new EngineError('bad_request', problem, { param: 'maxSequenceLength' });
}
