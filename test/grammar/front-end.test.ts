// Constraints of requests: the texts that they accept, however divided into tokens; invalid ones are refused with their place.

import { describe, expect, test } from 'vitest';
import type { Grammar } from '../../src/grammar/grammar.ts';
import { compileConstraint } from './compile-constraint.ts';
import { object, text } from '../../src/grammar/rules/rule.ts';
import { taggedText } from '../../src/grammar/structural-tag.ts';
import { grammarFor, grammarOf, takes } from './texts.ts';

const ebnf = (grammar: string): Grammar => grammarFor({ type: 'ebnf', grammar });

describe('EBNF grammars', () => {
  test('may have an expression that begins with itself', () => {
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

  test('may have a text with very many meanings', () => {
    // After n letters there are n + 1 stacks, each of which may lead to a match.
    const grammar = ebnf('root ::= inner "."\ninner ::= "a" inner | "a" inner "c" | "b"');
    const whole = (a: number, c: number): string => `${'a'.repeat(a)}b${'c'.repeat(c)}.`;
    for (const [a, c] of [
      [60, 60],
      [60, 0],
      [60, 33],
      [150, 149],
    ] as const)
      expect([a, c, takes(grammar, whole(a, c))]).toEqual([a, c, true]);
    for (const [a, c] of [
      [60, 61],
      [0, 1],
    ] as const)
      expect([a, c, takes(grammar, whole(a, c))]).toEqual([a, c, false]);
    // Each letter doubles the number of readings.
    const pairs = ebnf(
      'root ::= many "!"\nmany ::= "(" many ")" | "(" many | many2\nmany2 ::= "x" many2 "x" | "x" many2 | "x"',
    );
    expect(takes(pairs, `${'('.repeat(50)}${'x'.repeat(90)}${')'.repeat(50)}!`)).toBe(true);
    expect(takes(pairs, `${'('.repeat(50)}${'x'.repeat(90)}${')'.repeat(51)}!`)).toBe(false);
  });

  test('may have a rule that begins and ends with itself, read in one way', () => {
    const available = new Uint8Array(256).fill(1);
    for (const [grammar, yes, no] of [
      ['root ::= e "."\ne ::= e e | [a-z ]', ['a.', `${'so it is '.repeat(30)}.`], ['.', 'a', 'A.']],
      ['root ::= e "."\ne ::= e "+" e | e "*" e | [a-z]', ['a.', 'a+b*c.'], ['a+.', 'ab.', '+a.']],
      ['root ::= e "."\ne ::= e e "x" | e e e | "b"', ['b.', 'bbx.', 'bbb.', 'bbxbb.'], ['bb.', 'bx.', 'x.']],
    ] as const) {
      for (const whole of yes) expect([whole, takes(ebnf(grammar), whole)]).toEqual([whole, true]);
      for (const whole of no) expect([whole, takes(ebnf(grammar), whole)]).toEqual([whole, false]);
    }
    for (const rule of ['e e', 'e "+" e']) {
      const { nodes } = compileConstraint(
        { type: 'ebnf', grammar: `root ::= e\ne ::= ${rule} | [a-z ]` },
        available,
      );
      expect(nodes.map(({ kind }) => kind)).toEqual(['lexeme']);
    }
    const nested = ebnf('root ::= e\ne ::= e "+" e | "-" e | "(" e ")" | "a"');
    expect(['a+-(a+a)+a', '--a', '-a+a'].map((whole) => takes(nested, whole))).toEqual([true, true, true]);
    expect(['a-', '-', 'a+(a'].map((whole) => takes(nested, whole))).toEqual([false, false, false]);
  });

  test('may be of both dialects', () => {
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
      expect(error).toMatchObject({
        code: 'bad_request',
        param: expect.stringMatching(/^constraint/) as string,
      });
    }
  });
});

describe('other front ends of grammars', () => {
  test('match the whole text by a regular expression', () => {
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

  test('follow a trigger in free text by one of its tags', () => {
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
});
