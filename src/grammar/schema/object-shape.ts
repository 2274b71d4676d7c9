// Operations on the shapes of objects.

import { accepts, ANY_TEXT, intersect, isEmpty, subtract, unite, type Dfa } from '../automata/dfa.ts';
import type { Context } from './context.ts';
import {
  NONE,
  UNDECLARED,
  type Declared,
  type NameClass,
  type ObjectShape,
  type Term,
  type Way,
} from './term.ts';
import { wordsDfa } from '../automata/word-dfa.ts';

/** The shape that every object matches. */
export const ANY_OBJECT: ObjectShape = {
  named: new Map(),
  classes: [{ names: ANY_TEXT, term: UNDECLARED }],
  required: new Set(),
  dependent: new Map(),
  min: 0,
  max: Infinity,
  conditions: [],
  declared: null,
};

/** The term of the property of a name. */
export function termOf({ named, classes }: ObjectShape, name: string): Term {
  return named.get(name) ?? classes.find(({ names }) => accepts(names, name))?.term ?? NONE;
}

/** Returns the intersection of two shapes; null if it is empty. */
export function intersectObjects(a: ObjectShape, b: ObjectShape, context: Context): ObjectShape | null {
  const required = new Set([...a.required, ...b.required]);
  const named = new Map<string, Term>();
  for (const name of new Set([...a.named.keys(), ...b.named.keys(), ...required])) {
    const term = context.terms.all([termOf(a, name), termOf(b, name)]);
    if (required.has(name) && context.isEmpty(term)) return null;
    named.set(name, term);
  }
  const min = Math.max(a.min, b.min);
  const max = Math.min(a.max, b.max);
  if (Math.max(min, required.size) > max) return null;
  const dependent = new Map(a.dependent);
  for (const [name, others] of b.dependent) {
    dependent.set(name, new Set([...(dependent.get(name) ?? []), ...others]));
  }
  const classes = intersectClasses(a.classes, b.classes, context);
  return {
    named,
    classes,
    required,
    dependent,
    min,
    max,
    conditions: [...a.conditions, ...b.conditions],
    declared: declaredByBoth(a.declared, b.declared),
  };
}

function declaredByBoth(a: Declared | null, b: Declared | null): Declared | null {
  if (a === null || b === null) return a ?? b;
  return { names: [...new Set([...a.names, ...b.names])], closes: a.closes || b.closes };
}

function intersectClasses(
  a: readonly NameClass[],
  b: readonly NameClass[],
  { terms, bounds }: Context,
): readonly NameClass[] {
  if (a.length === 1) return b.map(({ names, term }) => ({ names, term: terms.all([a[0]!.term, term]) }));
  if (b.length === 1) return a.map(({ names, term }) => ({ names, term: terms.all([term, b[0]!.term]) }));
  const met = new Map<Term, Dfa>();
  for (const x of a) {
    for (const y of b) {
      const names = intersect(x.names, y.names, bounds);
      if (isEmpty(names)) continue;
      const term = terms.all([x.term, y.term]);
      const others = met.get(term);
      met.set(term, others === undefined ? names : unite(others, names, bounds));
    }
  }
  return [...met].map(([term, names]) => ({ names, term }));
}

/** The objects outside a shape, as a union of shapes. */
export function complementObject(shape: ObjectShape, context: Context): ObjectShape[] {
  const outside: ObjectShape[] = [];
  const add = (members: Partial<ObjectShape>): void => void outside.push({ ...ANY_OBJECT, ...members });
  const ways = waysOutside(shape, context);
  const [only] = ways;
  if (ways.length === 1 && only!.kind === 'has')
    add({ named: new Map([[only!.name, only!.term]]), required: new Set([only!.name]) });
  else if (ways.length === 1 && only!.kind === 'lacks') add({ named: new Map([[only!.name, NONE]]) });
  else if (ways.length > 0) add({ conditions: [{ ways, at: context.place() }] });
  for (const [name, others] of shape.dependent) {
    for (const other of others)
      add({
        required: new Set([name]),
        named: new Map([
          [name, UNDECLARED],
          [other, NONE],
        ]),
      });
  }
  if (shape.min > 0) add({ max: shape.min - 1 });
  if (shape.max < Infinity) add({ min: shape.max + 1 });
  return [...outside, ...shape.conditions.flatMap(({ ways }) => withoutWays(ways, context) ?? [])];
}

/** The ways in which the properties of an object can break a shape. */
function waysOutside(shape: ObjectShape, { terms, bounds }: Context): Way[] {
  const ways: Way[] = [];
  for (const [name, term] of shape.named)
    if (term.kind !== 'any') ways.push({ kind: 'has', name, term: terms.not(term) });
  for (const name of shape.required) ways.push({ kind: 'lacks', name });
  for (const { names, term } of shape.classes) {
    if (term.kind === 'any') continue;
    const other =
      shape.named.size === 0 ? names : subtract(names, wordsDfa(shape.named.keys(), bounds), bounds);
    if (!isEmpty(other)) ways.push({ kind: 'other', names: other, term: terms.not(term) });
  }
  return ways;
}

/** The objects for which none of the ways holds; null: there are none. */
function withoutWays(ways: readonly Way[], context: Context): ObjectShape | null {
  const { terms } = context;
  return ways
    .map((way): ObjectShape => {
      if (way.kind === 'has') return { ...ANY_OBJECT, named: new Map([[way.name, terms.not(way.term)]]) };
      if (way.kind === 'other')
        return {
          ...ANY_OBJECT,
          classes: classesOf([{ ...way, term: terms.not(way.term) }], UNDECLARED, context),
        };
      return { ...ANY_OBJECT, named: new Map([[way.name, UNDECLARED]]), required: new Set([way.name]) };
    })
    .reduce<ObjectShape | null>((a, b) => a && intersectObjects(a, b, context), ANY_OBJECT);
}

/** Disjoint classes of names by the patterns that they match. The term of a class is the intersection of those of its patterns; `rest`: without one. */
export function classesOf(
  patterns: readonly NameClass[],
  rest: Term,
  { terms, bounds }: Context,
): readonly NameClass[] {
  let classes: { names: Dfa; of: Term[] }[] = [{ names: ANY_TEXT, of: [] }];
  for (const { names, term } of patterns) {
    classes = classes
      .flatMap((each) => [
        { names: intersect(each.names, names, bounds), of: [...each.of, term] },
        { names: subtract(each.names, names, bounds), of: each.of },
      ])
      .filter((each) => !isEmpty(each.names));
  }
  return classes.map(({ names, of }) => ({ names, term: of.length === 0 ? rest : terms.all(of) }));
}

/** The shape restricted to objects whose names are in `names`. */
export function withNames(shape: ObjectShape, names: Dfa, context: Context): ObjectShape {
  if (names === ANY_TEXT) return shape;
  const classes = classesOf([{ names, term: UNDECLARED }], NONE, context);
  return {
    ...shape,
    named: new Map([...shape.named].map(([name, term]) => [name, accepts(names, name) ? term : NONE])),
    classes: intersectClasses(shape.classes, classes, context),
  };
}
