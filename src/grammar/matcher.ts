// One text held to a grammar, token by token. It holds nothing but a state, so a fork is another holder of the same.

import { EngineError } from '../files/error.ts';
import type { ForcedRuns } from './forced.ts';
import type { Machine } from './machine.ts';
import type { Masks } from './mask.ts';
import type { State } from './stack.ts';
import type { Vocabulary } from './vocabulary.ts';

export interface MatcherParts {
  machine: Machine;
  masks: Masks;
  /** The same for a token that opens the text, where that changes its bytes. */
  firstMasks: Masks;
  forced: ForcedRuns;
  vocabulary: Vocabulary;
}

export interface GrammarMatcher {
  /** Sets the bits of allowed tokens, one word per 32 tokens, and every word of `into`; true. */
  mask(into: Uint32Array): boolean;
  /** Advances by a token; throws on one that the mask refused. */
  accept(id: number): void;
  /** Tokens that must come next, in their order, not yet accepted; []: the model has a choice. */
  forced(): number[];
  /** Whether only end tokens are allowed. */
  readonly ended: boolean;
  /** An independent matcher at the same state. */
  fork(): GrammarMatcher;
}

/** `first`: the next token opens the text. */
export function createMatcher(parts: MatcherParts, from: State, first: boolean): GrammarMatcher {
  const { machine, masks, firstMasks, forced, vocabulary } = parts;
  const { endIds } = vocabulary;
  let state = from;
  let opens = first;
  let over = false;

  const refuse = (id: number): never => {
    throw new EngineError('internal', `token ${id} was generated where the grammar does not allow it`);
  };
  const takeBytes = (id: number): State => {
    const bytes = vocabulary.bytes(id, opens);
    if (bytes.length === 0) return refuse(id);
    let at: State = state;
    for (const byte of bytes) at = machine.step(at, byte) ?? refuse(id);
    return at;
  };
  const ended = (): boolean => over || (state.ends && state.leaves.length === 0);

  return {
    mask(into) {
      into.fill(0);
      if (!over) into.set((opens ? firstMasks : masks).of(state));
      if (over || state.ends) for (const id of endIds) into[id >>> 5]! |= 1 << (id & 31);
      return true;
    },
    accept(id) {
      // Where the text can only end, whatever the caller ends it with does.
      if ((endIds.includes(id) && state.ends) || (!over && ended())) {
        over = true;
        return;
      }
      if (over) {
        if (!endIds.includes(id)) refuse(id);
        return;
      }
      machine.work.begin();
      state = machine.stepToken(state, id) ?? takeBytes(id);
      opens = false;
    },
    forced() {
      machine.work.begin();
      return over ? [] : forced.after(state, opens);
    },
    get ended() {
      return ended();
    },
    fork: () => {
      const forked = createMatcher(parts, state, opens);
      if (over) forked.accept(endIds[0]!);
      return forked;
    },
  };
}
