// The grammars of a model: compiled once each, away from the thread that serves, and kept while there is room.

import { LRUCache } from 'lru-cache';
import { EngineError, type ErrorCode } from '../../../files/error.ts';
import { compile } from './compile.ts';
import { limits } from './dfa.ts';
import { asBadRequest, ruleOfConstraint, type GrammarSource } from './front-end.ts';
import { createGrammar, type Grammar } from './grammar.ts';
import type { GrammarCounters } from '../text-model.ts';
import type { Program } from './program.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Milliseconds that a grammar may take. */
const LONGEST = 5000;
const MOST_KEPT = 64;
/** Has all that JSON has. */
const SAMPLE = '{"a": "b c", "d": [-1.5e3, {"e": null}, []], "f\\n": {"g": true, "h": false}}';
/** Bytes of what has been worked out about all that are kept; the one that was asked for last stays in any case. */
const MOST_BYTES = 128 * 2 ** 20;

export interface Grammars {
  readonly vocabulary: Vocabulary;
  readonly counters: Readonly<GrammarCounters>;
  /** Throws bad_request for a grammar that makes no sense or is too large. */
  get(constraint: GrammarSource): Promise<FoundGrammar>;
  /** Forgets them all; texts that are held to one go on. */
  clear(): void;
}

export interface FoundGrammar {
  grammar: Grammar;
  /** Milliseconds until it was compiled; null: it was there before. */
  compileMs: number | null;
}

export type CompileProgram = (constraint: GrammarSource, available: Uint8Array) => Promise<Program>;

/** `compileAway` does it in another thread; null: there is none. */
export function createGrammars(
  vocabulary: Vocabulary,
  compileAway: CompileProgram | null,
  { mostBytes = MOST_BYTES } = {},
): Grammars {
  const kept = new LRUCache<string, { made: Promise<Grammar>; grammar: Grammar | null }>({ max: MOST_KEPT });
  const counters = { asked: 0, known: 0, refused: 0, timedOut: 0, compiling: 0 };
  const { available } = vocabulary;
  const make = async (constraint: GrammarSource): Promise<Grammar> =>
    createGrammar(
      compileAway ? await compileAway(constraint, available) : compileProgram(constraint, available),
      vocabulary,
    );
  /** They grow with every text; the least recently used make room. */
  const trim = (): void => {
    let bytes = 0;
    const dropped = [...kept].filter(
      ([, { grammar }], i) => (bytes += grammar?.bytes ?? 0) > mostBytes && i > 0,
    );
    for (const [key] of dropped) kept.delete(key);
  };
  warmUp(vocabulary);
  return {
    vocabulary,
    counters,
    async get(constraint) {
      counters.asked++;
      const key = JSON.stringify(constraint);
      const known = kept.get(key);
      trim();
      if (known) {
        counters.known++;
        return { grammar: await known.made, compileMs: null };
      }
      const begun = performance.now();
      const entry = { made: make(constraint), grammar: null as Grammar | null };
      kept.set(key, entry);
      counters.compiling++;
      try {
        entry.grammar = await entry.made;
      } catch (error) {
        if (kept.peek(key) === entry) kept.delete(key);
        const tookLong = error instanceof EngineError && error.code === 'timed_out';
        counters[tookLong ? 'timedOut' : 'refused']++;
        throw tookLong ? again(error, 'bad_request') : error;
      } finally {
        counters.compiling--;
      }
      return { grammar: entry.grammar, compileMs: performance.now() - begun };
    },
    clear: () => kept.clear(),
  };
}

/** What most grammars need is worked out before anybody waits for it, and the code that does so is compiled. */
function warmUp(vocabulary: Vocabulary): void {
  const program = programOf({ type: 'json_object' }, vocabulary.available);
  if (!program) return;
  const text = createGrammar(program, vocabulary).start();
  const bits = new Uint32Array(Math.ceil(vocabulary.size / 32));
  for (const id of vocabulary.encode(SAMPLE)) {
    text.mask(bits);
    if (((bits[id >>> 5]! >>> (id & 31)) & 1) === 0) return;
    text.accept(id);
  }
}

function again({ message, param, cause }: EngineError, code: ErrorCode): EngineError {
  return new EngineError(code, message, { ...(param !== null && { param }), cause });
}

/** null: the vocabulary cannot spell it. */
function programOf(constraint: GrammarSource, available: Uint8Array): Program | null {
  try {
    return compileProgram(constraint, available);
  } catch {
    return null;
  }
}

/**
 * Plain data, for whichever thread asked. `available`: 1 for each byte that is a token by itself. Throws bad_request, or timed_out for
 * one that took too long.
 */
export function compileProgram(constraint: GrammarSource, available: Uint8Array): Program {
  const bounds = limits({ milliseconds: LONGEST });
  try {
    return compile(ruleOfConstraint(constraint, bounds), available, bounds);
  } catch (error) {
    const refusal = asBadRequest(error);
    const isLate = refusal instanceof EngineError && performance.now() > bounds.deadline;
    throw isLate ? again(refusal, 'timed_out') : refusal;
  }
}
