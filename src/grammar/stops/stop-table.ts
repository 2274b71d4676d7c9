// The NFA of a stop expression as typed arrays, which can be sent between threads.

import { GrammarError, withParam } from '../bounds/grammar-error.ts';
import { TooLarge } from '../automata/dfa.ts';
import type { Assertion } from '../automata/expression.ts';
import { buildNfa, type Nfa } from '../automata/nfa.ts';
import { parseRegex, quote } from '../automata/regex-parser.ts';

/** Lists are stored end to end: the items of list i are those from index `…From[i]` to `…From[i + 1]`. */
export interface StopTable {
  /** The pattern. */
  stop: string;
  start: number;
  final: number;
  /** [states]: lists of epsilon edges, each with the index in CONDITIONS of its condition. */
  epsilonFrom: Int32Array;
  epsilonTo: Int32Array;
  epsilonCondition: Uint8Array;
  /** [states]: lists of edges that take a character of a set. */
  edgeFrom: Int32Array;
  edgeTo: Int32Array;
  edgeSet: Int32Array;
  /** [sets]: lists of first and last characters of ranges, ascending. */
  setFrom: Int32Array;
  ranges: Int32Array;
  /** [states]: 1 where a character can be taken before the end of the text. */
  canContinue: Uint8Array;
  /** [states]: 1 where the final state can be reached without a character. */
  canEnd: Uint8Array;
}

/** The conditions of epsilon edges; null: always taken. */
export const CONDITIONS: readonly (Assertion | null)[] = [
  null,
  'start',
  'end',
  'wordBoundary',
  'noWordBoundary',
];

/** Most NFA states of all expressions of a request; each may have to be visited for every character. */
const MOST_STATES = 4000;
/** Most UTF-16 units of all expressions of a request. */
const MOST_LENGTH = 2 ** 16;
/** Expressions within these bounds and without Unicode properties compile in some milliseconds. */
const QUICK_LENGTH = 256;
const QUICK_STATES = 500;

/** Throws bad_request where the patterns are too long to be parsed. */
export function checkStopLength(patterns: readonly string[]): void {
  const length = patterns.reduce((sum, pattern) => sum + pattern.length, 0);
  if (length <= MOST_LENGTH) return;
  throw new GrammarError(
    'bad_request',
    `the stop expressions have ${length} characters together, ${MOST_LENGTH} is the most: make them shorter`,
    { param: 'stopRegex' },
  );
}

/** The tables of patterns that compile quickly; null: compiling them would delay other requests. */
export function quickStopTables(patterns: readonly string[]): StopTable[] | null {
  const all = patterns.join('');
  if (all.length > QUICK_LENGTH || /\\p/i.test(all)) return null;
  try {
    return tablesOf(patterns, QUICK_STATES);
  } catch (error) {
    if (error instanceof TooLarge) return null;
    throw error;
  }
}

/** The tables of patterns. Throws bad_request for a pattern that is not a regular expression, or too large. */
export function stopTables(patterns: readonly string[]): StopTable[] {
  return tablesOf(patterns, MOST_STATES, (pattern, param) => {
    const together = patterns.length > 1 ? ', with those before it' : '';
    const problem = `has more than ${MOST_STATES} places${together}: make its repetitions shorter`;
    throw refusal(pattern, param, problem);
  });
}

/** `most`: most NFA states of all patterns. `onTooLarge` may throw an error in place of TooLarge. */
function tablesOf(
  patterns: readonly string[],
  most: number,
  onTooLarge: (pattern: string, param: string) => void = () => {},
): StopTable[] {
  let left = most;
  return patterns.map((pattern, i) => {
    const param = `stopRegex.${i}`;
    try {
      const table = tableOf(pattern, param, left);
      left -= table.canContinue.length;
      return table;
    } catch (error) {
      if (error instanceof TooLarge) onTooLarge(pattern, param);
      throw error;
    }
  });
}

function refusal(pattern: string, param: string, problem: string): GrammarError {
  return new GrammarError('bad_request', `the stop expression ${quote(pattern)} ${problem}`, { param });
}

function tableOf(pattern: string, param: string, places: number): StopTable {
  const alternatives = withParam(param, () => parseRegex(pattern));
  if (alternatives.some(({ lookaheads }) => lookaheads.length > 0))
    throw refusal(pattern, param, 'has look-ahead, and what follows is not there yet: write it without');
  const nfa = buildNfa({ kind: 'choice', parts: alternatives.map(({ rest }) => rest) }, places);
  const epsilon = listed(nfa.epsilon);
  const edges = listed(nfa.edges);
  const sets = listed(nfa.sets);
  return {
    stop: pattern,
    start: nfa.start,
    final: nfa.final,
    epsilonFrom: epsilon.from,
    epsilonTo: Int32Array.from(epsilon.all, ({ to }) => to),
    epsilonCondition: Uint8Array.from(epsilon.all, ({ condition }) => CONDITIONS.indexOf(condition)),
    edgeFrom: edges.from,
    edgeTo: Int32Array.from(edges.all, ({ to }) => to),
    edgeSet: Int32Array.from(edges.all, ({ set }) => set),
    setFrom: sets.from,
    ranges: Int32Array.from(sets.all),
    canContinue: reaching(nfa, (state) => nfa.edges[state]!.length > 0, 'end'),
    canEnd: reaching(nfa, (state) => state === nfa.final, null),
  };
}

/** Concatenates lists; `from`: index of the first item of each. */
function listed<T>(lists: readonly (readonly T[])[]): { from: Int32Array; all: T[] } {
  const from = new Int32Array(lists.length + 1);
  lists.forEach(({ length }, i) => (from[i + 1] = from[i]! + length));
  return { from, all: lists.flat() };
}

/** [states]: 1 where a state for which `isOne` holds is reached by epsilon edges, those with the condition `but` excepted. */
function reaching({ epsilon }: Nfa, isOne: (state: number) => boolean, but: Assertion | null): Uint8Array {
  const before: number[][] = epsilon.map(() => []);
  epsilon.forEach((edges, state) => {
    for (const { to, condition } of edges)
      if (condition === null || condition !== but) before[to]!.push(state);
  });
  const found = new Uint8Array(epsilon.length);
  const stack = epsilon.flatMap((_, state) => (isOne(state) ? [state] : []));
  for (let state = stack.pop(); state !== undefined; state = stack.pop()) {
    if (found[state]) continue;
    found[state] = 1;
    stack.push(...before[state]!);
  }
  return found;
}
