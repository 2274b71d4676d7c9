// The elements and properties that a schema has evaluated, which are its annotations, and the restrictions of unevaluatedItems and
// unevaluatedProperties on the others.

import { ANY_TEXT, type Dfa } from '../automata/dfa.ts';
import { ANY_ARRAY } from './array-shape.ts';
import type { Context } from './context.ts';
import { ANY_OBJECT, classesOf } from './object-shape.ts';
import { ANY_SHAPE } from './shape.ts';
import { ANY, UNDECLARED, type Shape, type Term } from './term.ts';

export interface Evaluated {
  /** Number of evaluated elements at the start. */
  readonly items: number;
  /** Elements that have one of these terms are evaluated as well. */
  readonly contains: readonly Term[];
  readonly names: 'all' | { readonly words: readonly string[]; readonly classes: readonly Dfa[] };
}

export const NOTHING_EVALUATED: Evaluated = { items: 0, contains: [], names: { words: [], classes: [] } };

export function evaluatesNothing({ items, contains, names }: Evaluated): boolean {
  return (
    items === 0 && contains.length === 0 && names !== 'all' && names.words.length + names.classes.length === 0
  );
}

export function evaluatedByBoth(a: Evaluated, b: Evaluated): Evaluated {
  return {
    items: Math.max(a.items, b.items),
    contains: [...a.contains, ...b.contains],
    names:
      a.names === 'all' || b.names === 'all'
        ? 'all'
        : {
            words: [...a.names.words, ...b.names.words],
            classes: [...a.names.classes, ...b.names.classes],
          },
  };
}

/** The values whose unevaluated elements have a term. */
export function unevaluatedItems({ items, contains }: Evaluated, term: Term, { terms }: Context): Shape {
  if (items === Infinity) return ANY_SHAPE;
  const prefix = new Array<Term>(items).fill(ANY);
  return { ...ANY_SHAPE, arrays: [{ ...ANY_ARRAY, prefix, rest: terms.some([term, ...contains]) }] };
}

/** The values whose unevaluated properties have a term. */
export function unevaluatedProperties({ names }: Evaluated, term: Term, context: Context): Shape {
  if (names === 'all') return ANY_SHAPE;
  const named = new Map(names.words.map((name) => [name, UNDECLARED]));
  const patterns = names.classes.map((each) => ({ names: each, term: UNDECLARED }));
  const classes = patterns.length === 0 ? [{ names: ANY_TEXT, term }] : classesOf(patterns, term, context);
  return { ...ANY_SHAPE, objects: [{ ...ANY_OBJECT, named, classes }] };
}
