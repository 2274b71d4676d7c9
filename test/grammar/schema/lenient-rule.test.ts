// Schemas that are not strict: only keywords that cannot be enforced are ignored.

import { expect, test, vi } from 'vitest';
import { compile } from '../../../src/grammar/compile.ts';
import { limits } from '../../../src/grammar/dfa.ts';
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
    'uniqueItems',
    closed({ s: { type: 'array', items: { type: 'integer' }, uniqueItems: true, maxItems: 2 } }),
    [{ s: [1, 2] }, { s: [1, 1] }],
    [{ s: 'Paris' }, { s: ['a'] }, { s: [1, 2, 3] }, {}],
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
])('%s is left out', (_name, schema, yes, no) => {
  const grammar = grammarOf(schema)!;
  for (const value of yes) expect([value, accepts(grammar, JSON.stringify(value))]).toEqual([value, true]);
  for (const value of no) expect([value, accepts(grammar, JSON.stringify(value))]).toEqual([value, false]);
});

test('of what is no schema nothing is held', () => {
  expect(grammarOf([1])).toBeNull();
  expect(grammarOf(false)).toBeNull();
});

/** Returns a clock with which only plain schemas compile in time. */
function slow(): () => void {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  const make = strictRule.ruleOfSchema;
  const rule = vi.spyOn(strictRule, 'ruleOfSchema').mockImplementation((schema, options) => {
    if (JSON.stringify(schema).includes('maxLength')) now = options.limits!.deadline + 1;
    return make(schema, options);
  });
  return () => {
    clock.mockRestore();
    rule.mockRestore();
  };
}

test('what takes too long is left out only when no more time comes', () => {
  const schema = closed({ a: { type: 'string', maxLength: 3 } });
  const restore = slow();
  try {
    const options = (milliseconds: number) => ({ path: 'schema', limits: limits({ milliseconds }) });
    expect(() => lenientRule(schema, options(200))).toThrow('more than 0.2 s');
    expect(lenientRule(schema, options(5000))).not.toBeNull();
  } finally {
    restore();
  }
});
