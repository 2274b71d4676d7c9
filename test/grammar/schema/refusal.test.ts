// Keywords that cannot be enforced are refused with their place and a remedy; unknown keywords are ignored.

import { describe, expect, test } from 'vitest';
import { GrammarError } from '../../../src/grammar/bounds/grammar-error.ts';
import { ruleOfSchema } from '../../../src/grammar/schema/schema-rule.ts';
import { accepts, grammarOf } from './judge.ts';

function refusal(schema: unknown): string {
  try {
    ruleOfSchema(schema, { path: 'response_format.json_schema.schema' });
  } catch (error) {
    if (error instanceof GrammarError && error.code === 'bad_request') {
      expect(error.param).toBe('response_format.json_schema.schema');
      return error.message;
    }
    throw error;
  }
  throw new Error('it was taken');
}

const inFoo = (schema: unknown): unknown => ({ type: 'object', properties: { foo: schema } });

describe('a schema is refused with the place', () => {
  const cases: [name: string, schema: unknown, message: RegExp][] = [
    [
      'remote reference',
      inFoo({ $ref: 'https://example.com/a.json' }),
      /at #\/properties\/foo\/\$ref: .*nothing is fetched; put its target under \$defs/,
    ],
    [
      'reference to nothing',
      inFoo({ $ref: '#/$defs/x' }),
      /#\/properties\/foo\/\$ref: nothing lies at "#\/\$defs\/x"/,
    ],
    [
      'reference to itself',
      { $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
      /#\/\$defs\/a: it refers to itself/,
    ],
    [
      'unknown type',
      inFoo({ type: 'str' }),
      /#\/properties\/foo\/type: there is no type "str"; use one of null, boolean/,
    ],
    [
      'nullable',
      inFoo({ type: 'string', nullable: true }),
      /#\/properties\/foo\/nullable: .*add "null" to the type/,
    ],
    [
      'keyword of the wrong kind',
      inFoo({ minLength: '3' }),
      /#\/properties\/foo\/minLength: minLength must be a whole number from 0 on, not "3"/,
    ],
    [
      'exclusiveMinimum of draft 4',
      inFoo({ minimum: 3, exclusiveMinimum: true }),
      /exclusiveMinimum must be a number, not true/,
    ],
    ['required of draft 3', inFoo({ required: true }), /required must be a list of names/],
    ['pattern that is not a regular expression', inFoo({ pattern: '(' }), /#\/properties\/foo\/pattern: /],
    ['pattern with a back-reference', inFoo({ pattern: '(a)\\1' }), /#\/properties\/foo\/pattern: /],
    ['pattern with look-ahead within', inFoo({ pattern: '^a(?=b)b$' }), /#\/properties\/foo\/pattern: /],
    ...['idn-email', 'idn-hostname', 'ipv4network', 'ipv6network', 'ipvanynetwork'].map(
      (format): [string, unknown, RegExp] => [
        `format ${format}`,
        inFoo({ type: 'string', format }),
        /#\/properties\/foo\/format: the format [a-z0-9-]+ cannot be enforced, as .*; leave it out, or say with/,
      ],
    ),
    ['step of many digits', inFoo({ multipleOf: 0.1234567 }), /#\/properties\/foo\/multipleOf: .*remainders/],
    [
      'unknown dialect',
      { $schema: 'https://example.com/mine' },
      /\/\$schema: "https:\/\/example.com\/mine" is not a draft/,
    ],
    [
      'two keywords that contradict',
      inFoo(true) && { type: 'string', minLength: 3, maxLength: 2 },
      /no value fulfils it/,
    ],
    [
      'a required property that can never be',
      {
        $ref: '#/$defs/n',
        $defs: { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } }, required: ['next'] } },
      },
      /no value fulfils it/,
    ],
    [
      'a required property that contradicts itself',
      { type: 'object', properties: { x: { allOf: [{ type: 'string' }, { enum: [1] }] } }, required: ['x'] },
      / at #\/properties\/x: no value fulfils it/,
    ],
    [
      'an element that must be and cannot',
      {
        $ref: '#/$defs/list',
        $defs: { list: { type: 'array', prefixItems: [{}, { const: 3, minimum: 5 }], minItems: 2 } },
      },
      /#\/\$defs\/list\/prefixItems\/1: no value fulfils it/,
    ],
    [
      'parts that contradict each other',
      {
        type: 'object',
        properties: { x: { type: 'object', minProperties: 2, maxProperties: 1 }, y: false },
        required: ['x'],
      },
      /#\/properties\/x: no value fulfils it/,
    ],
    ['false', false, /^[^#]*: no value fulfils it/],
    ['empty enum', { enum: [] }, /no value fulfils it/],
    ['no schema at all', [1], /a schema must be an object or a boolean, not \[1\]/],
    [
      'deep nesting',
      Array.from({ length: 300 }).reduce<unknown>((inner) => ({ items: inner }), {}),
      /nest deeper than 200/,
    ],
  ];
  test.each(cases)('%s', (_name, schema, message) => {
    expect(refusal(schema)).toMatch(message);
  });
});

test('a cycle of objects in memory is refused', () => {
  const schema: Record<string, unknown> = { type: 'array' };
  schema['items'] = schema;
  expect(refusal(schema)).toMatch(/nest deeper/);
});

test('annotations, unknown names and unknown formats have no effect', () => {
  const grammar = grammarOf({
    ...{
      $id: 'https://example.com/a',
      title: 'A',
      description: 'B',
      default: 3,
      examples: [1],
      'x-order': 4,
    },
    ...{ type: 'string', format: 'colour', contentEncoding: 'base64', deprecated: true },
  });
  expect(accepts(grammar, '"red"')).toBe(true);
  expect(accepts(grammar, '3')).toBe(false);
});

test('tuples and dependencies of earlier drafts are enforced', () => {
  const tuple = grammarOf({ items: [{ type: 'string' }, { type: 'integer' }], additionalItems: false });
  expect(['["a",1]', '["a"]', '["a",1,2]', '[1]'].map((text) => accepts(tuple, text))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  const dependent = grammarOf({ dependencies: { a: ['b'], c: { required: ['d'] } } });
  const texts = ['{"a":1,"b":2}', '{"b":2}', '{"a":1}', '{"c":1}', '{"c":1,"d":2}'];
  expect(texts.map((text) => accepts(dependent, text))).toEqual([true, true, false, false, true]);
});

describe('the keywords of each draft', () => {
  const draft = (name: string, schema: object): object => ({
    $schema: `http://json-schema.org/${name}/schema#`,
    ...schema,
  });
  /** Not an object literal, because an object with a member `then` looks like a promise. */
  const then = (schema: unknown): object => JSON.parse(`{"then":${JSON.stringify(schema)}}`) as object;
  const string = { type: 'string' };
  const cases: [string, schema: object, yes: string[], no: string[]][] = [
    [
      'until draft 7, what is beside $ref is ignored',
      draft('draft-07', {
        properties: { a: { $ref: '#/definitions/a', maxLength: 1 } },
        definitions: { a: string },
      }),
      ['{"a":"long"}'],
      ['{"a":1}'],
    ],
    [
      'later it holds',
      draft('draft/2019-09', {
        properties: { a: { $ref: '#/$defs/a', maxLength: 1 } },
        $defs: { a: string },
      }),
      ['{"a":"b"}'],
      ['{"a":"long"}'],
    ],
    [
      'additionalItems without a list has no effect',
      { items: string, additionalItems: false },
      ['["a","b"]'],
      ['[1]'],
    ],
    [
      'draft 4 has exclusive bounds as booleans',
      draft('draft-04', {
        type: 'integer',
        minimum: 3,
        exclusiveMinimum: true,
        maximum: 5,
        exclusiveMaximum: false,
      }),
      ['4', '5'],
      ['3', '6'],
    ],
    [
      'draft 4 does not know if, then and const',
      draft('draft-04', { type: 'integer', const: 1, if: true, ...then(false) }),
      ['1', '2'],
      ['"1"'],
    ],
    [
      'draft 7 does',
      draft('draft-07', { type: 'integer', if: { minimum: 3 }, ...then({ const: 5 }) }),
      ['1', '5'],
      ['4'],
    ],
    [
      'draft 4 names subschemas by id',
      draft('draft-04', {
        id: 'http://example.com/root.json',
        properties: { a: { $ref: 'item.json' }, b: { $ref: '#b' } },
        definitions: { a: { id: 'item.json', type: 'integer' }, b: { id: '#b', type: 'null' } },
      }),
      ['{"a":1,"b":null}'],
      ['{"a":"1"}', '{"b":1}'],
    ],
    [
      'draft 7 does not know keywords of 2019',
      draft('draft-07', { dependentRequired: { a: ['b'] }, unevaluatedProperties: false }),
      ['{"a":1}'],
      [],
    ],
  ];
  test.each(cases)('%s', (_name, schema, yes, no) => {
    const grammar = grammarOf(schema);
    expect(yes.map((text) => [text, accepts(grammar, text)])).toEqual(yes.map((text) => [text, true]));
    expect(no.map((text) => [text, accepts(grammar, text)])).toEqual(no.map((text) => [text, false]));
  });
});
