// The lexemes of a grammar that is being compiled; equal lexemes are one. Throws TooLarge past its bounds.

import type { TextEncoding } from './decoder-states.ts';
import { TooLarge, type Dfa, type Limits } from '../automata/dfa.ts';
import { createLexeme, lexemeBytes, literalLexeme, type Lexeme } from './lexeme.ts';

const MOST_LEXEMES = 8192;
/** Most bytes of all lexemes. */
const MOST_BYTES = 64 * 2 ** 20;
/** Steps that the lexeme of a text counts as. */
const LITERAL_STEPS = 1000;

export class LexemeTable {
  readonly lexemes: Lexeme[] = [];
  readonly #available: Uint8Array;
  readonly #limits: Limits;
  /** Indices by Lexeme.key. */
  readonly #byKey = new Map<string, number>();
  /** Indices by automaton, then by encoding and length bound. */
  readonly #byDfa = new Map<Dfa, Map<string, number>>();
  #bytes = 0;

  /** `available`: 1 for each byte that is a token by itself. */
  constructor(available: Uint8Array, limits: Limits) {
    this.#available = available;
    this.#limits = limits;
  }

  /** Index of the lexeme of an automaton. */
  add(dfa: Dfa, encoding: TextEncoding, longest?: number): number {
    this.#limits.work.spend(1);
    let indices = this.#byDfa.get(dfa);
    if (indices === undefined) this.#byDfa.set(dfa, (indices = new Map<string, number>()));
    const key = `${encoding} ${longest ?? ''}`;
    let index = indices.get(key);
    if (index === undefined) {
      index = this.#indexOf(createLexeme(dfa, encoding, this.#available, this.#limits, longest));
      indices.set(key, index);
    }
    return index;
  }

  /** Index of the lexeme of a single text. */
  addLiteral(text: string, encoding: 'plain' | 'name'): number {
    this.#limits.work.spend(LITERAL_STEPS + text.length ** 2);
    return this.#indexOf(literalLexeme(text, encoding, this.#available));
  }

  #indexOf(lexeme: Lexeme): number {
    let index = this.#byKey.get(lexeme.key);
    if (index === undefined) {
      this.#byKey.set(lexeme.key, (index = this.lexemes.push(lexeme) - 1));
      this.#bytes += lexemeBytes(lexeme);
      if (this.lexemes.length > MOST_LEXEMES)
        throw new TooLarge(`over ${MOST_LEXEMES} different pieces of text`);
      if (this.#bytes > MOST_BYTES) throw new TooLarge(`automata of over ${MOST_BYTES / 2 ** 20} MiB`);
    }
    return index;
  }
}
