// Objects without the properties that a schema says nothing about, and the order of those that it declares. JSON Schema allows any others
// wherever additionalProperties is left out, in any order; users who ask for an object of declared properties do not expect a model to write others.

import { termOf } from './object-shape.ts';
import { NONE, UNDECLARED, type ObjectShape } from './term.ts';

const closed = new WeakMap<ObjectShape, ObjectShape>();

/**
 * The objects of a shape with declared properties only, and those that declared ones require or bring with them. A shape that declares nothing,
 * or allows no other properties, is returned as it is.
 */
export function closedShape(shape: ObjectShape): ObjectShape {
  if (shape.declared?.closes !== true || shape.classes.every(({ term }) => term !== UNDECLARED)) return shape;
  let found = closed.get(shape);
  if (found === undefined) {
    const named = new Map(shape.named);
    for (const [name] of named)
      for (const other of shape.dependent.get(name) ?? [])
        if (!named.has(other)) named.set(other, termOf(shape, other));
    const classes = shape.classes.map(({ names, term }) => ({
      names,
      term: term === UNDECLARED ? NONE : term,
    }));
    closed.set(shape, (found = { ...shape, named, classes }));
  }
  return found;
}

/**
 * The names that are written in this order and before all others: those under `properties`, then those that are only required, and those that
 * others bring with them. [] where nothing is declared.
 */
export function namesInOrder({ declared, named, required, dependent }: ObjectShape): string[] {
  if (declared === null || declared.names.length === 0) return [];
  const others = [...dependent.values()].flatMap((names) => [...names]);
  return [...new Set([...declared.names, ...required, ...others])].filter((name) => named.has(name));
}
