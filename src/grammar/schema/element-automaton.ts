// Arrays element by element: what each place may hold, and what must be remembered on the way (how many elements have fulfilled a
// counted term, which values are used up). Serves arrays with counts and those whose elements must differ.

import type { Dfa } from '../dfa.ts';
import { elementOf, type ArrayShape } from './array-shape.ts';
import type { Context } from './context.ts';
import { otherScalars, scalarsOf } from './finite-values.ts';
import { stringsOf } from './shape.ts';
import { canonical, type Json, type Term } from './term.ts';

/** One way for an element to be. */
export interface ElementKind {
  readonly term: Term;
  /** Counts that the element adds to. */
  readonly counted: readonly number[];
  /** The element's one value, where values must differ. */
  readonly value: string | null;
}

export interface ElementWalk {
  readonly states: readonly WalkState[];
}

export interface WalkState {
  readonly end: boolean;
  readonly steps: readonly { readonly term: Term; readonly to: number }[];
}

/** Counted terms: an element fulfils each or does not. */
const MOST_COUNTS = 4;
/** Values that may have to differ: as many are remembered. */
const MOST_VALUES = 64;
const MOST_STATES = 4_000;

/** Elements that must differ, of one kind at every place: strings, and scalars that are few. */
export interface DifferingElements {
  readonly strings: Dfa;
  readonly others: readonly Json[];
}

/** null: elements may be alike, or are not all of that kind. */
export function differingElements(shape: ArrayShape, context: Context): DifferingElements | null {
  if (shape.unique === null || shape.max <= 1 || shape.counts.length > 0 || shape.prefix.length > 0)
    return null;
  const rest = context.shapeOf(shape.rest);
  const others = otherScalars(rest, MOST_VALUES);
  return others && { strings: stringsOf(rest, context), others };
}

/** Whether the array cannot be said by places and a length alone. */
export const needsWalk = ({ unique, max, counts }: ArrayShape): boolean =>
  (unique !== null && max > 1) || counts.length > 0;

/** From this place on all elements are alike. */
export const placesOf = ({ prefix, counts }: ArrayShape): number =>
  Math.max(prefix.length, ...counts.map(({ from }) => from));

/** The ways of the element at a place, values of none included. */
export function kindsAt(shape: ArrayShape, at: number, context: Context): ElementKind[] {
  const { terms } = context;
  const counts = shape.counts.flatMap((count, i) => (at < count.from ? [] : [{ ...count, i }]));
  if (counts.length > MOST_COUNTS) {
    context.cannot(counts.at(-1)!.at, 'contains', `more than ${MOST_COUNTS} terms are counted at once`);
  }
  let kinds: ElementKind[] = [{ term: elementOf(shape, at), counted: [], value: null }];
  if (shape.unique !== null && shape.max > 1) {
    const values = scalarsOf(elementOf(shape, at), MOST_VALUES, context);
    if (values === null) {
      const why = `elements are kept apart where all are strings, or at most ${MOST_VALUES} other scalar values`;
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

/** Every way through the array that can be finished; no states where there is none. The start is state 0. */
export function walkElements(
  shape: ArrayShape,
  isAlive: (term: Term) => boolean,
  context: Context,
): ElementWalk {
  const places = placesOf(shape);
  const kinds = Array.from({ length: places + 1 }, (_, at) =>
    kindsAt(shape, at, context).filter(({ term }) => isAlive(term)),
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
  const steps: WalkState['steps'][number][][] = [];
  for (let state = 0; state < found.length; state++) {
    const { at, counts, used } = found[state]!;
    steps.push(
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
  const ends = found.map(
    ({ at, counts }) => at >= shape.min && counts.every((count, i) => count >= shape.counts[i]!.min),
  );
  return { states: withoutDeadEnds(ends, steps) };
}

/** Keeps the numbers: states that no array ends from lose their steps. */
function withoutDeadEnds(ends: boolean[], steps: WalkState['steps'][number][][]): WalkState[] {
  const before: number[][] = ends.map(() => []);
  steps.forEach((list, from) => list.forEach(({ to }) => before[to]!.push(from)));
  const useful = new Set(ends.flatMap((end, i) => (end ? [i] : [])));
  for (const state of useful) for (const from of before[state]!) useful.add(from);
  if (!useful.has(0)) return [];
  return ends.map((end, i) => ({ end, steps: steps[i]!.filter(({ to }) => useful.has(to)) }));
}
