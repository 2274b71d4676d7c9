// Schemas that are not strict: only keywords that cannot be enforced are ignored.

import { expect, test, vi } from 'vitest';
import { compile } from '../../../src/grammar/compile/compile.ts';
import { CompileWork } from '../../../src/grammar/bounds/compile-work.ts';
import { limits } from '../../../src/grammar/automata/dfa.ts';
import { Grammar } from '../../../src/grammar/grammar.ts';
import { lenientRule } from '../../../src/grammar/schema/lenient-rule.ts';
import * as strictRule from '../../../src/grammar/schema/schema-rule.ts';
import { smallVocabulary } from '../small-vocabulary.ts';
import { accepts } from './judge.ts';

const vocabulary = smallVocabulary([]);

function grammarOf(schema: unknown): Grammar | null {
  const rule = lenientRule(schema, { path: 'tools.0.function.parameters', limits: limits() });
  return rule && new Grammar(compile(rule, vocabulary.available, limits()), vocabulary);
}

const closed = (properties: Record<string, unknown>): unknown => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

test.each<[name: string, schema: unknown, yes: unknown[], no: unknown[]]>([
  [
    'uniqueItems beside contains',
    closed({
      s: {
        type: 'array',
        items: { type: 'integer' },
        contains: { const: 1 },
        uniqueItems: true,
        maxItems: 2,
      },
    }),
    [{ s: [1, 2] }, { s: [1, 1] }],
    [{ s: 'Paris' }, { s: ['a'] }, { s: [2] }, { s: [1, 2, 3] }, {}],
  ],
  [
    'a pattern and a format',
    closed({
      a: { type: 'string', pattern: '(a)\\1', minLength: 2 },
      b: { type: 'string', format: 'idn-email' },
    }),
    [{ a: 'xyz', b: '(' }],
    [{ a: 'x', b: '' }, { a: 3, b: '' }, { a: 'xyz' }],
  ],
  [
    'a type that is none',
    closed({ a: { type: 'str', enum: ['x', 'y'] }, b: { type: 'integer' } }),
    [{ a: 'x', b: 1 }],
    [
      { a: 'z', b: 1 },
      { a: 'x', b: 'c' },
    ],
  ],
  [
    'a remote reference',
    closed({ a: { $ref: 'https://example.com/a.json', type: 'string' }, b: { $ref: '#/$defs/none' } }),
    [{ a: 'x', b: [1] }],
    [{ a: 1, b: 2 }, { a: 'x' }],
  ],
  [
    'what contradicts itself',
    closed({ a: { type: 'string', minLength: 3, maxLength: 2 }, b: false, c: { type: 'boolean' } }),
    [{ a: '', b: 1, c: true }],
    [
      { a: 1, b: 1, c: true },
      { a: '', b: 1, c: 1 },
    ],
  ],
  [
    'more than is left out one by one',
    {
      ...(closed({ s: { type: 'array', items: { type: 'integer' } } }) as object),
      allOf: Array.from({ length: 40 }, () => ({ not: { propertyNames: { format: 'idn-email' } } })),
    },
    [{ s: [1] }],
    [{ s: 'Paris' }, {}],
  ],
  [
    'a pattern of an object in declared order',
    { type: 'object', properties: { a: { type: 'string', pattern: '(a)\\1' }, b: { type: 'integer' } } },
    [{ a: 'x', b: 1 }],
    [{ b: 1, a: 'x' }, { z: 1 }],
  ],
  [
    'patternProperties, so that any others are allowed',
    {
      type: 'object',
      properties: { a: { type: 'integer' } },
      patternProperties: { '(x)\\1': { type: 'integer' } },
    },
    [{ a: 1, xx: 1 }, { a: 1 }],
    [{ a: 'x' }],
  ],
])('a keyword that cannot be enforced is left out: %s', (_name, schema, yes, no) => {
  const grammar = grammarOf(schema)!;
  for (const value of yes) expect([value, accepts(grammar, JSON.stringify(value))]).toEqual([value, true]);
  for (const value of no) expect([value, accepts(grammar, JSON.stringify(value))]).toEqual([value, false]);
});

test('a value that is no schema has no grammar', () => {
  expect(grammarOf([1])).toBeNull();
  expect(grammarOf(false)).toBeNull();
});

test('each attempt may take half of the work that is left, and simpler keywords get the rest', () => {
  const schema = closed({ a: { type: 'string', pattern: '(a|b)*a(a|b){14}' } });
  const held = (most: number) => {
    const rule = lenientRule(schema, { path: 'schema', limits: limits({ work: new CompileWork({ most }) }) });
    return new Grammar(compile(rule!, vocabulary.available, limits()), vocabulary);
  };
  expect(accepts(held(100_000_000), '{"a":"x"}')).toBe(false);
  expect(accepts(held(10_000_000), '{"a":"x"}')).toBe(true);
  expect(accepts(held(10_000_000), '{"a":1}')).toBe(false);
});

test('a compilation that was ended is not tried again with less', () => {
  const work = new CompileWork({ onSteps: () => false });
  const schema = closed({ a: { type: 'string', pattern: '(a|b)*a(a|b){14}' } });
  const attempts = vi.spyOn(strictRule, 'ruleOfSchema');
  expect(() => lenientRule(schema, { path: 'schema', limits: limits({ work }) })).toThrow(/ended/);
  expect(attempts).toHaveBeenCalledTimes(1);
  attempts.mockRestore();
});
