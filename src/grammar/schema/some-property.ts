// Demands that some property break a rule, as `not` and `oneOf` make them of patternProperties and additionalProperties.

import { accepts, intersect, isEmpty, subtract } from '../dfa.ts';
import type { Context } from './context.ts';
import type { ObjectShape, SomeProperty } from './object-shape.ts';
import { NONE, type Term } from './term.ts';
import { wordsDfa } from '../word-dfa.ts';

/** Without the demands for some property: each is one known name's, or of a class where nothing else can be. */
export function withoutSome(
  shape: ObjectShape,
  isAlive: (term: Term) => boolean,
  context: Context,
): ObjectShape[] {
  const [demand, ...some] = shape.some;
  if (demand === undefined) return [shape];
  const rest = { ...shape, some };
  const met: ObjectShape[] = [];
  for (const [name, fulfils] of namedFor(demand, shape, context)) {
    if (!isAlive(fulfils)) continue;
    met.push({
      ...rest,
      named: new Map([...shape.named, [name, fulfils]]),
      required: new Set([...shape.required, name]),
    });
  }
  const classes = classesFor(demand, shape, context);
  if (classes.some(({ fulfils }) => isAlive(fulfils))) {
    const others = [...shape.named.values(), ...classes.map(({ fails }) => fails)];
    if (others.some(isAlive)) {
      const why = 'it asks that some property of no known name breaks a rule, and that is not counted';
      context.cannot(demand.at, 'properties', why);
    }
    met.push({ ...rest, min: Math.max(rest.min, 1) });
  }
  return met.flatMap((each) => withoutSome(each, isAlive, context));
}

/** Terms whose being alive withoutSome asks for. */
export function termsOfSome(shape: ObjectShape, context: Context): Term[] {
  return shape.some.flatMap((demand) => [
    ...namedFor(demand, shape, context).map(([, fulfils]) => fulfils),
    ...classesFor(demand, shape, context).flatMap(({ fulfils, fails }) => [fulfils, fails]),
  ]);
}

function namedFor({ names, term }: SomeProperty, shape: ObjectShape, { terms }: Context): [string, Term][] {
  return [...shape.named]
    .filter(([name]) => accepts(names, name))
    .map(([name, own]) => [name, terms.all([own, term])]);
}

/** Of each class: the term of what fulfils the demand, and that of what does not. */
function classesFor(
  { names, term }: SomeProperty,
  { named, classes }: ObjectShape,
  { terms, bounds }: Context,
): { fulfils: Term; fails: Term }[] {
  const known = wordsDfa(named.keys(), bounds);
  return classes.map((each) => {
    const others = subtract(each.names, known, bounds);
    const inside = intersect(others, names, bounds);
    const outside = subtract(others, names, bounds);
    const fails = isEmpty(others) ? NONE : terms.all([each.term, terms.not(term)]);
    return {
      fulfils: isEmpty(inside) ? NONE : terms.all([each.term, term]),
      fails: isEmpty(outside) ? fails : each.term,
    };
  });
}
