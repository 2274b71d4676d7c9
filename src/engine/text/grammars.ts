// The grammars of a model: compiled once each, away from the thread that serves, and kept while there is room.

import { LRUCache } from 'lru-cache';
import { EngineError } from '../../files/error.ts';
import { withCode } from '../../grammar/front-end.ts';
import { createGrammar, type Grammar } from '../../grammar/grammar.ts';
import { compileProgram, type GrammarSource } from './grammar-source.ts';
import { withResolvers } from '../resolvers.ts';
import type { GrammarCounters } from './text-model.ts';
import type { Program } from '../../grammar/program.ts';
import type { Vocabulary } from '../../grammar/vocabulary.ts';

const MOST_KEPT = 64;
/** UTF-16 units of all grammars that failed and are known. */
const MOST_FAILED = 2 ** 22;
/** Milliseconds for which one is known that took too long: the machine may have been busy. */
const LATE_KNOWN = 5 * 60_000;
/** Has all that JSON has. */
const SAMPLE = '{"a": "b c", "d": [-1.5e3, {"e": null}, []], "f\\n": {"g": true, "h": false}}';
/** Bytes of what has been worked out about all that are kept; the one that was asked for last stays in any case. */
const MOST_BYTES = 128 * 2 ** 20;

export interface Grammars {
  readonly vocabulary: Vocabulary;
  readonly counters: Readonly<GrammarCounters>;
  /**
   * Throws bad_request for a grammar that makes no sense or is too large, and cancelled where `signal` aborts first: what nobody
   * waits for any more is compiled no further.
   */
  get(constraint: GrammarSource, signal?: AbortSignal): Promise<FoundGrammar>;
  /** Forgets them all; texts that are held to one go on. */
  clear(): void;
}

export interface FoundGrammar {
  grammar: Grammar;
  /** Milliseconds until it was compiled; null: it was there before. */
  compileMs: number | null;
}

export type CompileProgram = (
  constraint: GrammarSource,
  available: Uint8Array,
  signal: AbortSignal,
) => Promise<Program>;

/** One that is being compiled, or is there. */
interface Entry {
  made: Promise<Grammar>;
  grammar: Grammar | null;
  /** Requests that wait for it. */
  waiting: number;
  abandoned: AbortController;
}

/** `compileAway` does it in another thread; null: there is none. */
export function createGrammars(
  vocabulary: Vocabulary,
  compileAway: CompileProgram | null,
  { mostBytes = MOST_BYTES } = {},
): Grammars {
  const kept = new LRUCache<string, Entry>({ max: MOST_KEPT });
  const failed = new LRUCache<string, EngineError>({
    maxSize: MOST_FAILED,
    sizeCalculation: ({ message }, key) => key.length + message.length,
  });
  const counters = { asked: 0, known: 0, refused: 0, timedOut: 0, compiling: 0 };
  const { available } = vocabulary;
  const make = async (constraint: GrammarSource, signal: AbortSignal): Promise<Grammar> =>
    createGrammar(
      compileAway ? await compileAway(constraint, available, signal) : compileProgram(constraint, available),
      vocabulary,
    );
  const fail = (key: string, error: unknown): unknown => {
    if (!(error instanceof EngineError)) return error;
    if (error.code === 'timed_out') {
      counters.timedOut++;
      const refusal = withCode(error, 'bad_request');
      failed.set(key, refusal, { ttl: LATE_KNOWN });
      return refusal;
    }
    if (error.code === 'bad_request') failed.set(key, error);
    if (error.code !== 'cancelled') counters.refused++;
    return error;
  };
  const begin = (key: string, constraint: GrammarSource): Entry => {
    const abandoned = new AbortController();
    counters.compiling++;
    const made = make(constraint, abandoned.signal).then(
      (grammar) => (entry.grammar = grammar),
      (error: unknown) => {
        if (kept.peek(key) === entry) kept.delete(key);
        throw fail(key, error);
      },
    );
    const entry: Entry = { made, grammar: null, waiting: 0, abandoned };
    const settled = (): void => void counters.compiling--;
    made.then(settled, settled);
    kept.set(key, entry);
    return entry;
  };
  const wait = async (key: string, entry: Entry, signal?: AbortSignal): Promise<Grammar> => {
    if (entry.grammar !== null) return entry.grammar;
    const left = withResolvers<never>();
    const leave = (): void =>
      left.reject(new EngineError('cancelled', 'the request was cancelled before it began'));
    if (signal?.aborted) leave();
    signal?.addEventListener('abort', leave, { once: true });
    entry.waiting++;
    try {
      return await Promise.race([entry.made, left.promise]);
    } finally {
      signal?.removeEventListener('abort', leave);
      if (--entry.waiting === 0 && entry.grammar === null) {
        if (kept.peek(key) === entry) kept.delete(key);
        entry.abandoned.abort();
      }
    }
  };
  /** They grow with every text; the least recently used make room. */
  const trim = (): void => {
    let bytes = 0;
    const dropped = [...kept].filter(
      ([, { grammar }], i) => (bytes += grammar?.bytes ?? 0) > mostBytes && i > 0,
    );
    for (const [key] of dropped) kept.delete(key);
  };
  const json = programOf({ type: 'json_object' }, available);
  let anyObject = json && createGrammar(json, vocabulary);
  if (anyObject) warmUp(anyObject, vocabulary);
  return {
    vocabulary,
    counters,
    async get(constraint, signal) {
      counters.asked++;
      if (constraint.type === 'json_object' && anyObject) {
        counters.known++;
        if (anyObject.bytes > mostBytes) anyObject = createGrammar(json!, vocabulary);
        return { grammar: anyObject, compileMs: null };
      }
      const key = JSON.stringify(constraint);
      const failure = failed.get(key);
      if (failure) {
        counters.known++;
        throw withCode(failure, failure.code);
      }
      const known = kept.get(key);
      trim();
      if (known) {
        counters.known++;
        return { grammar: await wait(key, known, signal), compileMs: null };
      }
      const begun = performance.now();
      const grammar = await wait(key, begin(key, constraint), signal);
      return { grammar, compileMs: performance.now() - begun };
    },
    clear() {
      kept.clear();
      failed.clear();
      anyObject = json && createGrammar(json, vocabulary);
    },
  };
}

/** What most grammars need is worked out before anybody waits for it, and the code that does so is compiled. */
function warmUp(grammar: Grammar, vocabulary: Vocabulary): void {
  const text = grammar.start();
  const bits = new Uint32Array(Math.ceil(vocabulary.size / 32));
  for (const id of vocabulary.encode(SAMPLE)) {
    text.mask(bits);
    if (((bits[id >>> 5]! >>> (id & 31)) & 1) === 0) return;
    text.accept(id);
  }
}

/** null: the vocabulary cannot spell it. */
function programOf(constraint: GrammarSource, available: Uint8Array): Program | null {
  try {
    return compileProgram(constraint, available);
  } catch {
    return null;
  }
}
