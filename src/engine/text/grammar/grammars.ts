// The grammars of a model: compiled once each, away from the thread that serves, and kept while there is room.

import { LRUCache } from 'lru-cache';
import { compile } from './compile.ts';
import { limits } from './dfa.ts';
import { asBadRequest, ruleOfConstraint, type GrammarSource } from './front-end.ts';
import { createGrammar, type Grammar } from './grammar.ts';
import type { Program } from './program.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Milliseconds that a grammar may take. */
const LONGEST = 5000;
const MOST_KEPT = 64;

export interface Grammars {
  readonly vocabulary: Vocabulary;
  /** Throws bad_request for a grammar that makes no sense or is too large. */
  get(constraint: GrammarSource): Promise<FoundGrammar>;
}

export interface FoundGrammar {
  grammar: Grammar;
  /** Milliseconds until it was compiled; null: it was there before. */
  compileMs: number | null;
}

export type CompileProgram = (constraint: GrammarSource, available: Uint8Array) => Promise<Program>;

/** `compileAway` does it in another thread; null: there is none. */
export function createGrammars(vocabulary: Vocabulary, compileAway: CompileProgram | null): Grammars {
  const kept = new LRUCache<string, Promise<Grammar>>({ max: MOST_KEPT });
  const { available } = vocabulary;
  const make = async (constraint: GrammarSource): Promise<Grammar> =>
    createGrammar(
      compileAway ? await compileAway(constraint, available) : compileProgram(constraint, available),
      vocabulary,
    );
  return {
    vocabulary,
    async get(constraint) {
      const key = JSON.stringify(constraint);
      const known = kept.get(key);
      if (known) return { grammar: await known, compileMs: null };
      const begun = performance.now();
      const made = make(constraint);
      kept.set(key, made);
      made.catch(() => kept.delete(key));
      return { grammar: await made, compileMs: performance.now() - begun };
    },
  };
}

/** Plain data, for whichever thread asked. `available`: 1 for each byte that is a token by itself. */
export function compileProgram(constraint: GrammarSource, available: Uint8Array): Program {
  const bounds = limits({ milliseconds: LONGEST });
  try {
    return compile(ruleOfConstraint(constraint, bounds), available, bounds);
  } catch (error) {
    throw asBadRequest(error);
  }
}
