// The grammars of a model: each is compiled once, in another thread where there is one, and cached while there is room.

import { LRUCache } from 'lru-cache';
import { EngineError } from '../../../files/error.ts';
import { onAbort } from '../../async/abort-listeners.ts';
import { Grammar } from '../../../grammar/grammar.ts';
import type { Vocabulary } from '../../../grammar/masks/vocabulary.ts';
import { withResolvers } from '../../async/resolvers.ts';
import { withEngineErrors } from '../calls/grammar-error.ts';
import { compileSource, type CompiledSource, type GrammarSource } from './grammar-source.ts';
import type { GrammarCounters, UnenforcedKeyword } from '../calls/text-model.ts';

/** Most grammars that are cached: a request may have one for each of 1,024 tools. */
const MOST_CACHED = 2048;
/** Known grammars are asked for so many times before the cache is trimmed again, which looks at each entry. */
const TRIM_INTERVAL = 16;
/** Most UTF-16 units of the sources and messages of grammars that failed. */
const MOST_FAILED = 2 ** 22;
/** A text with every construct of JSON. */
const SAMPLE = '{"a": "b c", "d": [-1.5e3, {"e": null}, []], "f\\n": {"g": true, "h": false}}';
/** Most bytes of all cached grammars; the one used last stays in any case. */
const MOST_BYTES = 128 * 2 ** 20;

export interface FoundGrammar {
  grammar: Grammar;
  /** Milliseconds from the call until the grammar was compiled; null: it was cached or was already being compiled. */
  compileMs: number | null;
  /** Keywords of tools' parameters that the grammar does not enforce. */
  unenforced: readonly UnenforcedKeyword[];
}

/** Throws EngineErrors: bad_request, timed_out where the machine is too busy, or cancelled if `signal` aborts. */
export type CompileSource = (
  source: GrammarSource,
  available: Uint8Array,
  options: { signal: AbortSignal; client: string | null },
) => Promise<CompiledSource>;

type Made = Pick<FoundGrammar, 'grammar' | 'unenforced'>;

/** A grammar that is cached or being compiled. */
interface Entry {
  made: Promise<Made>;
  /** null: it is being compiled. */
  found: Made | null;
  /** Number of requests that wait for it. */
  waiting: number;
  /** Aborts the compilation. */
  abandoned: AbortController;
}

export class GrammarCache {
  readonly vocabulary: Vocabulary;
  readonly #counters: GrammarCounters = { asked: 0, known: 0, refused: 0, timedOut: 0, compiling: 0 };
  readonly #compileElsewhere: CompileSource | null;
  readonly #mostBytes: number;
  readonly #entries = new LRUCache<string, Entry>({ max: MOST_CACHED });
  readonly #failures = new LRUCache<string, EngineError>({
    maxSize: MOST_FAILED,
    sizeCalculation: ({ message }, key) => key.length + message.length,
  });
  /** The compiled grammar of any JSON object; null: the vocabulary cannot spell JSON. */
  readonly #json: CompiledSource | null;
  #anyObject: Grammar | null;

  /** `compileElsewhere` compiles in another thread; null: no threads are available. */
  constructor(
    vocabulary: Vocabulary,
    compileElsewhere: CompileSource | null,
    { mostBytes = MOST_BYTES } = {},
  ) {
    this.vocabulary = vocabulary;
    this.#compileElsewhere = compileElsewhere;
    this.#mostBytes = mostBytes;
    this.#json = compiledOrNull({ type: 'json_object' }, vocabulary.available);
    this.#anyObject = this.#newAnyObject();
    if (this.#anyObject) warmUp(this.#anyObject, vocabulary);
  }

  get counters(): Readonly<GrammarCounters> {
    return this.#counters;
  }

  /**
   * Returns the grammar of a source. Throws bad_request for one that is invalid or too large, timed_out, and cancelled if `signal` aborts
   * first; a compilation that no request waits for is stopped. Grammars of one `client` share its turns of compilation; null: the grammar
   * has its own.
   */
  async get(
    source: GrammarSource,
    signal?: AbortSignal,
    client: string | null = null,
  ): Promise<FoundGrammar> {
    this.#counters.asked++;
    if (source.type === 'json_object' && this.#anyObject) return this.#jsonObject(this.#anyObject);
    const key = JSON.stringify(source);
    const failure = this.#failures.get(key);
    if (failure) {
      this.#counters.known++;
      throw copyOf(failure);
    }
    const known = this.#entries.get(key);
    if (!known || this.#counters.asked % TRIM_INTERVAL === 0) this.#trim();
    if (known) {
      this.#counters.known++;
      return { ...(await this.#wait(key, known, signal)), compileMs: null };
    }
    const begun = performance.now();
    const made = await this.#wait(key, this.#begin(key, source, client), signal);
    return { ...made, compileMs: performance.now() - begun };
  }

  /** Drops all grammars and failures; running sequences keep their grammars. */
  clear(): void {
    this.#entries.clear();
    this.#failures.clear();
    this.#anyObject = this.#newAnyObject();
  }

  #jsonObject(anyObject: Grammar): FoundGrammar {
    this.#counters.known++;
    // The caches inside a grammar grow with every text, so it is replaced by a new one when they are too large.
    const grammar = anyObject.bytes > this.#mostBytes ? this.#newAnyObject()! : anyObject;
    this.#anyObject = grammar;
    return { grammar, compileMs: null, unenforced: [] };
  }

  #newAnyObject(): Grammar | null {
    return this.#json && new Grammar(this.#json, this.vocabulary);
  }

  #begin(key: string, source: GrammarSource, client: string | null): Entry {
    const abandoned = new AbortController();
    this.#counters.compiling++;
    const made = this.#make(source, { signal: abandoned.signal, client }).then(
      (found) => (entry.found = found),
      (error: unknown) => {
        if (this.#entries.peek(key) === entry) this.#entries.delete(key);
        throw this.#recordFailure(key, error);
      },
    );
    const entry: Entry = { made, found: null, waiting: 0, abandoned };
    const settled = (): void => void this.#counters.compiling--;
    made.then(settled, settled);
    this.#entries.set(key, entry);
    return entry;
  }

  async #make(source: GrammarSource, options: Parameters<CompileSource>[2]): Promise<Made> {
    const { available } = this.vocabulary;
    const compiled = this.#compileElsewhere
      ? await this.#compileElsewhere(source, available, options)
      : compileSource(source, available);
    const grammar = withEngineErrors(() => new Grammar(compiled, this.vocabulary));
    return { grammar, unenforced: compiled.unenforced ?? [] };
  }

  /** Counts a failure, and remembers a refusal; returns the error that requests get. */
  #recordFailure(key: string, error: unknown): unknown {
    if (!(error instanceof EngineError)) return error;
    // A grammar that takes too much work is a bad request on any machine. Lack of time says nothing about the next attempt.
    if (error.code === 'bad_request') this.#failures.set(key, error);
    if (error.code === 'timed_out') this.#counters.timedOut++;
    else if (error.code !== 'cancelled') this.#counters.refused++;
    return error;
  }

  async #wait(key: string, entry: Entry, signal?: AbortSignal): Promise<Made> {
    if (entry.found !== null) return entry.found;
    const left = withResolvers<never>();
    const leave = (): void =>
      left.reject(new EngineError('cancelled', 'the request was cancelled before it began'));
    if (signal?.aborted) leave();
    const stopListening = onAbort(signal, leave);
    entry.waiting++;
    try {
      return await Promise.race([entry.made, left.promise]);
    } finally {
      stopListening();
      if (--entry.waiting === 0 && entry.found === null) {
        if (this.#entries.peek(key) === entry) this.#entries.delete(key);
        entry.abandoned.abort();
      }
    }
  }

  /** Evicts the least recently used grammars past the bound on bytes, which grow with every text. */
  #trim(): void {
    let bytes = 0;
    const evicted = [...this.#entries].filter(
      ([, { found }], i) => (bytes += found?.grammar.bytes ?? 0) > this.#mostBytes && i > 0,
    );
    for (const [key] of evicted) this.#entries.delete(key);
  }
}

/** Computes what most grammars need before a request waits for it, and lets the JavaScript engine optimize that code. */
function warmUp(grammar: Grammar, vocabulary: Vocabulary): void {
  const matcher = grammar.start();
  const bits = new Uint32Array(Math.ceil(vocabulary.size / 32));
  for (const id of vocabulary.encode(SAMPLE)) {
    matcher.mask(bits);
    if (((bits[id >>> 5]! >>> (id & 31)) & 1) === 0) return;
    matcher.accept(id);
  }
}

/** Returns a copy of an error, which has its own stack trace. */
function copyOf({ code, message, param, cause }: EngineError): EngineError {
  return new EngineError(code, message, { ...(param !== null && { param }), cause });
}

/** null: the vocabulary cannot spell the grammar. */
function compiledOrNull(source: GrammarSource, available: Uint8Array): CompiledSource | null {
  try {
    return compileSource(source, available);
  } catch {
    return null;
  }
}
