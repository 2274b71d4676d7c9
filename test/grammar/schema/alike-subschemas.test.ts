// Subschemas that read the same become one.

import { expect, test } from 'vitest';
import { AlikeSubschemas } from '../../../src/grammar/schema/alike-subschemas.ts';
import { SchemaDocument } from '../../../src/grammar/schema/document.ts';

const NAME = { type: 'string', maxLength: 10 };

function nodesOf(a: unknown, b: unknown) {
  const document = new SchemaDocument({ properties: { a, b } }, 'schema');
  const [first, second] = ['a', 'b'].map((name) => document.child(document.root, 'properties', name));
  const alike = new AlikeSubschemas();
  return { first: first!, of: [alike.firstOf(first!), alike.firstOf(second!)] };
}

test('equal subschemas are replaced by the first of them', () => {
  const { first, of } = nodesOf(NAME, { ...NAME });
  expect(of).toEqual([first, first]);
  expect(of[1]).toBe(first);
});

test.each([
  ['they differ', NAME, { ...NAME, maxLength: 11 }],
  ['references name one', { ...NAME, $anchor: 'x' }, { ...NAME, $anchor: 'y' }],
  ['they are long', { enum: Array(1000).fill('name') }, { enum: Array(1000).fill('name') }],
])('equal subschemas are not shared if %s', (_, a, b) => {
  const { of } = nodesOf(a, b);
  expect(of[1]).not.toBe(of[0]);
});

test('long subschemas are not read to their end', () => {
  let reads = 0;
  const end = Object.defineProperty({}, 'x', { enumerable: true, get: () => ++reads });
  const { keywords, ...node } = nodesOf({ const: 'name '.repeat(1000) }, NAME).first;
  new AlikeSubschemas().firstOf({ ...node, keywords: { ...keywords, default: [end] } });
  expect(reads).toBe(0);
});
