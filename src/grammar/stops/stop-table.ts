// Stop expressions as tables of numbers, which pass between threads as they are: all ways to match, one state after the other.

import { EngineError } from '../../files/error.ts';
import { TooLarge } from '../dfa.ts';
import { nfaOf, type Assertion, type Nfa } from '../expression.ts';
import { quote } from '../regex.ts';
import { parseRegex } from '../regex-parser.ts';

/** Lists by number: those of i stand from `from[i]` to `from[i + 1]`. */
export interface StopTable {
  /** The pattern. */
  stop: string;
  start: number;
  final: number;
  /** Where a state goes without a character, and under which condition: its place in CONDITIONS. */
  skipFrom: Int32Array;
  skipTo: Int32Array;
  skipIf: Uint8Array;
  /** Where a character of a set takes it. */
  edgeFrom: Int32Array;
  edgeTo: Int32Array;
  edgeSet: Int32Array;
  /** First and last characters of ranges, ascending. */
  setFrom: Int32Array;
  ranges: Int32Array;
  /** 1: from this state a character leads on. */
  goesOn: Uint8Array;
  /** 1: from this state the end may be reached without one. */
  mayEnd: Uint8Array;
}

export const CONDITIONS: readonly (Assertion | null)[] = [
  null,
  'start',
  'end',
  'wordBoundary',
  'noWordBoundary',
];

/** Of all expressions together; each place may have to be looked at for every character. */
const MOST_PLACES = 4000;
const MOST_LENGTH = 2 ** 16;
/** Expressions no longer, of no more places and without properties of Unicode, are compiled in some milliseconds. */
const QUICK_LENGTH = 256;
const QUICK_PLACES = 500;

/** Throws bad_request where they are too long even to be looked at. */
export function checkStopLength(patterns: readonly string[]): void {
  const length = patterns.reduce((sum, pattern) => sum + pattern.length, 0);
  if (length <= MOST_LENGTH) return;
  throw new EngineError(
    'bad_request',
    `the stop expressions have ${length} characters together, ${MOST_LENGTH} is the most: make them shorter`,
    { param: 'stopRegex' },
  );
}

/** null: it would take longer than others should wait. */
export function quickStopTables(patterns: readonly string[]): StopTable[] | null {
  const all = patterns.join('');
  if (all.length > QUICK_LENGTH || /\\p/i.test(all)) return null;
  try {
    return tablesOf(patterns, QUICK_PLACES);
  } catch (error) {
    if (error instanceof TooLarge) return null;
    throw error;
  }
}

/** Throws bad_request for what is no regular expression, is too large, or matches the empty text. */
export function stopTables(patterns: readonly string[]): StopTable[] {
  return tablesOf(patterns, MOST_PLACES, (pattern, param) => {
    const together = patterns.length > 1 ? ', with those before it' : '';
    const problem = `has more than ${MOST_PLACES} places${together}: make its repetitions shorter`;
    throw refusal(pattern, param, problem);
  });
}

/** `onTooLarge` may throw another error than TooLarge. */
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
      left -= table.goesOn.length;
      return table;
    } catch (error) {
      if (error instanceof TooLarge) onTooLarge(pattern, param);
      throw error;
    }
  });
}

function refusal(pattern: string, param: string, problem: string): EngineError {
  return new EngineError('bad_request', `the stop expression ${quote(pattern)} ${problem}`, { param });
}

function tableOf(pattern: string, param: string, places: number): StopTable {
  const alternatives = parsed(pattern, param);
  if (alternatives.some(({ looks }) => looks.length > 0))
    throw refusal(pattern, param, 'has look-ahead, and what follows is not there yet: write it without');
  const nfa = nfaOf({ kind: 'choice', parts: alternatives.map(({ rest }) => rest) }, places);
  const skips = listed(nfa.empty);
  const edges = listed(nfa.edges);
  const sets = listed(nfa.sets);
  return {
    stop: pattern,
    start: nfa.start,
    final: nfa.final,
    skipFrom: skips.from,
    skipTo: Int32Array.from(skips.all, ({ to }) => to),
    skipIf: Uint8Array.from(skips.all, (skip) => CONDITIONS.indexOf(skip.if)),
    edgeFrom: edges.from,
    edgeTo: Int32Array.from(edges.all, ({ to }) => to),
    edgeSet: Int32Array.from(edges.all, ({ set }) => set),
    setFrom: sets.from,
    ranges: Int32Array.from(sets.all),
    goesOn: leadingTo(nfa, (state) => nfa.edges[state]!.length > 0, 'end'),
    mayEnd: leadingTo(nfa, (state) => state === nfa.final, null),
  };
}

function parsed(pattern: string, param: string): ReturnType<typeof parseRegex> {
  try {
    return parseRegex(pattern);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new EngineError(error.code, error.message, { param, cause: error });
  }
}

function listed<T>(lists: readonly (readonly T[])[]): { from: Int32Array; all: T[] } {
  const from = new Int32Array(lists.length + 1);
  lists.forEach(({ length }, i) => (from[i + 1] = from[i]! + length));
  return { from, all: lists.flat() };
}

/** 1: the state is one of these, or comes to one without a character; not under the condition `but`. */
function leadingTo({ empty }: Nfa, isOne: (state: number) => boolean, but: Assertion | null): Uint8Array {
  const before: number[][] = empty.map(() => []);
  empty.forEach((skips, state) => {
    for (const { to, if: condition } of skips)
      if (condition === null || condition !== but) before[to]!.push(state);
  });
  const found = new Uint8Array(empty.length);
  const stack = empty.flatMap((_, state) => (isOne(state) ? [state] : []));
  for (let state = stack.pop(); state !== undefined; state = stack.pop()) {
    if (found[state]) continue;
    found[state] = 1;
    stack.push(...before[state]!);
  }
  return found;
}
