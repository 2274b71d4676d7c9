// Conditions that some property has a term. The complement of patternProperties or additionalProperties has them, for `not` and `oneOf`.

import { accepts, intersect, isEmpty, subtract } from '../dfa.ts';
import type { Context } from './context.ts';
import { wordsDfa } from '../word-dfa.ts';
import { NONE, type ObjectShape, type SomeProperty, type Term } from './term.ts';

/**
 * A union of shapes without such conditions: each is fulfilled by a known name, or by a class of names if every property must fulfil it.
 * Refuses other conditions on classes.
 */
export function withoutSomeProperties(
  shape: ObjectShape,
  isInhabited: (term: Term) => boolean,
  context: Context,
): ObjectShape[] {
  const [condition, ...some] = shape.some;
  if (condition === undefined) return [shape];
  const rest = { ...shape, some };
  const met: ObjectShape[] = [];
  for (const [name, fulfils] of namedFor(condition, shape, context)) {
    if (!isInhabited(fulfils)) continue;
    met.push({
      ...rest,
      named: new Map([...shape.named, [name, fulfils]]),
      required: new Set([...shape.required, name]),
    });
  }
  const classes = classTermsFor(condition, shape, context);
  if (classes.some(({ fulfils }) => isInhabited(fulfils))) {
    const others = [...shape.named.values(), ...classes.map(({ fails }) => fails)];
    if (others.some(isInhabited)) {
      const why = 'it asks that some property of no known name breaks a rule, and that is not counted';
      context.cannot(condition.at, 'properties', why);
    }
    met.push({ ...rest, min: Math.max(rest.min, 1) });
  }
  return met.flatMap((each) => withoutSomeProperties(each, isInhabited, context));
}

/** Terms that withoutSomeProperties() passes to `isInhabited`. */
export function termsOfSomeProperties(shape: ObjectShape, context: Context): Term[] {
  return shape.some.flatMap((condition) => [
    ...namedFor(condition, shape, context).map(([, fulfils]) => fulfils),
    ...classTermsFor(condition, shape, context).flatMap(({ fulfils, fails }) => [fulfils, fails]),
  ]);
}

/** Returns the property names that can fulfil the condition, each with the term that its value then has. */
function namedFor({ names, term }: SomeProperty, shape: ObjectShape, { terms }: Context): [string, Term][] {
  return [...shape.named]
    .filter(([name]) => accepts(names, name))
    .map(([name, own]) => [name, terms.all([own, term])]);
}

/** [classes]: the term of the properties that fulfil the condition, and that of those that do not. */
function classTermsFor(
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
