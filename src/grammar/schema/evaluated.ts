// Which elements and properties a schema has looked at (its annotations), and what unevaluatedItems and unevaluatedProperties ask
// of the others.

import { ANY_TEXT, type Dfa } from '../dfa.ts';
import { ANY_ARRAY } from './array-shape.ts';
import type { Context } from './context.ts';
import { ANY_OBJECT, classesOf } from './object-shape.ts';
import { ANY_SHAPE, type Shape } from './shape.ts';
import { ANY, type Term } from './term.ts';

export interface Seen {
  /** How many elements from the first on. */
  readonly items: number;
  /** Elements that fulfil one of these are seen, too. */
  readonly contains: readonly Term[];
  readonly names: 'all' | { readonly words: readonly string[]; readonly classes: readonly Dfa[] };
}

export const NOTHING_SEEN: Seen = { items: 0, contains: [], names: { words: [], classes: [] } };

export function seesNothing({ items, contains, names }: Seen): boolean {
  return (
    items === 0 && contains.length === 0 && names !== 'all' && names.words.length + names.classes.length === 0
  );
}

export function seenByBoth(a: Seen, b: Seen): Seen {
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

/** Arrays whose elements not seen are of this term. */
export function unseenItems({ items, contains }: Seen, term: Term, { terms }: Context): Shape {
  if (items === Infinity) return ANY_SHAPE;
  const prefix = new Array<Term>(items).fill(ANY);
  return { ...ANY_SHAPE, arrays: [{ ...ANY_ARRAY, prefix, rest: terms.some([term, ...contains]) }] };
}

/** Objects whose properties not seen are of this term. */
export function unseenProperties({ names }: Seen, term: Term, context: Context): Shape {
  if (names === 'all') return ANY_SHAPE;
  const named = new Map(names.words.map((name) => [name, ANY]));
  const patterns = names.classes.map((each) => ({ names: each, term: ANY }));
  const classes = patterns.length === 0 ? [{ names: ANY_TEXT, term }] : classesOf(patterns, term, context);
  return { ...ANY_SHAPE, objects: [{ ...ANY_OBJECT, named, classes }] };
}
