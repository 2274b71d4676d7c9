// Stops as automata that read a text one character at a time and never go back. An expression is matched by simulating its NFA, with
// all possible matches at once, each a thread that knows where it began. After every character the text is judged as if it ended
// there, so that `$` and `\b` hold at its end.

import { GrammarError } from '../bounds/grammar-error.ts';
import { quote } from '../automata/regex-parser.ts';
import { WORD } from '../automata/unicode.ts';
import { CONDITIONS, type StopTable } from './stop-table.ts';

export interface StopAutomaton {
  /** The stop string, or the pattern. */
  readonly stop: string;
  /**
   * Reads a character. Returns the offset of the first match that ends with it, or -1. Offsets are in UTF-16 units from the start
   * of the text.
   */
  step(code: number): number;
  /** Offset of the first match that further characters could complete; Infinity: none. */
  readonly open: number;
}

/** A factory of automata; a text needs a new one for each stop. */
export type StopAutomata = { begin(): StopAutomaton };

/** The characters before and after a place; null: the text begins or ends there. */
interface Place {
  before: number | null;
  after: number | null;
}

/** The automata of an expression. Throws bad_request for one that matches the empty text. */
export function stopPattern(table: StopTable, param: string): StopAutomata {
  const simulation = new NfaSimulation(table);
  if (simulation.matchesEmpty()) {
    const problem = 'matches the empty text: let it match at least one character';
    throw new GrammarError('bad_request', `the stop expression ${quote(table.stop)} ${problem}`, { param });
  }
  return { begin: () => new PatternAutomaton(table, simulation) };
}

/** NFA states and where their matches began, in the order in which they began. */
class ThreadList {
  readonly states: Int32Array;
  readonly began: Int32Array;
  count = 0;

  constructor({ canContinue }: StopTable) {
    this.states = new Int32Array(canContinue.length);
    this.began = new Int32Array(canContinue.length);
  }
}

class PatternAutomaton implements StopAutomaton {
  readonly stop: string;
  readonly #table: StopTable;
  readonly #simulation: NfaSimulation;
  #threads: ThreadList;
  #spare: ThreadList;
  /** UTF-16 units read so far. */
  #at = 0;
  /** The last character. */
  #before: number | null = null;

  constructor(table: StopTable, simulation: NfaSimulation) {
    this.stop = table.stop;
    this.#table = table;
    this.#simulation = simulation;
    this.#threads = new ThreadList(table);
    this.#spare = new ThreadList(table);
  }

  step(code: number): number {
    const threads = this.#threads;
    const next = this.#spare;
    this.#simulation.begin(threads, this.#at);
    this.#simulation.take(threads, { before: this.#before, after: code }, next);
    this.#threads = next;
    this.#spare = threads;
    this.#at += code > 0xffff ? 2 : 1;
    this.#before = code;
    return this.#simulation.match(next, { before: code, after: null });
  }

  get open(): number {
    const { states, began, count } = this.#threads;
    const { canContinue } = this.#table;
    for (let i = 0; i < count; i++) if (canContinue[states[i]!]) return began[i]!;
    return Infinity;
  }
}

/** Working memory for the steps of all automata of one expression; nothing in it outlasts a step. */
class NfaSimulation {
  readonly #table: StopTable;
  readonly #sets: SetMembership;
  /** The threads of a step and their epsilon closures. */
  readonly #reached: ThreadList;
  /** [states]: the turn in which the state was last reached. */
  readonly #seen: Int32Array;
  #turn = 0;

  constructor(table: StopTable) {
    this.#table = table;
    this.#sets = new SetMembership(table);
    this.#reached = new ThreadList(table);
    this.#seen = new Int32Array(table.canEnd.length);
  }

  matchesEmpty(): boolean {
    const threads = new ThreadList(this.#table);
    this.begin(threads, 0);
    return this.match(threads, { before: null, after: null }) >= 0;
  }

  /** Adds a thread for a match that begins at `at`, unless an earlier one is in the start state. */
  begin(threads: ThreadList, at: number): void {
    this.#turn++;
    for (let i = 0; i < threads.count; i++) this.#seen[threads.states[i]!] = this.#turn;
    this.#add(threads, this.#table.start, at);
  }

  /** Writes to `next` the threads after the character `place.after`. */
  take(threads: ThreadList, place: Place & { after: number }, next: ThreadList): void {
    const { edgeFrom, edgeTo, edgeSet } = this.#table;
    const reached = this.#reached;
    this.#close(threads, place, null);
    this.#turn++;
    this.#sets.begin(place.after);
    next.count = 0;
    for (let i = 0; i < reached.count; i++) {
      const state = reached.states[i]!;
      for (let edge = edgeFrom[state]!; edge < edgeFrom[state + 1]!; edge++)
        if (this.#sets.has(edgeSet[edge]!)) this.#add(next, edgeTo[edge]!, reached.began[i]!);
    }
  }

  /** Offset of the first complete match; -1: none is complete. */
  match(threads: ThreadList, place: Place): number {
    const { final, canEnd } = this.#table;
    const reached = this.#reached;
    this.#close(threads, place, canEnd);
    if (this.#seen[final] !== this.#turn) return -1;
    const at = reached.states.subarray(0, reached.count).indexOf(final);
    return at < 0 ? -1 : reached.began[at]!;
  }

  #add(threads: ThreadList, state: number, began: number): void {
    if (this.#seen[state] === this.#turn) return;
    this.#seen[state] = this.#turn;
    threads.states[threads.count] = state;
    threads.began[threads.count++] = began;
  }

  /**
   * Writes the epsilon closure of the threads to #reached. `wanted`: [states], 1 for the states to follow; null: all. A state keeps the
   * thread that began first, since threads are in that order.
   */
  #close(threads: ThreadList, place: Place, wanted: Uint8Array | null): void {
    const { epsilonFrom, epsilonTo, epsilonCondition } = this.#table;
    const reached = this.#reached;
    const holding = CONDITIONS.map((condition) => condition === null || holds(condition, place));
    this.#turn++;
    reached.count = 0;
    for (let i = 0; i < threads.count; i++) {
      const began = threads.began[i]!;
      let from = reached.count;
      if (wanted === null || wanted[threads.states[i]!]) this.#add(reached, threads.states[i]!, began);
      for (; from < reached.count; from++) {
        const state = reached.states[from]!;
        for (let skip = epsilonFrom[state]!; skip < epsilonFrom[state + 1]!; skip++) {
          const to = epsilonTo[skip]!;
          if (holding[epsilonCondition[skip]!] && (wanted === null || wanted[to]))
            this.#add(reached, to, began);
        }
      }
    }
  }
}

/** Whether character sets have the current character; computed once for each set and character. */
class SetMembership {
  readonly #table: StopTable;
  /** [sets]: the turn in which the set was last looked at. */
  readonly #queriedIn: Int32Array;
  /** [sets] */
  readonly #has: Uint8Array;
  #turn = 0;
  #code = 0;

  constructor(table: StopTable) {
    this.#table = table;
    this.#queriedIn = new Int32Array(table.setFrom.length);
    this.#has = new Uint8Array(table.setFrom.length);
  }

  begin(code: number): void {
    this.#turn++;
    this.#code = code;
  }

  has(set: number): boolean {
    if (this.#queriedIn[set] !== this.#turn) {
      const { ranges, setFrom } = this.#table;
      this.#queriedIn[set] = this.#turn;
      this.#has[set] = Number(contains(ranges, setFrom[set]!, setFrom[set + 1]!, this.#code));
    }
    return this.#has[set] === 1;
  }
}

function holds(assertion: (typeof CONDITIONS)[number], { before, after }: Place): boolean {
  if (assertion === 'start') return before === null;
  if (assertion === 'end') return after === null;
  const boundary = isWord(before) !== isWord(after);
  return assertion === 'wordBoundary' ? boundary : !boundary;
}

function isWord(code: number | null): boolean {
  return code !== null && contains(WORD, 0, WORD.length, code);
}

/** Binary search in ascending disjoint ranges [first, last, first, last …] from index `from` to `to`. */
function contains(ranges: ArrayLike<number>, from: number, to: number, code: number): boolean {
  let low = from / 2;
  let high = to / 2 - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (code < ranges[2 * middle]!) high = middle - 1;
    else if (code > ranges[2 * middle + 1]!) low = middle + 1;
    else return true;
  }
  return false;
}
