// Applies a sequence's constraints to its next tokens: a mask if several tokens are allowed, and the tokens themselves if only one is.

import type { Sequence } from './sequence.ts';

/** Writes the bits of the tokens that may come next, one word per 32 tokens. A sequence whose constraint throws fails. */
export function writeMask(sequence: Sequence, into: Uint32Array): void {
  try {
    if (!sequence.finished) return setBits(sequence, into);
  } catch (error) {
    sequence.fail(error);
  }
  into.fill(0xffffffff);
}

function setBits(sequence: Sequence, into: Uint32Array): void {
  const { constraint, progress } = sequence;
  const { allowed, stopIds, minTokens } = sequence.request;
  const [next] = progress.forced;
  if (next !== undefined && !isBarred(sequence, next)) {
    into.fill(0);
    into[next >> 5]! |= 1 << (next & 31);
    return;
  }
  progress.forced = [];
  if (constraint === null || !constraint.mask(into)) into.fill(0xffffffff);
  if (allowed !== null) for (let i = 0; i < into.length; i++) into[i]! &= allowed[i]!;
  if (constraint === null || progress.generated >= minTokens) return;
  // If the constraint allows only an end token, the minimum length does not apply.
  const ends = [...stopIds].filter((id) => (into[id >> 5]! >>> (id & 31)) & 1);
  for (const id of ends) into[id >> 5]! &= ~(1 << (id & 31));
  if (into.every((word) => word === 0)) for (const id of ends) into[id >> 5]! |= 1 << (id & 31);
}

/** Returns true if a processor excludes the token, even if the constraint allows nothing else. */
function isBarred({ request: { allowed }, constraint }: Sequence, id: number): boolean {
  if (allowed !== null && ((allowed[id >> 5]! >>> (id & 31)) & 1) === 0) return true;
  return constraint?.bars?.(id) ?? false;
}

/**
 * Appends the tokens that the constraint prescribes, because no forward pass is needed to know them; returns true if there were
 * any. If the request wants each token's forward pass, the tokens are stored and applied as masks, one per pass.
 */
export function acceptForced(sequence: Sequence): boolean {
  const { progress, recorder } = sequence;
  if (progress.forced.length > 0) return false;
  // Generated text is reported after the log probabilities of the prompt.
  const waits = recorder !== null && (recorder.wantsStates || recorder.promptTop !== null);
  const needsPass = sequence.request.sampling.logprobs !== null || waits;
  const before = progress.ids.length;
  for (let run = mustFollow(sequence); run.length > 0; run = mustFollow(sequence)) {
    if (needsPass) {
      progress.forced = run;
      break;
    }
    const isCut = run.some((id) => {
      const stops = sequence.finished || isBarred(sequence, id);
      if (!stops) sequence.acceptToken(id);
      return stops;
    });
    if (isCut) break;
  }
  return progress.ids.length > before;
}

/**
 * Returns the tokens that must come next; [] if the model chooses. Finishes a sequence whose constraint has ended if no end token
 * is allowed.
 */
function mustFollow(sequence: Sequence): readonly number[] {
  const { constraint, finished } = sequence;
  const { processor, stopIds, maxTokens } = sequence.request;
  if (constraint === null || finished || maxTokens === 0) return [];
  if (constraint.ended) {
    const end = [...stopIds].find((id) => !isBarred(sequence, id));
    if (end === undefined) sequence.finish('stop', null);
    return end === undefined || processor !== null ? [] : [end];
  }
  // A processor on the device may change the logits in ways that are unknown here, so no token is forced.
  return processor === null ? constraint.forced() : [];
}
