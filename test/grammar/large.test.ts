// Large grammars: those that have a fast way compile, and all others are refused by their size or their work, whatever stage they reach.

import { describe, expect, it } from 'vitest';
import { GrammarError } from '../../src/grammar/bounds/grammar-error.ts';
import type { TextConstraint } from '../../src/grammar/text-constraint.ts';
import { Grammar } from '../../src/grammar/grammar.ts';
import { compileConstraint } from './compile-constraint.ts';
import { smallVocabulary } from './small-vocabulary.ts';

const vocabulary = smallVocabulary([]);
const list = <T>(count: number, item: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => item(i));
const entries = (count: number, item: (i: number) => [string, unknown]): object =>
  Object.fromEntries(list(count, item));
const schema = (value: object): TextConstraint => ({ type: 'json_schema', schema: value });
const ebnf = (grammar: string): TextConstraint => ({ type: 'ebnf', grammar });

function accepts(grammar: Grammar, text: string): boolean {
  const matcher = grammar.start();
  const mask = new Uint32Array(Math.ceil(vocabulary.size / 32));
  for (const id of [...vocabulary.encode(text), vocabulary.end]) {
    matcher.mask(mask);
    if (((mask[id >>> 5]! >>> (id & 31)) & 1) === 0) return false;
    matcher.accept(id);
  }
  return true;
}

describe('large grammars compile, and accept exactly their texts', () => {
  const cases: Record<string, [TextConstraint, yes: string[], no: string[]]> = {
    'an enum of 8,000 integers': [
      schema({ enum: list(8000, (i) => 7 * i + 1) }),
      ['1', '8', '55994'],
      ['2', '56001', '-1', '1.0'],
    ],
    'an enum of 8,000 numbers with a fraction': [
      schema({ enum: list(8000, (i) => (37 * i + 1) / 100) }),
      ['0.01', '2959.64'],
      ['0.02', '2959.641'],
    ],
    'integers outside an enum of 300': [
      schema({ minimum: 0, maximum: 900, type: 'integer', not: { enum: list(300, (i) => 3 * i) } }),
      ['1', '899', '900'],
      ['0', '3', '897', '901'],
    ],
    'a choice of 2,000 constants': [
      schema({ anyOf: list(2000, (i) => ({ const: `c${i}` })) }),
      ['"c0"', '"c1999"'],
      ['"c2000"', '"c"'],
    ],
    'a choice of 300 objects': [
      schema({
        anyOf: list(300, (i) => ({
          type: 'object',
          properties: { kind: { const: i } },
          required: ['kind'],
          additionalProperties: false,
        })),
      }),
      ['{"kind":299}'],
      ['{"kind":300}'],
    ],
    '100 required properties': [
      schema({ type: 'object', required: list(100, (i) => `k${i}`) }),
      [JSON.stringify(entries(100, (i) => [`k${99 - i}`, i]))],
      ['{"k1":1}'],
    ],
    'EBNF of 20,000 rules in a choice': [
      ebnf(
        `root ::= ${list(20_000, (i) => `r${i}`).join(' | ')}\n${list(20_000, (i) => `r${i} ::= "a${i}"`).join('\n')}`,
      ),
      ['a0', 'a19999'],
      ['a20000'],
    ],
    'EBNF of 4,000 rules, each in the next': [
      ebnf(
        `root ::= r0\n${list(4000, (i) => `r${i} ::= "(" r${i + 1} ")" | "x"`).join('\n')}\nr4000 ::= "y"`,
      ),
      ['x', '((x))', '('.repeat(200) + 'x' + ')'.repeat(200)],
      ['y', '((x)'],
    ],
    '2,000 tags': [
      {
        type: 'structural_tag',
        triggers: ['<'],
        structures: list(2000, (i) => ({ begin: `<t${i}>`, schema: { const: i }, end: '</t>' })),
      },
      ['free <t1999>1999</t> text'],
      ['<t2000>', '<t1>2</t>'],
    ],
    'a trigger of 2,000 characters': [
      {
        type: 'structural_tag',
        triggers: ['ab'.repeat(1000)],
        structures: [{ begin: 'ab'.repeat(1000), schema: true, end: '!' }],
      },
      [`a${'ab'.repeat(1000)}1!`, 'ab'.repeat(999)],
      ['ab'.repeat(1000)],
    ],
  };
  it.each(Object.entries(cases))('%s', (_name, [source, yes, no]) => {
    const program = compileConstraint(source, vocabulary.available);
    const grammar = new Grammar(program, vocabulary);
    for (const text of yes) expect([text, accepts(grammar, text)]).toEqual([text, true]);
    for (const text of no) expect([text, accepts(grammar, text)]).toEqual([text, false]);
  });
});

describe('large grammars are refused before they are compiled', () => {
  const cases: Record<string, TextConstraint> = {
    '4,000 patterns of names': schema({
      patternProperties: entries(4000, (i) => [`^p${i}_`, { type: 'string' }]),
    }),
    '4,000 patterns anywhere in a name': schema({ patternProperties: entries(4000, (i) => [`x${i}`, {}]) }),
    '2,000 patterns': schema({ anyOf: list(2000, (i) => ({ type: 'string', pattern: `x${i}y` })) }),
    '2,000 steps': schema({ anyOf: list(2000, (i) => ({ type: 'integer', multipleOf: i + 2 })) }),
    'integers outside an enum of 3,000': schema({ type: 'integer', not: { enum: list(3000, (i) => 3 * i) } }),
    '30 patterns at once': schema({ allOf: list(30, (i) => ({ pattern: `x.{${i}}y` })) }),
    'a step of many remainders': schema({ multipleOf: 99.73, minimum: 0.001, maximum: 1e15 }),
    'counted repetitions in one another': {
      type: 'regex',
      pattern: '(?:(?:(?:a{0,30}b?){0,30}c?){0,30}d?)+',
    },
    'many subsets': { type: 'regex', pattern: '.*x.{18}' },
    '2,000 triggers': {
      type: 'structural_tag',
      triggers: list(2000, (i) => `<t${i}>`),
      structures: list(2000, (i) => ({ begin: `<t${i}>`, schema: true, end: '!' })),
    },
    '15,000 names': schema({ properties: entries(15_000, (i) => [`key${i}`, {}]) }),
    '20,000 required names': schema({ required: list(20_000, (i) => `key${i}`) }),
    '20,000 rules in a row': ebnf(
      `root ::= r0\n${list(20_000, (i) => `r${i} ::= "a${i}" r${i + 1}`).join('\n')}\nr20000 ::= "z"`,
    ),
  };
  it.each(Object.entries(cases))('%s', (_name, source) => {
    // A stage that counts too little of its work works the grammar out, for 10 s and more.
    let failure: unknown = null;
    try {
      compileConstraint(source, vocabulary.available, { most: 3_000_000 });
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeInstanceOf(GrammarError);
    expect((failure as GrammarError).code).toBe('bad_request');
  });
});
