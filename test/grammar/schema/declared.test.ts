// Schemas in the reading that people expect: properties in declared order, and no others unless the schema allows them.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { DECLARED } from '../../../src/grammar/schema/schema-rule.ts';
import { random } from '../small-vocabulary.ts';
import { accepts, grammarOf, nextBytes } from './judge.ts';

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

test('additionalProperties and patternProperties hold for other properties', () => {
  const properties = { a: number };
  const other = { a: 1, x: 'y' };
  expectVerdicts(
    { properties, additionalProperties: true },
    { allowed: [other, { x: 1 }], refused: [{ x: 1, a: 1 }] },
  );
  expectVerdicts({ properties, additionalProperties: text }, { allowed: [other], refused: [{ a: 1, x: 2 }] });
  const patterns = { properties, patternProperties: { '^x': text, '^[yz]$': text } };
  expectVerdicts(patterns, {
    allowed: [other, { x1: 'z' }, { z: '', y: '' }, { a: 1, z: '', x1: '', y: '' }],
    refused: [
      { a: 1, x: 1 },
      { a: 1, b: 'z' },
      { y: '', a: 1 },
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
  const byName = { type: 'object', propertyNames: { enum: ['a', 'b'] }, additionalProperties: number };
  expectVerdicts(byName, { allowed: [{ b: 1, a: 1 }, { a: 1 }], refused: [{ c: 1 }] });
  const negated = { type: 'object', not: { properties: { kind: { const: 'x' } } } };
  expectVerdicts(negated, { allowed: [{ kind: 'y', z: 1 }], refused: [{ kind: 'x' }, {}] });
});

test('an empty list of properties declares that there are none', () => {
  expectVerdicts({ type: 'object', properties: {} }, { allowed: [{}], refused: [{ a: 1 }] });
  const patterns = { type: 'object', patternProperties: { '^x': number } };
  expectVerdicts(patterns, { allowed: [{}, { xb: 1, xa: 1 }], refused: [{ a: 1 }] });
});

test('the properties of listed objects come in the order of the list', () => {
  const schema = { enum: [{ b: 1, a: { d: 1, c: 2 } }, { c: 1 }] };
  expectVerdicts(schema, {
    allowed: [{ b: 1, a: { d: 1, c: 2 } }, { c: 1 }],
    refused: [{ b: 1, a: { c: 2, d: 1 } }, { a: { d: 1, c: 2 }, b: 1 }, {}],
  });
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
  const elsewhere = {
    if: { properties: { kind: { const: 'a' } }, required: ['kind'] },
    else: { properties: { list: text }, required: ['list'] },
  };
  expectVerdicts(elsewhere, {
    allowed: [{ kind: 'a' }, { kind: 'b', list: '' }, { list: '' }],
    refused: [{ kind: 'b' }, { list: '', kind: 'b' }, { kind: 'a', list: '' }, { kind: 'b', list: '', n: 1 }],
  });
  const choice = {
    anyOf: [
      { properties: { a: number }, required: ['a'] },
      { properties: { b: text }, required: ['b'] },
    ],
  };
  expectVerdicts(choice, { allowed: [{ a: 1 }, { b: '' }], refused: [{ a: 1, c: 1 }, {}] });
});

test('required names without a declaration follow the declared ones', () => {
  const merged = {
    required: ['b', 'z', 'a'],
    allOf: [{ properties: { a: number } }, { properties: { b: number } }],
  };
  expectVerdicts(merged, { allowed: [{ a: 1, b: 1, z: 1 }], refused: [{ b: 1, z: 1, a: 1 }] });
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

test('a schema that repeats itself without end in declared properties allows others', () => {
  const $defs = {
    node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, minProperties: 1 },
  };
  const schema = {
    $defs,
    type: 'object',
    properties: { first: { $ref: '#/$defs/node' } },
    required: ['first'],
  };
  expectVerdicts(schema, {
    allowed: [{ first: { x: 1 } }, { first: { next: { next: { x: 1 } } } }],
    refused: [{ first: {} }, { first: { x: 1 }, y: 1 }, {}],
  });
});

test('dependentRequired names keep the order, and bring undeclared ones', () => {
  const properties = { a: number, b: number, c: number };
  const schema = { type: 'object', properties, dependentRequired: { c: ['a'], a: ['b'] }, maxProperties: 2 };
  expectVerdicts(schema, {
    allowed: [{ b: 1 }, { a: 1, b: 1 }, {}],
    refused: [{ b: 1, a: 1 }, { c: 1 }, { a: 1, b: 1, c: 1 }],
  });
  const undeclared = { type: 'object', properties: { a: number }, dependentRequired: { a: ['z'] } };
  expectVerdicts(undeclared, { allowed: [{ a: 1, z: [] }, {}], refused: [{ a: 1 }, { z: 1, a: 1 }] });
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

const NAMES = ['a', 'b', 'c', 'd'];

/** All lists of different names. */
function listsOf(names: readonly string[]): string[][] {
  return [
    [],
    ...names.flatMap((name) =>
      listsOf(names.filter((other) => other !== name)).map((rest) => [name, ...rest]),
    ),
  ];
}

test('random objects of few names: those in order are allowed, and no name is offered that cannot be followed', () => {
  const next = random(77);
  const some = (share: number): string[] => NAMES.filter(() => next() < share);
  const textOf = (names: readonly string[]): string => `{${names.map((name) => `"${name}":1`).join()}`;
  let restricted = 0;
  for (let round = 0; round < 60; round++) {
    const schema = {
      type: 'object',
      properties: Object.fromEntries(NAMES.map((name) => [name, number])),
      required: some(0.15),
      minProperties: Math.floor(next() * 4),
      maxProperties: 2 + Math.floor(next() * 3),
      ...(next() < 0.7 && {
        dependentRequired: Object.fromEntries(some(0.5).map((name) => [name, some(0.3)])),
      }),
    };
    const isValid = new Ajv2020({ strict: false }).compile(schema);
    const allowed = listsOf(NAMES).filter(
      (names) => names.join() === names.toSorted().join() && isValid(JSON.parse(`${textOf(names)}}`)),
    );
    if (allowed.length === 0) continue; // others are allowed then
    restricted++;
    const grammar = grammarOf(schema, DECLARED);
    for (const names of listsOf(NAMES)) {
      const [begun, isAllowed] = [textOf(names), allowed.some((each) => each.join() === names.join())];
      expect([schema, begun, accepts(grammar, `${begun}}`)]).toEqual([schema, begun, isAllowed]);
    }
    for (const names of new Set(allowed.flatMap((each) => each.map((_, at) => each.slice(0, at))))) {
      const followers = allowed.filter(
        (each) => each.length > names.length && names.every((name, at) => each[at] === name),
      );
      const constraint = grammar.start();
      const begun = `${textOf(names)}${names.length > 0 ? ',' : ''}"`;
      for (const byte of new TextEncoder().encode(begun)) constraint.accept(byte);
      const offered = NAMES.filter((name) => nextBytes(constraint).includes(name.charCodeAt(0)));
      expect([schema, begun, offered]).toEqual([
        schema,
        begun,
        NAMES.filter((name) => followers.some((each) => each[names.length] === name)),
      ]);
    }
  }
  expect(restricted).toBeGreaterThan(30);
});

test('any_order is a reading of its own', () => {
  const schema = { type: 'object', properties: { a: number, b: number } };
  expectVerdicts(
    schema,
    { allowed: [{ b: 1, a: 1 }], refused: [{ a: 1, c: 1 }] },
    { isOrdered: false, isClosed: true, isPlain: true },
  );
});
