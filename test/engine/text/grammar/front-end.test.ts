// What requests ask for, as the texts that it lets through: walks through the mask end in matches, matches go through however
// they are cut into tokens, and what makes no sense is refused with its place.

import { describe, expect, test } from 'vitest';
import { compile } from '../../../../src/engine/text/grammar/compile.ts';
import { limits } from '../../../../src/engine/text/grammar/dfa.ts';
import { createGrammar, type Grammar } from '../../../../src/engine/text/grammar/grammar.ts';
import { compileProgram, createGrammars } from '../../../../src/engine/text/grammar/grammars.ts';
import { regexDfa } from '../../../../src/engine/text/grammar/regex.ts';
import {
  anyJson,
  array,
  object,
  regular,
  string,
  text,
  type Rule,
} from '../../../../src/engine/text/grammar/rule.ts';
import { taggedText } from '../../../../src/engine/text/grammar/structural-tag.ts';
import type { TextConstraint } from '../../../../src/engine/text/text-model.ts';
import { idsOf, pick, random, smallVocabulary } from './small-vocabulary.ts';

const WORDS = [
  'true',
  'false',
  'null',
  '{"',
  '":',
  '": ',
  '", "',
  '"}',
  '},',
  '[{',
  '}]',
  ' "',
  ': ',
  ',"',
  '10',
  '\\u00',
  'é',
  '\\n',
  'name',
  'na',
  '"a"',
  '```',
  '<f',
  '</f>',
];
const vocabulary = smallVocabulary(WORDS);
const utf8 = new TextEncoder();

const grammarOf = (rule: Rule): Grammar =>
  createGrammar(compile(rule, vocabulary.available, limits()), vocabulary);
const grammarFor = (constraint: TextConstraint): Grammar =>
  createGrammar(compileProgram(constraint, vocabulary.available), vocabulary);
const ebnf = (grammar: string): Grammar => grammarFor({ type: 'ebnf', grammar });
const maskOf = (constraint: ReturnType<Grammar['start']>): number[] => {
  const bits = new Uint32Array(Math.ceil(vocabulary.size / 32));
  constraint.mask(bits);
  return idsOf(bits);
};

/** Whether the mask lets the text through, cut into tokens at random. */
function takes(grammar: Grammar, whole: string, next: () => number = random(whole.length)): boolean {
  const bytes = utf8.encode(whole);
  const constraint = grammar.start();
  for (let at = 0; at < bytes.length;) {
    const fits = maskOf(constraint).filter((id) => {
      const token = vocabulary.bytes(id, false);
      return token.length > 0 && token.every((byte, i) => bytes[at + i] === byte);
    });
    if (fits.length === 0) return false;
    const id = pick(next, fits);
    for (const other of fits) constraint.fork().accept(other);
    constraint.accept(id);
    at += vocabulary.bytes(id, false).length;
  }
  return maskOf(constraint).includes(vocabulary.end);
}

/** A text by a walk through the mask, which takes to its end soon. */
function walk(grammar: Grammar, next: () => number): string {
  const constraint = grammar.start();
  const bytes: number[] = [];
  const closing = new Set([...'"}]0,:'].map((character) => WORDS.length + character.charCodeAt(0)));
  for (let step = 0; step < 4000; step++) {
    const forced = constraint.forced();
    const allowed = maskOf(constraint);
    if (forced.length > 0) expect(allowed).toContain(forced[0]);
    if (allowed.includes(vocabulary.end) && next() < 0.5)
      return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
    const closers = allowed.filter((id) => closing.has(id));
    const id = closers.length > 0 && next() < 0.5 + step / 400 ? pick(next, closers) : pick(next, allowed);
    if (id === vocabulary.end)
      return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
    constraint.accept(id);
    bytes.push(...vocabulary.bytes(id, false));
  }
  throw new Error(`no end: ${new TextDecoder().decode(Uint8Array.from(bytes)).slice(0, 200)}`);
}

describe('JSON', () => {
  const grammar = grammarFor({ type: 'json_object' });

  test.each([
    '{}',
    '{ }',
    '{"a":1,"b":[true,false,null,{"c":"d"}]}',
    '{"é😀": "\\u00e9\\ud83d\\ude00\\n", "": -1.5e-7}',
    '{\n  "a": [\n    1,\n    2\n  ],\n  "b": {}\n}',
    JSON.stringify({ 'q"\\\n\u0001': ['\u2028', 'x'.repeat(60)], a: { a: { a: {} } } }),
  ])('%s', (whole) => {
    expect(takes(grammar, whole)).toBe(true);
  });

  test.each([
    '',
    '[]',
    '{"a":1,}',
    '{"a":1,"a":2}',
    '{"a":01}',
    '{"a":"\n"}',
    '{a:1}',
    '{"a":"\\ud83d"}',
    '{"a":1}}',
    "{'a':1}",
    '{"n":1,"\\u006e":1}',
  ])('%s is refused', (whole) => {
    expect(takes(grammar, whole)).toBe(false);
  });

  test('walks end in objects without a name twice', () => {
    const next = random(3);
    for (let i = 0; i < 150; i++) {
      const whole = walk(grammar, next);
      const value: unknown = JSON.parse(whole);
      expect(typeof value === 'object' && !Array.isArray(value)).toBe(true);
      const names: string[] = [];
      JSON.parse(whole, function (this: object, name, each: unknown) {
        if (!Array.isArray(this)) names.push(name);
        return each;
      });
      // A name that came twice would have been read once.
      const strings = Array.from(whole.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g));
      expect(names.length - 1).toBe(strings.filter(([, colon]) => colon !== undefined).length);
    }
  });

  test('properties come in any order, once, and no choice leads astray', () => {
    const rule = object({
      properties: [
        { name: 'name', value: string() },
        { name: 'n', value: regular(regexDfa('10?', { whole: true })) },
        { name: 'never', value: null },
        { name: 'a', value: anyJson },
        { name: 'b', value: text('1') },
      ],
      patterns: [{ names: regexDfa('^x[01]$', { whole: false }), value: text('2') }],
      rest: null,
      required: ['name', 'n'],
      dependentRequired: { a: ['b'] },
      min: 3,
      max: 4,
    });
    const exact = grammarOf(rule);
    expect(takes(exact, '{"n":1,"name":"x","b":1}')).toBe(true);
    expect(takes(exact, '{"b":1,"a":[],"n":10,"name":""}')).toBe(true);
    expect(takes(exact, '{"x0":2,"x1":2,"n":1,"name":""}')).toBe(true);
    for (const wrong of [
      '{"n":1,"name":"x"}',
      '{"n":1,"name":"x","a":1}',
      '{"n":1,"name":"x","b":1,"x0":2,"x1":2}',
      '{"n":1,"name":"x","x2":2}',
      '{"n":1,"name":"x","never":1}',
      '{"n":1,"name":"x","n":1}',
      '{"x0":2,"x1":2,"b":1',
    ])
      expect([wrong, takes(exact, wrong)]).toEqual([wrong, false]);
    const next = random(4);
    for (let i = 0; i < 100; i++) {
      const value = JSON.parse(walk(exact, next)) as Record<string, unknown>;
      const names = Object.keys(value);
      expect(names).toEqual(expect.arrayContaining(['name', 'n']));
      expect(names.length).toBeGreaterThanOrEqual(3);
      expect(names.length).toBeLessThanOrEqual(4);
      if ('a' in value) expect(names).toContain('b');
    }
  });

  test('names that can run out never do', () => {
    const few = object({ names: regexDfa('^(?:[a-z]{2,3}|q)$', { whole: false }), rest: text('1'), min: 2 });
    const next = random(5);
    for (let i = 0; i < 20; i++)
      expect(Object.keys(JSON.parse(walk(grammarOf(few), next)) as object).length).toBeGreaterThan(1);
    const one = object({ names: regexDfa('^(?:a|b)$', { whole: false }), rest: text('1'), min: 2 });
    expect(takes(grammarOf(one), '{"a":1,"b":1}')).toBe(true);
    expect(takes(grammarOf(one), '{"a":1')).toBe(false);
    expect(() => grammarOf(object({ ...one, min: 3 }))).toThrow(/no text/);
  });

  test('arrays keep their prefix, their bounds and what they contain', () => {
    const [one, two] = [text('1'), text('2')];
    const rule = array({
      prefix: [{ matching: one, other: null }],
      rest: { matching: one, other: two },
      min: 2,
      max: 4,
      contains: { min: 2, max: 3 },
    });
    const exact = grammarOf(rule);
    for (const whole of ['[1,1]', '[1, 2, 1]', '[1,1,1,2]'])
      expect([whole, takes(exact, whole)]).toEqual([whole, true]);
    for (const whole of ['[1]', '[2,1]', '[1,2]', '[1,2,2,2]', '[1,1,1,1]', '[1,1,2,2,2]'])
      expect([whole, takes(exact, whole)]).toEqual([whole, false]);
    expect(() => grammarOf(array({ rest: null, min: 1 }))).toThrow(/no text/);
  });
});

describe('EBNF', () => {
  test('an expression grammar that begins with itself', () => {
    const grammar = ebnf(`
      # sums and products
      root   ::= expr
      expr   ::= expr ("+" | "-") term | term   /* left recursion */
      term   ::= term "*" factor | factor
      factor ::= [0-9]+ | "(" expr ")"
    `);
    for (const whole of ['1', '1+2*3', '(1-(2))*10', '((1))'])
      expect([whole, takes(grammar, whole)]).toEqual([whole, true]);
    for (const whole of ['', '1+', '(1', '1)', '+1'])
      expect([whole, takes(grammar, whole)]).toEqual([whole, false]);
  });

  test('both dialects', () => {
    const grammar = ebnf(String.raw`root ::= "a\x41\u00e9" [^a-c\n#x64]{2,3} #x62 ('x' - 'y')? ws
ws ::= [ \t]*`);
    expect(takes(grammar, 'aAéxyb')).toBe(true);
    expect(takes(grammar, 'aAéxyzbx \t')).toBe(true);
    expect(takes(grammar, 'aAéxdb')).toBe(false);
    expect(takes(ebnf('root ::= ([a-z] - [aeiou])+'), 'xyz')).toBe(true);
    expect(takes(ebnf('root ::= ([a-z] - [aeiou])+'), 'xaz')).toBe(false);
    expect(takes(ebnf('root ::= item ("," item)*\nitem ::= "a" | "b"\n'), 'a,b,a')).toBe(true);
  });

  test.each([
    ['start ::= "a"', /no rule named root/],
    ['root ::= missing', /line 1 of the grammar: no rule is named missing/],
    ['root ::= "a\n', /line 1 .*not closed/],
    ['root ::= "a"\nroot ::= "b"', /line 2 .*defined twice/],
    ['root ::= root "a"', /always begins with itself/],
    ['root ::= a "x"\na ::= root "y" | "z"', /begins with itself by way of others/],
    ['root ::= a\na ::= "x" a', /no text/],
    ['root ::= ( "a"', /not closed/],
    ['root = "a"', /::= is missing/],
    ['root ::= "a"{3,1}', /no sense/],
    ['root ::= [z-a]', /backwards/],
    ['root ::= ("" | a){0,5000}\na ::= "(" a ")" | "x"', /may be empty/],
  ])('%s is refused', (grammar, message) => {
    expect(() => ebnf(grammar)).toThrow(message);
    try {
      ebnf(grammar);
    } catch (error) {
      expect(error).toMatchObject({ code: 'bad_request' });
    }
  });
});

describe('other front ends', () => {
  test('a regular expression is for the whole text', () => {
    const grammar = grammarFor({ type: 'regex', pattern: '(true|null){2}|na(me)?' });
    for (const whole of ['truenull', 'name', 'na'])
      expect([whole, takes(grammar, whole)]).toEqual([whole, true]);
    for (const whole of ['true', 'namex', 'n'])
      expect([whole, takes(grammar, whole)]).toEqual([whole, false]);
    expect(() => grammarFor({ type: 'regex', pattern: '(' })).toThrow(
      expect.objectContaining({ code: 'bad_request', param: 'constraint.pattern' }),
    );
    expect(() => grammarFor({ type: 'regex', pattern: '(?:a|b)*a(?:a|b){25}' })).toThrow(/shorter/);
  });

  test('a trigger in free text is followed by one of its tags', () => {
    const rule = taggedText(
      ['<f', '```'],
      [
        { begin: '<f=a>', content: object(), end: '</f>' },
        { begin: '<f=b>', content: text('1'), end: '</f>' },
        { begin: '```', content: text('x'), end: '```' },
      ],
    );
    const grammar = grammarOf(rule);
    for (const whole of ['', 'free < é text', '<<f=b>1</f>', 'a<f=a>{"a":1}</f><f=b>1</f> b', '```x```<'])
      expect([whole, takes(grammar, whole)]).toEqual([whole, true]);
    for (const whole of ['<f', 'a <f=c>', '<f=b>2', '``` ', '<f=b>1</f><f'])
      expect([whole, takes(grammar, whole)]).toEqual([whole, false]);
    expect(() => taggedText(['<f'], [{ begin: '<g>', content: text(''), end: '' }])).toThrow(
      /none of the triggers/,
    );
  });

  test('a grammar is compiled once, and a bad one is tried again', async () => {
    let compiled = 0;
    const grammars = createGrammars(
      () => vocabulary,
      async (constraint, available) => {
        compiled++;
        return structuredClone(compileProgram(constraint, available));
      },
    );
    const [a, b] = await Promise.all([
      grammars.get({ type: 'regex', pattern: 'a' }),
      grammars.get({ type: 'regex', pattern: 'a' }),
    ]);
    expect(a).toBe(b);
    expect(compiled).toBe(1);
    expect(takes(a, 'a')).toBe(true);
    for (let i = 0; i < 2; i++)
      await expect(grammars.get({ type: 'regex', pattern: '(' })).rejects.toThrow(/not closed/);
    expect(compiled).toBe(3);
  });
});
