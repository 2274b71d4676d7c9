// Grammars of JSON: names in any order, none twice, usual spacing, and no dead ends.

import { describe, expect, test } from 'vitest';
import { regexDfa } from '../../../src/grammar/automata/regex.ts';
import { anyJson, array, object, regular, string, text } from '../../../src/grammar/rules/rule.ts';
import { compile } from '../../../src/grammar/compile/compile.ts';
import { limits } from '../../../src/grammar/automata/dfa.ts';
import { Grammar } from '../../../src/grammar/grammar.ts';
import { idsOf, random, smallVocabulary } from '../small-vocabulary.ts';
import { grammarFor, grammarOf, takes, walk } from '../texts.ts';

describe('the grammar of JSON', () => {
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
    // No unbounded space: one space, or one line break with its indentation.
    '{  }',
    '{\n\n}',
    '{"a":  1}',
    '{"a":1 ,"b":2}',
    '{} ',
    ' {}',
    `{\n${' '.repeat(41)}"a":1}`,
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
      // Parsing would drop a name that occurs twice.
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

test('marks of a conversation are not part of a JSON string, and their characters are', () => {
  const marked = smallVocabulary(['"', '<think>', 'a'], { marks: [1] });
  const masks = (rule: Parameters<typeof compile>[0], said: string): number[] => {
    const constraint = new Grammar(compile(rule, marked.available, limits()), marked).start();
    for (const id of marked.encode(said)) constraint.accept(id);
    const bits = new Uint32Array(Math.ceil(marked.size / 32));
    constraint.mask(bits);
    return idsOf(bits);
  };
  const inside = masks(string(), '"');
  expect(inside).not.toContain(1);
  expect(inside).toEqual(expect.arrayContaining([0, 2, 3 + '<'.charCodeAt(0)]));
  expect(masks(regular(regexDfa('"[^"]*"', { whole: true })), '"')).toContain(1);
});
