// Schemas whose oneOf or not asks that some property breaks a rule, in more ways than there could be alternatives for. ajv judges all objects of
// few names and values.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { accepts, grammarOf, nextBytes } from './judge.ts';

/** Objects of some of the names, each with one of the values. */
function objectsOf(names: readonly string[], values: readonly unknown[]): Record<string, unknown>[] {
  return names.reduce<Record<string, unknown>[]>(
    (found, name) => found.flatMap((one) => [one, ...values.map((value) => ({ ...one, [name]: value }))]),
    [{}],
  );
}

function expectSameAsAjv(schema: object, values: readonly unknown[]): void {
  const isValid = new Ajv2020({ strict: false, validateSchema: false }).compile(schema);
  const grammar = grammarOf(schema);
  const judged = values.map((value) => {
    const text = JSON.stringify(value);
    return { text, accepted: accepts(grammar, text), valid: isValid(value) };
  });
  expect(judged.filter(({ accepted, valid }) => accepted !== valid)).toEqual([]);
  expect(judged.some(({ valid }) => valid)).toBe(true);
  expect(judged.some(({ valid }) => !valid)).toBe(true);
}

const integers = (...names: string[]): object =>
  Object.fromEntries(names.map((name) => [name, { type: 'integer' }]));

test('oneOf takes branches that share objects, with many properties each', () => {
  const branch = (i: number): object => ({
    properties: { own: { const: i }, ...integers(...Array.from({ length: 8 }, (_, j) => `p${i}${j}`)) },
  });
  const schema = { type: 'object', oneOf: [0, 1, 2, 3, 4].map(branch) };
  expectSameAsAjv(schema, objectsOf(['own', 'p00', 'p13', 'p47'], [0, 1, 'x']));
});

test('conditions take properties of no known name that break a rule', () => {
  const schema = {
    type: 'object',
    oneOf: [
      { properties: { a: { type: 'integer' } }, additionalProperties: { type: 'string' } },
      {
        properties: { b: { type: 'integer' } },
        additionalProperties: { type: ['string', 'null'], maxLength: 1 },
      },
    ],
  };
  expectSameAsAjv(schema, objectsOf(['a', 'b', 'c', 'd'], [1, 'x', 'long', null]));
});

test('constants that tell branches apart are taken where they occur', () => {
  const branch = (kind: string, property: string): object => ({
    properties: {
      kind: { const: kind },
      value: { required: [property], type: 'object', properties: integers(property) },
    },
  });
  const schema = { type: 'object', oneOf: ['a', 'b', 'c', 'd'].map((kind) => branch(kind, `of ${kind}`)) };
  const values = [1, { 'of a': 1 }, { 'of b': 2, 'of a': 'x' }, { 'of c': 1, 'of d': 1 }];
  expectSameAsAjv(schema, [
    ...objectsOf(['value', 'other'], values),
    ...['a', 'c', 'e'].flatMap((kind) => values.map((value) => ({ kind, value }))),
  ]);
});

test('a condition holds beside a bound on the number of properties', () => {
  const not = { properties: { a: { type: 'integer' }, b: { type: 'string' } }, required: ['c'] };
  expectSameAsAjv({ type: 'object', maxProperties: 2, not }, objectsOf(['a', 'b', 'c'], [1, 'x']));
  expectSameAsAjv({ type: 'object', minProperties: 2, not }, objectsOf(['a', 'b', 'c'], [1, 'x']));
  const few = { patternProperties: { '^[ab]$': {} }, additionalProperties: false, minProperties: 2 };
  const some = { properties: { a: { type: 'integer' }, b: { type: 'string' } } };
  expectSameAsAjv({ type: 'object', ...few, not: some }, objectsOf(['a', 'b', 'c'], [1, 'x']));
});

test('a condition holds on names that a pattern counts in thousands', () => {
  const schema = {
    type: 'object',
    patternProperties: { '^[a-z]{3}$': { type: 'integer' } },
    additionalProperties: false,
    not: { patternProperties: { '^[a-m]': { maximum: 5 }, '^z': { minimum: 3 } } },
  };
  expectSameAsAjv(schema, objectsOf(['abc', 'zzz', 'other'], [1, 7]));
});

/** Objects of `count` names among which every number below `numbers` is a value. */
const permuted = (count: number, numbers: number): object => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, {}])),
  additionalProperties: false,
  allOf: Array.from({ length: numbers }, (_, i) => ({
    not: { additionalProperties: { not: { const: i } } },
  })),
});

test('conditions that leave no name free hold', () => {
  const grammar = grammarOf(permuted(12, 12));
  const object = (values: readonly unknown[]): string =>
    JSON.stringify(Object.fromEntries(values.map((value, i) => [`p${i}`, value])));
  const numbers = Array.from({ length: 12 }, (_, i) => i);
  expect(accepts(grammar, object(numbers.toReversed()))).toBe(true);
  expect(accepts(grammar, object([0, ...numbers.slice(0, -1)]))).toBe(false);
  expect(accepts(grammar, object(['x']))).toBe(false);
});

test('a condition that every object meets leaves no object outside', () => {
  const any = { properties: { a: { anyOf: [{ type: 'string' }, { not: { type: 'string' } }] } } };
  const not = { anyOf: [{ not: { anyOf: [{ not: any }, { const: 5 }] } }, { const: 6 }] };
  expect(() => grammarOf({ type: 'object', not })).toThrow('no value fulfils it');
  expect(accepts(grammarOf({ type: ['object', 'number'], not }), '{}')).toBe(false);
});

test('more conditions than names hold', () => {
  expect(() => grammarOf(permuted(2, 3))).toThrow('no value fulfils it');
  const few = { type: 'object', patternProperties: { '^x[ab]$': {} }, additionalProperties: false };
  const allOf = [1, 2, 3].map((value) => ({
    not: { patternProperties: { '^x': { not: { const: value } } } },
  }));
  expect(() => grammarOf({ ...few, allOf })).toThrow('no value fulfils it');
});

test('an object is not closed before its conditions are met, and can always be completed', () => {
  const schema = {
    type: 'object',
    properties: integers('a', 'b'),
    additionalProperties: false,
    not: { properties: { a: { maximum: 9 }, b: { maximum: 9 } } },
  };
  const grammar = grammarOf(schema);
  const after = (text: string): (number | null)[] => {
    const constraint = grammar.start();
    for (const byte of new TextEncoder().encode(text)) constraint.accept(byte);
    return nextBytes(constraint);
  };
  const code = (character: string): number => character.charCodeAt(0);
  expect(after('{')).not.toContain(code('}'));
  expect(after('{"a":1')).not.toContain(code('}'));
  expect(after('{"a":12')).toContain(code('}'));
  expect(after('{"a":1,"b":1')).not.toContain(code('}'));
  expect(after('{"a":1,"b":1').some((byte) => byte !== null && byte >= code('0') && byte <= code('9'))).toBe(
    true,
  );
});

test('objects of thousands of properties hold', () => {
  const names = Array.from({ length: 5_000 }, (_, i) => `property_${i}`);
  const schema = { type: 'object', properties: integers(...names), additionalProperties: false };
  const grammar = grammarOf(schema);
  expect(accepts(grammar, '{"property_4999":1}')).toBe(true);
  expect(accepts(grammar, '{"property_5000":1}')).toBe(false);
});
