// Trees of formats: the texts that they accept, judged by xgrammar, and the errors of invalid ones.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { constraint } from '../../src/engine/text/request/constraint-rules.ts';
import type { TextFormat } from '../../src/engine/text/calls/text-model.ts';
import { grammarFor, takes, vocabulary } from './texts.ts';

const golden = JSON.parse(
  readFileSync(new URL('../golden/structural-tags.json', import.meta.url), 'utf8'),
) as { cases: { format: TextFormat; texts: Record<string, boolean> }[] };

test.each(golden.cases)('the format $format', ({ format, texts }) => {
  constraint({ type: 'format', format }, 'constraint');
  const grammar = grammarFor({ type: 'format', format });
  const taken = Object.fromEntries(Object.keys(texts).map((whole) => [whole, takes(grammar, whole)]));
  expect(taken).toEqual(texts);
});

test('schemas are read as declared, in any order where the format says so, and whole where the constraint is not strict', () => {
  const json_schema = { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } };
  const texts = ['{"a":1,"b":1}', '{"b":1,"a":1}', '{"c":1}'];
  const taken = (any_order?: boolean, strict?: boolean): boolean[] => {
    const schema: TextFormat = {
      type: 'json_schema',
      json_schema,
      ...(any_order !== undefined && { any_order }),
    };
    const format: TextFormat = {
      type: 'tag',
      begin: 'x',
      content: { type: 'or', elements: [schema] },
      end: 'y',
    };
    const whole = { type: 'format' as const, format, ...(strict !== undefined && { strict }) };
    constraint(whole, 'constraint');
    return texts.map((text) => takes(grammarFor(whole), `x${text}y`));
  };
  expect(taken()).toEqual([true, false, false]);
  expect(taken(true)).toEqual([true, true, false]);
  expect(taken(undefined, true)).toEqual([true, false, false]);
  expect(taken(undefined, false)).toEqual([true, true, true]);
  expect(taken(true, false)).toEqual([true, true, true]);
  // The order that a format demands holds where all that the schema allows is written, too.
  expect(taken(false, false)).toEqual([true, false, true]);
  expect(taken(false)).toEqual([true, false, false]);
  const tags = {
    type: 'structural_tag' as const,
    structures: [{ begin: '<', schema: json_schema, end: '>' }],
    triggers: ['<'],
  };
  const takenTags = (strict?: boolean): boolean[] =>
    texts.map((text) => takes(grammarFor({ ...tags, ...(strict !== undefined && { strict }) }), `<${text}>`));
  expect([takenTags(), takenTags(false)]).toEqual([
    [true, false, false],
    [true, true, true],
  ]);
});

test('tags may end with tokens of their own', () => {
  const [id] = vocabulary.encode('x') as [number];
  const format: TextFormat = {
    type: 'tag',
    begin: { type: 'token', token: id },
    content: { type: 'const_string', value: 'y' },
    end: { type: 'token', token: id },
  };
  constraint({ type: 'format', format }, 'constraint');
  expect(takes(grammarFor({ type: 'format', format }), 'xyx')).toBe(true);
  expect(takes(grammarFor({ type: 'format', format }), 'yx')).toBe(false);
});

describe('an invalid format is refused with the place', () => {
  const x = { type: 'const_string', value: 'x' };
  const nested = (depth: number): object =>
    depth === 0 ? x : { type: 'optional', content: nested(depth - 1) };
  test.each<[string, unknown, string | RegExp]>([
    ['no object', 'x', /constraint.format is "x", it must be an object/],
    ['no type', { value: 'x' }, /constraint.format.type is missing/],
    [
      'a type that there is not',
      { type: 'xml' },
      /constraint.format.type is "xml", it must be one of const_string/,
    ],
    ['a member left out', { type: 'const_string' }, /constraint.format.value is missing/],
    [
      'a member too many',
      { ...x, max_tokens: 3 },
      /constraint.format.max_tokens is unknown to constraint.format/,
    ],
    ['further in', { type: 'or', elements: [x, { type: 'regex' }] }, /format.elements.1.pattern is missing/],
    [
      'a style',
      { type: 'json_schema', json_schema: {}, style: 'qwen_xml' },
      /style is "qwen_xml", it must be "json"/,
    ],
    ['a token by its text', { type: 'token', token: '<s>' }, /token is "<s>", it must be a whole number/],
    ['a pair', { type: 'dispatch', rules: [['<a>']] }, /rules.0 has 1 entry, it must have at least 2/],
    ['too deep', nested(70), /must be at most 64 formats deep/],
  ])('%s', (_, format, message) => {
    expect(() => constraint({ type: 'format', format }, 'constraint')).toThrow(message);
  });
  test.each<[string, TextFormat, string, RegExp]>([
    ['a pattern', { type: 'regex', pattern: '(' }, 'constraint.format.pattern', /./],
    [
      'a grammar',
      { type: 'star', content: { type: 'grammar', grammar: 'a ::= "b"' } },
      'constraint.format.content.grammar',
      /no rule named root/,
    ],
    [
      'a schema',
      { type: 'sequence', elements: [{ type: 'json_schema', json_schema: { type: 'x' } }] },
      'constraint.format.elements.0.json_schema',
      /./,
    ],
    [
      'bounds',
      { type: 'repeat', min: 3, max: 2, content: x as TextFormat },
      'constraint.format.max',
      /below the 3 of min/,
    ],
    [
      'a tag without trigger',
      {
        type: 'triggered_tags',
        triggers: ['<b'],
        tags: [{ type: 'tag', begin: '<a>', content: x as TextFormat, end: '' }],
      },
      'constraint.format.tags.0.begin',
      /none of the triggers/,
    ],
  ])('%s', (_, format, param, message) => {
    constraint({ type: 'format', format }, 'constraint');
    expect(() => grammarFor({ type: 'format', format })).toThrow(
      expect.objectContaining({ param, message: expect.stringMatching(message) as string }) as Error,
    );
  });
});
