// Stops as automata that read a text a character at a time and never go back. Of an expression all ways to match are followed at once,
// each by where it began. After every character the text is judged as if it ended there, so that `$` and `\b` hold at its end.

import { EngineError } from '../../../files/error.ts';
import { TooLarge } from '../grammar/dfa.ts';
import { nfaOf, type Assertion, type Expression, type Nfa } from '../grammar/expression.ts';
import { quote } from '../grammar/regex.ts';
import { parseRegex } from '../grammar/regex-parser.ts';
import type { CodePoints } from '../grammar/code-points.ts';
import { WORD } from '../grammar/unicode.ts';

export interface StopAutomaton {
  /** The stop string, or the pattern. */
  readonly stop: string;
  /** Takes a character in; where a match that ends with it begins, the first of several; -1: there is none. Places count UTF-16 units. */
  step(code: number): number;
  /** Where the first of what may still become a match begins; Infinity: nothing may. */
  readonly open: number;
}

/** Places of an automaton; each may have to be looked at for every character. */
const MOST_PLACES = 4000;

/** Every text must be new to its automaton: one for each choice, by `begin`. */
export type StopAutomata = { begin(): StopAutomaton };

/** Throws bad_request for what is no regular expression, or matches the empty text. */
export function stopPattern(pattern: string, param: string): StopAutomata {
  const refuse = (problem: string): never => {
    throw new EngineError('bad_request', `the stop expression ${quote(pattern)} ${problem}`, { param });
  };
  const alternatives = parsed(pattern, param);
  if (alternatives.some(({ looks }) => looks.length > 0))
    refuse('has look-ahead, and what follows is not there yet: write it without');
  const choice: Expression = { kind: 'choice', parts: alternatives.map(({ rest }) => rest) };
  let nfa: Nfa;
  try {
    nfa = nfaOf(choice, MOST_PLACES);
  } catch (error) {
    if (error instanceof TooLarge)
      return refuse(`has more than ${MOST_PLACES} places: make its repetitions shorter`);
    throw error;
  }
  const empty = reach(nfa, new Map([[nfa.start, 0]]), { before: null, after: null });
  if (empty.has(nfa.final)) refuse('matches the empty text: let it match at least one character');
  return { begin: () => automaton(pattern, nfa) };
}

function parsed(pattern: string, param: string): ReturnType<typeof parseRegex> {
  try {
    return parseRegex(pattern);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new EngineError(error.code, error.message, { param, cause: error });
  }
}

/** Characters on both sides of a place; null: the text begins or ends there. */
interface Place {
  before: number | null;
  after: number | null;
}

function automaton(stop: string, nfa: Nfa): StopAutomaton {
  const goesOn = consuming(nfa);
  /** State → where the first way to it began. */
  let states = new Map<number, number>();
  let at = 0;
  let before: number | null = null;
  return {
    stop,
    step(code) {
      if (!states.has(nfa.start)) states.set(nfa.start, at);
      const next = new Map<number, number>();
      for (const [state, began] of reach(nfa, states, { before, after: code }))
        for (const { set, to } of nfa.edges[state]!)
          if (contains(nfa.sets[set]!, code)) earliest(next, to, began);
      states = next;
      at += code > 0xffff ? 2 : 1;
      before = code;
      const ends = new Map(states);
      return reach(nfa, ends, { before, after: null }).get(nfa.final) ?? -1;
    },
    get open() {
      let first = Infinity;
      for (const [state, began] of states) if (goesOn.has(state)) first = Math.min(first, began);
      return first;
    },
  };
}

function earliest(into: Map<number, number>, state: number, began: number): boolean {
  const known = into.get(state);
  if (known !== undefined && known <= began) return false;
  into.set(state, began);
  return true;
}

/** The states, and those that lie before the next character. */
function reach(nfa: Nfa, states: Map<number, number>, place: Place): Map<number, number> {
  const reached = new Map(states);
  // First ones first: each state is then looked at once.
  const queue = [...reached].sort(([, a], [, b]) => a - b);
  for (const [state, began] of queue) {
    if (reached.get(state)! < began) continue;
    const stack = [state];
    for (let one = stack.pop(); one !== undefined; one = stack.pop()) {
      for (const { to, if: condition } of nfa.empty[one]!)
        if ((condition === null || holds(condition, place)) && earliest(reached, to, began)) stack.push(to);
    }
  }
  return reached;
}

function holds(assertion: Assertion, { before, after }: Place): boolean {
  if (assertion === 'start') return before === null;
  if (assertion === 'end') return after === null;
  const boundary = isWord(before) !== isWord(after);
  return assertion === 'wordBoundary' ? boundary : !boundary;
}

function isWord(code: number | null): boolean {
  return code !== null && contains(WORD, code);
}

/** States from which a character leads on. */
function consuming({ edges, empty }: Nfa): ReadonlySet<number> {
  const from: number[][] = edges.map(() => []);
  empty.forEach((skips, state) => {
    for (const { to, if: condition } of skips) if (condition !== 'end') from[to]!.push(state);
  });
  const found = new Set<number>();
  const stack = edges.flatMap((each, state) => (each.length > 0 ? [state] : []));
  for (let state = stack.pop(); state !== undefined; state = stack.pop()) {
    if (found.has(state)) continue;
    found.add(state);
    stack.push(...from[state]!);
  }
  return found;
}

/** Sorted, not overlapping ranges: first, last, first, last … */
function contains(set: CodePoints, code: number): boolean {
  let low = 0;
  let high = set.length / 2 - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (code < set[2 * middle]!) high = middle - 1;
    else if (code > set[2 * middle + 1]!) low = middle + 1;
    else return true;
  }
  return false;
}
