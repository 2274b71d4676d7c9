// Arrays with counted terms or distinct elements as a finite automaton over elements. A state remembers the index, how many elements have
// each counted term, and which values are used.

import { countTexts, isInfiniteEverywhere } from '../automata/dfa-language.ts';
import type { Dfa } from '../automata/dfa.ts';
import { canonical } from '../json/json-value.ts';
import { elementOf } from './array-shape.ts';
import type { Context } from './context.ts';
import { nonStringScalars, scalarValues } from './finite-values.ts';
import { stringsOf } from './shape.ts';
import type { ArrayShape, Json, Shape, Term } from './term.ts';

/** A subset of the values of an element. */
export interface ElementKind {
  readonly term: Term;
  /** Indices of the counts that the element adds to. */
  readonly counted: readonly number[];
  /** Canonical text of the element if it can have one value only; used where elements must be distinct. */
  readonly value: string | null;
}

export interface ElementAutomaton {
  readonly states: readonly ElementState[];
}

export interface ElementState {
  /** Whether the array may end. */
  readonly accepts: boolean;
  readonly transitions: readonly { readonly term: Term; readonly to: number }[];
}

/** Limit on the terms whose elements are counted (contains). */
const MOST_COUNTS = 4;
/** Limit on the values that uniqueItems compares. */
const MOST_VALUES = 64;
/** Limit on the strings that are listed one by one. */
const MOST_STRINGS = 1000;
const MOST_STATES = 4_000;

/** Distinct elements that are strings or one of a few other scalars. */
export interface DifferingElements {
  readonly strings: Dfa;
  readonly others: readonly Json[];
}

/** null: elements need not be distinct, or may be others. */
export function differingElements(shape: ArrayShape, context: Context): DifferingElements | null {
  if (shape.unique === null || shape.max <= 1 || shape.counts.length > 0 || shape.prefix.length > 0)
    return null;
  const rest = context.shapeOf(shape.rest);
  if (!areListed(rest)) return null;
  const others = nonStringScalars(rest, MOST_VALUES);
  return others && { strings: stringsOf(rest, context), others };
}

/** Whether the strings are few, or never run out after any of their beginnings; others are compared as they are written. */
function areListed({ strings, longest }: Shape): boolean {
  if (longest < Infinity) return false;
  return isInfiniteEverywhere(strings) || (countTexts(strings)[0] ?? 0) <= MOST_STRINGS;
}

/** Whether elements must be distinct and are not few scalars, or strings beside few, so that they are compared as they are written. */
export function areCompared(shape: ArrayShape, context: Context): boolean {
  if (shape.unique === null || shape.max <= 1 || shape.counts.length > 0) return false;
  if (differingElements(shape, context) !== null) return false;
  const places = Array.from({ length: distinctPlaces(shape) + 1 }, (_, at) => elementOf(shape, at));
  return places.some((term) => scalarValues(term, MOST_VALUES, context) === null);
}

/** Whether an array has further conditions than prefix, rest and length. */
export const needsAutomaton = ({ unique, max, counts }: ArrayShape): boolean =>
  (unique !== null && max > 1) || counts.length > 0;

/** First index from which on all elements have equal conditions. */
export const distinctPlaces = ({ prefix, counts }: ArrayShape): number =>
  Math.max(prefix.length, ...counts.map(({ from }) => from));

/** The kinds of the element at an index; a kind may have no values. */
export function elementKindsAt(shape: ArrayShape, at: number, context: Context): ElementKind[] {
  const { terms } = context;
  const counts = shape.counts.flatMap((count, i) => (at < count.from ? [] : [{ ...count, i }]));
  if (counts.length > MOST_COUNTS) {
    context.cannot(counts.at(-1)!.at, 'contains', `more than ${MOST_COUNTS} terms are counted at once`);
  }
  let kinds: ElementKind[] = [{ term: elementOf(shape, at), counted: [], value: null }];
  if (shape.unique !== null && shape.max > 1) {
    const values = scalarValues(elementOf(shape, at), MOST_VALUES, context);
    if (values === null) {
      const why = `beside contains, elements are kept apart where they are at most ${MOST_VALUES} scalar values`;
      return context.cannot(shape.unique, 'uniqueItems', why);
    }
    kinds = values.map((value) => ({ term: terms.value(value), counted: [], value: canonical(value) }));
  }
  for (const { term, i } of counts) {
    kinds = kinds.flatMap((kind) => [
      { ...kind, term: terms.all([kind.term, term]), counted: [...kind.counted, i] },
      { ...kind, term: terms.all([kind.term, terms.not(term)]) },
    ]);
  }
  return kinds;
}

/** Builds the automaton of the valid arrays, from which all states reach an end. It starts in state 0, and has no states if no array is valid. */
export function elementAutomaton(
  shape: ArrayShape,
  isInhabited: (term: Term) => boolean,
  context: Context,
): ElementAutomaton {
  const places = distinctPlaces(shape);
  const kinds = Array.from({ length: places + 1 }, (_, at) =>
    elementKindsAt(shape, at, context).filter(({ term }) => isInhabited(term)),
  );
  const lastPlace = Math.max(places, shape.min, shape.max === Infinity ? 0 : shape.max);
  const numbers = new Map<string, number>();
  const found: { at: number; counts: number[]; used: string[] }[] = [];
  const number = (at: number, counts: number[], used: string[]): number => {
    const key = [at, counts.join(), ...used].join(' ');
    let state = numbers.get(key);
    if (state === undefined) {
      numbers.set(key, (state = found.push({ at, counts, used }) - 1));
      if (state >= MOST_STATES) {
        const place = shape.unique ?? shape.counts[0]!.at;
        const keyword = shape.unique === null ? 'contains' : 'uniqueItems';
        context.cannot(place, keyword, `keeping count of the elements takes more than ${MOST_STATES} states`);
      }
    }
    return state;
  };
  number(
    0,
    shape.counts.map(() => 0),
    [],
  );
  const transitions: ElementState['transitions'][number][][] = [];
  for (let state = 0; state < found.length; state++) {
    const { at, counts, used } = found[state]!;
    transitions.push(
      kinds[Math.min(at, places)]!.flatMap(({ term, counted, value }) => {
        if (at >= shape.max || (value !== null && used.includes(value))) return [];
        const next = counts.map((count, i) => count + Number(counted.includes(i)));
        if (next.some((count, i) => count > shape.counts[i]!.max)) return [];
        const capped = next.map((count, i) =>
          shape.counts[i]!.max === Infinity ? Math.min(count, shape.counts[i]!.min) : count,
        );
        const nowUsed = value === null ? used : [...used, value].toSorted();
        return [{ term, to: number(Math.min(at + 1, lastPlace), capped, nowUsed) }];
      }),
    );
  }
  const accepting = found.map(
    ({ at, counts }) => at >= shape.min && counts.every((count, i) => count >= shape.counts[i]!.min),
  );
  return { states: withoutDeadEnds(accepting, transitions) };
}

/** Removes the transitions to states from which no array can be completed; states keep their indices. */
function withoutDeadEnds(
  accepting: boolean[],
  transitions: ElementState['transitions'][number][][],
): ElementState[] {
  const before: number[][] = accepting.map(() => []);
  transitions.forEach((list, from) => list.forEach(({ to }) => before[to]!.push(from)));
  const useful = new Set(accepting.flatMap((is, i) => (is ? [i] : [])));
  for (const state of useful) for (const from of before[state]!) useful.add(from);
  if (!useful.has(0)) return [];
  return accepting.map((accepts, i) => ({
    accepts,
    transitions: transitions[i]!.filter(({ to }) => useful.has(to)),
  }));
}
