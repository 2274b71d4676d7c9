// A language model that is to judge documents though its files do not say how: by its logits of the answers "yes" and "no" to a conversation
// that its chat template writes.

import type { TokenScore } from '../../files/checkpoint/token-score.ts';
import { unsupported } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import { INSTRUCTION } from '../../files/template/answered-pair.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';

/** Throws unsupported where an answer is no token. */
export function answerScore(path: string, tokenizer: Pick<Tokenizer, 'encode'>): TokenScore {
  const [yes, no] = ['yes', 'no'].map((answer) => {
    const ids = tokenizer.encode(answer, { addSpecialTokens: false });
    if (ids.length === 1) return ids[0]!;
    throw unsupported(
      say`${path} has no token ${JSON.stringify(answer)}, by whose logit it would judge: leave out ${option('judge')}, and choose a model that judges`,
      'judge',
    );
  }) as [number, number];
  return { yes, no, activation: null, instruction: INSTRUCTION };
}
