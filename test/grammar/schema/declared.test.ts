// Schemas in the reading that people expect: properties in declared order, and no others unless the schema allows them.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { DECLARED } from '../../../src/grammar/schema/schema-rule.ts';
import { accepts, grammarOf } from './judge.ts';

type Verdicts = Record<'allowed' | 'refused', unknown[]>;

function expectVerdicts(schema: object, { allowed, refused }: Verdicts, reading = DECLARED): void {
  const grammar = grammarOf(schema, reading);
  const verdict = (value: unknown): [unknown, boolean] => [value, accepts(grammar, JSON.stringify(value))];
  expect(allowed.map(verdict)).toEqual(allowed.map((value) => [value, true]));
  expect(refused.map(verdict)).toEqual(refused.map((value) => [value, false]));
  const isValid = new Ajv2020({ strict: false }).compile(schema);
  expect(allowed.filter((value) => !isValid(value))).toEqual([]);
}

const [text, number] = [{ type: 'string' }, { type: 'integer' }];

test('properties come in declared order, and optional ones may be left out', () => {
  const schema = {
    type: 'object',
    properties: { reasoning: text, capital: text, people: number },
    required: ['reasoning', 'capital'],
  };
  expectVerdicts(schema, {
    allowed: [
      { reasoning: '', capital: 'Rome' },
      { reasoning: '', capital: 'Rome', people: 3 },
    ],
    refused: [
      { capital: 'Rome', reasoning: '' },
      { reasoning: '', people: 3, capital: '' },
      { reasoning: '', capital: '', other: 1 },
      {},
    ],
  });
});

test('what the schema says about other properties holds', () => {
  const properties = { a: number };
  const other = { a: 1, x: 'y' };
  expectVerdicts(
    { properties, additionalProperties: true },
    { allowed: [other, { x: 1 }], refused: [{ x: 1, a: 1 }] },
  );
  expectVerdicts({ properties, additionalProperties: text }, { allowed: [other], refused: [{ a: 1, x: 2 }] });
  const patterns = { properties, patternProperties: { '^x': text } };
  expectVerdicts(patterns, {
    allowed: [other, { x1: 'z' }],
    refused: [
      { a: 1, x: 1 },
      { a: 1, y: 'z' },
    ],
  });
  const unevaluated = { properties, unevaluatedProperties: text };
  expectVerdicts(unevaluated, { allowed: [other], refused: [{ a: 1, x: 1 }] });
});

test('objects that declare nothing are free', () => {
  const free = [{}, { b: 1, a: [{ z: null }] }];
  for (const schema of [
    {},
    { type: 'object' },
    { type: 'object', maxProperties: 3 },
    { not: { required: ['c'] } },
  ])
    expectVerdicts(schema, { allowed: free, refused: [] });
  expectVerdicts(
    { type: 'object', required: ['a'] },
    { allowed: [{ a: 1 }, { b: 2, a: 1 }], refused: [{ b: 1 }] },
  );
  expectVerdicts(
    { type: 'object', propertyNames: { maxLength: 1 } },
    { allowed: [{ b: 1, a: 2 }], refused: [{ ab: 1 }] },
  );
});

test('subschemas that apply to the same object declare its properties together', () => {
  const both = { allOf: [{ properties: { a: number }, required: ['a'] }, { properties: { b: text } }] };
  expectVerdicts(both, {
    allowed: [{ a: 1 }, { a: 1, b: '' }],
    refused: [
      { a: 1, c: 1 },
      { b: '', a: 1 },
    ],
  });
  const reference = {
    $defs: { base: { properties: { id: number }, required: ['id'] } },
    $ref: '#/$defs/base',
    properties: { b: text },
  };
  expectVerdicts(reference, { allowed: [{ b: '', id: 1 }], refused: [{ b: '', id: 1, c: 1 }] });
  const conditional = {
    properties: { kind: { enum: ['a', 'b'] } },
    required: ['kind'],
    if: { properties: { kind: { const: 'b' } } },
    else: { properties: { extra: number }, required: ['extra'] },
  };
  expectVerdicts(conditional, {
    allowed: [{ kind: 'a', extra: 1 }, { kind: 'b' }],
    refused: [{ kind: 'a' }, { kind: 'b', more: 1 }],
  });
  const choice = {
    anyOf: [
      { properties: { a: number }, required: ['a'] },
      { properties: { b: text }, required: ['b'] },
    ],
  };
  expectVerdicts(choice, { allowed: [{ a: 1 }, { b: '' }], refused: [{ a: 1, c: 1 }, {}] });
});

test('names that are only required follow the declared ones', () => {
  const schema = { type: 'object', properties: { a: number }, required: ['z', 'a'] };
  expectVerdicts(schema, {
    allowed: [{ a: 1, z: [1] }],
    refused: [{ a: 1 }, { z: 1, a: 1 }, { a: 1, z: 1, y: 1 }],
  });
});

test('a schema that declared properties alone cannot fulfil allows others', () => {
  const schema = { type: 'object', properties: { a: number }, minProperties: 2 };
  expectVerdicts(schema, {
    allowed: [
      { a: 1, other: 2 },
      { x: 1, y: 2 },
    ],
    refused: [{ a: 1 }],
  });
});

test('names that bring others with them come in any order', () => {
  const schema = { type: 'object', properties: { a: number, b: number }, dependentRequired: { b: ['a'] } };
  expectVerdicts(schema, { allowed: [{ b: 1, a: 1 }, { a: 1 }], refused: [{ b: 1 }, { a: 1, c: 1 }] });
});

test('bounds on the number of properties hold in order', () => {
  const properties = { a: number, b: number, c: number, d: number };
  const schema = { type: 'object', properties, required: ['c'], minProperties: 2, maxProperties: 3 };
  expectVerdicts(schema, {
    allowed: [
      { a: 1, c: 1 },
      { c: 1, d: 1 },
      { a: 1, b: 1, c: 1 },
    ],
    refused: [{ c: 1 }, { a: 1, b: 1 }, { a: 1, b: 1, c: 1, d: 1 }],
  });
});

test('any order is a reading of its own', () => {
  const schema = { type: 'object', properties: { a: number, b: number } };
  expectVerdicts(
    schema,
    { allowed: [{ b: 1, a: 1 }], refused: [{ a: 1, c: 1 }] },
    { isOrdered: false, isClosed: true },
  );
});
