// What an array may be: terms for the first elements and for the rest, its length, and how many elements fulfil given terms.

import type { Context } from './context.ts';
import { ANY, NONE, type Term } from './term.ts';

/** So many elements fulfil the term, from the place `from` on. */
export interface ElementCount {
  readonly term: Term;
  readonly from: number;
  readonly min: number;
  readonly max: number;
  /** The subschema it comes from. */
  readonly at: string;
}

export interface ArrayShape {
  readonly prefix: readonly Term[];
  readonly rest: Term;
  readonly min: number;
  readonly max: number;
  readonly counts: readonly ElementCount[];
  /** The subschema that asks for elements all different; null: none does. */
  readonly unique: string | null;
}

export const ANY_ARRAY: ArrayShape = {
  prefix: [],
  rest: ANY,
  min: 0,
  max: Infinity,
  counts: [],
  unique: null,
};

export const elementOf = ({ prefix, rest }: ArrayShape, at: number): Term => prefix[at] ?? rest;

/** null: no array is both. */
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

/** Counts of the same elements become one. */
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

/** Arrays outside: each alternative breaks one condition. */
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
