// Subschemas that only list their values. They are terms of these values, so that combinations with others are simplified early: the
// branches of a union that a constant tells apart need no complement of each other.

import type { SchemaObject } from './schema-value.ts';
import type { Json } from './term.ts';

/** More values are worked out as one shape. */
const MOST_VALUES = 16;

const ANNOTATIONS = new Set([
  ...['title', 'description', 'default', 'examples', '$comment', 'deprecated', 'readOnly', 'writeOnly'],
]);

/** The values of `const` or `enum` if nothing else restricts them; null: other keywords do, or there are many or values that are not scalars. */
export function listedValues(keywords: SchemaObject): Json[] | null {
  const { const: constant, enum: list } = keywords;
  if ((constant === undefined) === (list === undefined)) return null;
  const values: unknown = constant === undefined ? list : [constant];
  if (!Array.isArray(values) || values.length === 0 || values.length > MOST_VALUES) return null;
  if (!values.every(isPlainScalar)) return null;
  const others = Object.keys(keywords).filter(
    (name) => !['const', 'enum'].includes(name) && !ANNOTATIONS.has(name),
  );
  if (others.length === 0) return values;
  const isText = others.length === 1 && keywords['type'] === 'string';
  return isText && values.every((value) => typeof value === 'string') ? values : null;
}

function isPlainScalar(value: unknown): value is Json {
  if (typeof value === 'string') return !/\p{Surrogate}/u.test(value);
  return value === null || typeof value === 'boolean' || typeof value === 'number';
}
