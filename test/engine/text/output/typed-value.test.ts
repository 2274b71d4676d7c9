// Kinds of arguments for every form of a tool's schema.

import { expect, it } from 'vitest';
import { kindsOf } from '../../../../src/engine/text/output/typed-value.ts';

const DEFS = { 'a/b': { type: 'integer' }, 'x y': { type: 'boolean' } };

it.each([
  ['#/$defs/a~1b', ['integer']],
  ['#/$defs/x%20y', ['boolean']],
  ['#/$defs/missing', []],
  ['#/$defs/%zz', []],
  ['https://example.com/schema', []],
])('the type of a reference to %s is %j', (reference, kinds) => {
  const parameters = { $defs: DEFS, properties: { value: { $ref: reference } } };
  expect([...kindsOf(parameters, 'value')]).toEqual(kinds);
});
