// Objects without the properties that a schema says nothing about. JSON Schema allows them wherever additionalProperties is left out; who asks
// for an object of declared properties does not expect a model to write others.

import { NONE, UNDECLARED, type ObjectShape } from './term.ts';

const closed = new WeakMap<ObjectShape, ObjectShape>();

/**
 * The readings of an object shape in the order of preference: with declared properties only, if it declares any, and as it is. The second one is
 * for schemas that no object of declared properties fulfils, as of `minProperties`.
 */
export function readingsOf(shape: ObjectShape): readonly ObjectShape[] {
  if (!declaresProperties(shape) || shape.classes.every(({ term }) => term !== UNDECLARED)) return [shape];
  let found = closed.get(shape);
  if (found === undefined) {
    const classes = shape.classes.map(({ names, term }) => ({
      names,
      term: term === UNDECLARED ? NONE : term,
    }));
    closed.set(shape, (found = { ...shape, classes }));
  }
  return [found, shape];
}

/** Whether a schema says something about properties beyond that some are required. */
export function declaresProperties({ named, classes }: ObjectShape): boolean {
  const terms = [...named.values(), ...classes.map(({ term }) => term)];
  return terms.some((term) => term !== UNDECLARED && term !== NONE);
}
