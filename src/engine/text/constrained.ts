// What a sequence's constraints mean for its next tokens: a mask where the model has a choice, and the tokens themselves where it has none.

import { acceptToken, fail, finish, type Sequence } from './sequence.ts';

/** Whether the device needs a mask for the sequence's next token. */
export function hasMask({ constraint, allowed }: Sequence): boolean {
  return constraint !== null || allowed !== null;
}

/** Bits of the tokens that may come next, one word per 32. A sequence whose constraint cannot say fails. */
export function writeMask(sequence: Sequence, into: Uint32Array): void {
  try {
    if (!sequence.finished) return setBits(sequence, into);
  } catch (error) {
    fail(sequence, error);
  }
  into.fill(0xffffffff);
}

function setBits(sequence: Sequence, into: Uint32Array): void {
  const { constraint, allowed, stopIds } = sequence;
  if (constraint === null || !constraint.mask(into)) into.fill(0xffffffff);
  if (allowed !== null) for (let i = 0; i < into.length; i++) into[i]! &= allowed[i]!;
  if (constraint === null || sequence.ids.length - sequence.promptTokens >= sequence.minTokens) return;
  // An end that is not wanted yet gives way where the constraint leaves nothing else.
  const ends = [...stopIds].filter((id) => (into[id >> 5]! >>> (id & 31)) & 1);
  for (const id of ends) into[id >> 5]! &= ~(1 << (id & 31));
  if (into.every((word) => word === 0)) for (const id of ends) into[id >> 5]! |= 1 << (id & 31);
}

/** Takes in the tokens that must follow, as they need no forward pass to be known; true where there were some. */
export function acceptForced(sequence: Sequence): boolean {
  const { constraint, sampling, stopIds, recorder } = sequence;
  if (constraint === null || sequence.maxTokens === 0) return false;
  // Log probabilities and hidden states come from the forward pass of each token.
  const needsPass = sampling.logprobs !== null || recorder?.wantsStates || recorder?.promptTop != null;
  const before = sequence.ids.length;
  while (!sequence.finished) {
    if (constraint.ended) {
      const [end] = stopIds;
      if (end === undefined) finish(sequence, 'stop', null);
      else if (!needsPass) acceptToken(sequence, end);
      else break;
    }
    const run = needsPass ? [] : constraint.forced();
    if (run.length === 0) break;
    for (const id of run) if (!sequence.finished) acceptToken(sequence, id);
  }
  return sequence.ids.length > before;
}
