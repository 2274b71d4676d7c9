// A compiled grammar joined with a vocabulary, and the caches of both. All sequences with this grammar share it.

import type { CompiledGrammar } from './rules/compiled-grammar.ts';
import { ForcedTokens } from './masks/forced-tokens.ts';
import { GrammarError } from './bounds/grammar-error.ts';
import { GrammarMatcher, type MatcherParts } from './masks/grammar-matcher.ts';
import type { ParserState } from './stacks/graph-stack.ts';
import { lexemeBytes } from './lexemes/lexeme.ts';
import { PushdownAutomaton } from './stacks/pushdown-automaton.ts';
import { TokenMasks } from './masks/token-mask.ts';
import type { Vocabulary } from './masks/vocabulary.ts';

/** Approximate bytes of a node of a compiled grammar. */
const NODE_BYTES = 100;
/** UTF-16 units of a refused text that a message shows, from its end. */
const SHOWN = 60;

export interface MatcherOptions {
  /** Whether the next token is the first one of the reply, of which decoding may cut a leading space. Left out: true. */
  opens?: boolean;
  /** Text that the grammar has matched already, or texts and ids of special tokens. */
  matched?: string | readonly (string | number)[];
}

export class Grammar {
  readonly #parts: MatcherParts;
  readonly #compiledBytes: number;
  readonly #start: ParserState;

  /** Throws bad_request past the work budget. */
  constructor(compiled: CompiledGrammar, vocabulary: Vocabulary) {
    const { size, available, lexemeMasks, firstLexemeMasks } = vocabulary;
    const automaton = new PushdownAutomaton(compiled, available);
    const masks = new TokenMasks(automaton, lexemeMasks, size);
    const firstMasks =
      firstLexemeMasks === lexemeMasks ? masks : new TokenMasks(automaton, firstLexemeMasks, size);
    const forcedTokens = new ForcedTokens(automaton, masks, vocabulary);
    this.#parts = { automaton, masks, firstMasks, forcedTokens, vocabulary };
    this.#compiledBytes = compiled.lexemes.reduce(
      (sum, lexeme) => sum + lexemeBytes(lexeme),
      compiled.nodes.length * NODE_BYTES,
    );
    this.#start = automaton.start();
  }

  /** Approximate bytes of the compiled grammar and its caches. */
  get bytes(): number {
    const { automaton, masks, firstMasks } = this.#parts;
    const maskBytes = masks.bytes + (firstMasks === masks ? 0 : firstMasks.bytes);
    return this.#compiledBytes + automaton.bytes + maskBytes;
  }

  /** A matcher for a new text. Throws bad_request where no match begins with `matched`. */
  start({ opens = true, matched = '' }: MatcherOptions = {}): GrammarMatcher {
    const { masks, firstMasks } = this.#parts;
    const state = [matched].flat().reduce((from, part) => this.#after(from, part), this.#start);
    return new GrammarMatcher(this.#parts, state, opens && firstMasks !== masks);
  }

  #after(from: ParserState, matched: string | number): ParserState {
    const { automaton } = this.#parts;
    if (typeof matched === 'number')
      return automaton.stepToken(from, matched) ?? refuse(new TextEncoder().encode(`token ${matched}`));
    let state = from;
    new TextEncoder().encode(matched).forEach((byte, at, bytes) => {
      state = automaton.step(state, byte) ?? refuse(bytes.subarray(0, at + 1));
    });
    return state;
  }
}

function refuse(begun: Uint8Array): never {
  const text = new TextDecoder().decode(begun);
  throw new GrammarError(
    'bad_request',
    `the answer to go on with does not begin as the request's format asks, and leaves it at ${JSON.stringify(text.slice(-SHOWN))}: begin it otherwise, or leave it out`,
    { param: 'messages' },
  );
}
