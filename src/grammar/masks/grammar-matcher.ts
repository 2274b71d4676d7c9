// Holds one text to a grammar, token by token. Its only state is that of the pushdown automaton, so a fork shares everything.

import type { ForcedTokens } from './forced-tokens.ts';
import { GrammarError } from '../bounds/grammar-error.ts';
import type { ParserState } from '../stacks/graph-stack.ts';
import type { PushdownAutomaton } from '../stacks/pushdown-automaton.ts';
import type { TokenMasks } from './token-mask.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Shared by all matchers of a grammar. */
export interface MatcherParts {
  automaton: PushdownAutomaton;
  masks: TokenMasks;
  /** Masks for the first token of a text; `masks` itself where the tokenizer reads it as any other. */
  firstMasks: TokenMasks;
  forcedTokens: ForcedTokens;
  vocabulary: Vocabulary;
}

export class GrammarMatcher {
  readonly #parts: MatcherParts;
  #state: ParserState;
  /** Whether the next token is the first one of a text. */
  #isFirst: boolean;
  /** Whether an end token was accepted. */
  #isOver = false;

  constructor(parts: MatcherParts, state: ParserState, isFirst: boolean) {
    this.#parts = parts;
    this.#state = state;
    this.#isFirst = isFirst;
  }

  /** Sets `into` to the bits of allowed tokens, one word per 32 tokens; always true. Throws bad_request past the work budget. */
  mask(into: Uint32Array): boolean {
    const { masks, firstMasks, vocabulary } = this.#parts;
    into.fill(0);
    if (!this.#isOver) into.set((this.#isFirst ? firstMasks : masks).of(this.#state));
    if (this.#isOver || this.#state.accepts)
      for (const id of vocabulary.endIds) into[id >>> 5]! |= 1 << (id & 31);
    return true;
  }

  /** Advances by a token. Throws `internal` for one that the mask refused, bad_request past the work budget. */
  accept(id: number): void {
    const { automaton, vocabulary } = this.#parts;
    const isEnd = vocabulary.endIds.includes(id);
    // A text that can only end is ended by any token that the caller ends it with.
    if ((isEnd && this.#state.accepts) || (!this.#isOver && this.ended)) {
      this.#isOver = true;
      return;
    }
    if (this.#isOver) {
      if (!isEnd) refuse(id);
      return;
    }
    automaton.budget.begin();
    this.#state = automaton.stepToken(this.#state, id) ?? this.#afterBytes(id);
    this.#isFirst = false;
  }

  /** The tokens that must come next, in their order, which accept() has not been called with; []: the model has a choice. */
  forced(): number[] {
    const { automaton, forcedTokens } = this.#parts;
    automaton.budget.begin();
    return this.#isOver ? [] : forcedTokens.after(this.#state, this.#isFirst);
  }

  /** Whether only end tokens are allowed. */
  get ended(): boolean {
    return this.#isOver || (this.#state.accepts && this.#state.tops.length === 0);
  }

  /** An independent matcher in the same state. */
  fork(): GrammarMatcher {
    const forked = new GrammarMatcher(this.#parts, this.#state, this.#isFirst);
    forked.#isOver = this.#isOver;
    return forked;
  }

  #afterBytes(id: number): ParserState {
    const { automaton, vocabulary } = this.#parts;
    const bytes = vocabulary.bytes(id, this.#isFirst);
    if (bytes.length === 0) return refuse(id);
    let state = this.#state;
    for (const byte of bytes) state = automaton.step(state, byte) ?? refuse(id);
    return state;
  }
}

function refuse(id: number): never {
  throw new GrammarError('internal', `token ${id} was generated where the grammar does not allow it`);
}
