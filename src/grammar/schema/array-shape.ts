// Operations on the shapes of arrays.

import type { Context } from './context.ts';
import { ANY, NONE, type ArrayShape, type ElementCount, type Term } from './term.ts';

/** Shape that every array has. */
export const ANY_ARRAY: ArrayShape = {
  prefix: [],
  rest: ANY,
  min: 0,
  max: Infinity,
  counts: [],
  unique: null,
};

/** The term of the element at an index. */
export const elementOf = ({ prefix, rest }: ArrayShape, at: number): Term => prefix[at] ?? rest;

/** null: the intersection is empty. */
export function intersectArrays(a: ArrayShape, b: ArrayShape, context: Context): ArrayShape | null {
  const min = Math.max(a.min, b.min);
  let max = Math.min(a.max, b.max);
  const prefix: Term[] = [];
  for (let at = 0; at < Math.max(a.prefix.length, b.prefix.length) && at < max; at++) {
    const term = context.terms.all([elementOf(a, at), elementOf(b, at)]);
    if (term === NONE || (at < min && context.isEmpty(term))) max = at;
    else prefix.push(term);
  }
  if (min > max) return null;
  const rest = context.terms.all([a.rest, b.rest]);
  return {
    prefix,
    rest,
    min,
    max,
    counts: joinCounts([...a.counts, ...b.counts]),
    unique: a.unique ?? b.unique,
  };
}

/** Joins counts of equal terms from equal indices on. */
function joinCounts(counts: ElementCount[]): ElementCount[] {
  const joined: ElementCount[] = [];
  for (const count of counts) {
    const at = joined.findIndex(({ term, from }) => term === count.term && from === count.from);
    const same = joined[at];
    if (same === undefined) joined.push(count);
    else joined[at] = { ...same, min: Math.max(same.min, count.min), max: Math.min(same.max, count.max) };
  }
  return joined;
}

/** The arrays outside a shape, as a union of shapes that each violate one condition. */
export function complementArray(shape: ArrayShape, context: Context): ArrayShape[] {
  const { terms } = context;
  const outside: ArrayShape[] = [];
  const add = (members: Partial<ArrayShape>): void => void outside.push({ ...ANY_ARRAY, ...members });
  for (const [at, term] of shape.prefix.entries()) {
    if (term === ANY) continue;
    const before = new Array<Term>(at).fill(ANY);
    add({ prefix: [...before, terms.not(term)], min: at + 1 });
  }
  const from = shape.prefix.length;
  if (shape.rest === NONE) add({ min: from + 1 });
  else if (shape.rest !== ANY) {
    add({ counts: [{ term: terms.not(shape.rest), from, min: 1, max: Infinity, at: context.place() }] });
  }
  if (shape.min > 0) add({ max: shape.min - 1 });
  if (shape.max < Infinity) add({ min: shape.max + 1 });
  for (const count of shape.counts) {
    if (count.min > 0) add({ counts: [{ ...count, min: 0, max: count.min - 1 }] });
    if (count.max < Infinity) add({ counts: [{ ...count, min: count.max + 1, max: Infinity }] });
  }
  if (shape.unique !== null)
    context.cannot(shape.unique, 'uniqueItems', 'arrays with equal elements cannot be asked for');
  return outside;
}
