// Objects as models write them: names in any order, any usual spacing, no name twice, with every division of names into tokens.

import { expect, test } from 'vitest';
import { compile } from '../../../src/grammar/compile/compile.ts';
import { limits } from '../../../src/grammar/automata/dfa.ts';
import { Grammar } from '../../../src/grammar/grammar.ts';
import { sequence, text } from '../../../src/grammar/rules/rule.ts';
import { ruleOfSchema } from '../../../src/grammar/schema/schema-rule.ts';
import { idsOf, smallVocabulary } from '../small-vocabulary.ts';
import { accepts, grammarOf } from './judge.ts';

test('a token does not complete a name that is there already', () => {
  const tokens = ['"', '""', 'b"', 'ab"', '"ab"', '":', 'b":1', ',"ab"'];
  const vocabulary = smallVocabulary(tokens);
  const rule = ruleOfSchema({ type: 'object' }, { path: 'schema' });
  const grammar = new Grammar(compile(rule, vocabulary.available, limits()), vocabulary);
  const allowedAfter = (written: string): string[] => {
    const constraint = grammar.start();
    for (const byte of new TextEncoder().encode(written)) constraint.accept(tokens.length + byte);
    const bits = new Uint32Array(Math.ceil(vocabulary.size / 32));
    constraint.mask(bits);
    return idsOf(bits).flatMap((id) => tokens[id] ?? []);
  };
  expect(allowedAfter('{"ab":1,"a')).toEqual(['"', 'ab"', '":']);
  expect(allowedAfter('{"ab":1')).toEqual([]);
  expect(allowedAfter('{"b":1')).toEqual([',"ab"']);
  expect(allowedAfter('{"ab":1,')).toEqual(['"', '""', '":']);
  expect(allowedAfter('{"":1,')).toEqual(['"', '"ab"', '":']);
  expect(allowedAfter('{"":1,"')).toEqual(['b"', 'ab"', 'b":1']);
});

test('unique elements of an array differ', () => {
  const strings = grammarOf({
    type: 'array',
    items: { type: ['string', 'null'] },
    uniqueItems: true,
    maxItems: 4,
  });
  const right = ['[]', '["a"]', '["a", "b", ""]', '["a",null,"ab"]', '["\\n","n"]', '[ null ]'];
  for (const each of right) expect([each, accepts(strings, each)]).toEqual([each, true]);
  const wrong = [
    '["a","a"]',
    '[null,null]',
    '["a","b","a"]',
    '["a","b","c","d","e"]',
    '["a" "b"]',
    '["a":"b"]',
    '[1]',
    '["",""]',
  ];
  for (const each of wrong) expect([each, accepts(strings, each)]).toEqual([each, false]);
  const few = grammarOf({
    type: 'array',
    items: { enum: ['x', 'y', 1, 2, false] },
    uniqueItems: true,
    minItems: 5,
  });
  expect(accepts(few, '["y",1,false,2,"x"]')).toBe(true);
  expect(accepts(few, '["y",1,false,2]')).toBe(false);
  expect(accepts(few, '["y",1,false,2,1]')).toBe(false);
});

test('order and spacing of an object are free', () => {
  const grammar = grammarOf({
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'string', maxLength: 2 } },
    required: ['a', 'b'],
    additionalProperties: false,
  });
  const right = [
    '{"a":1,"b":"x"}',
    '{"b": "x", "a": 1}',
    '{\n  "b": "\\n\\n",\n  "a": 1\n}',
    '{"b":"\\u0041é","a":1}',
  ];
  for (const each of right) expect([each, accepts(grammar, each)]).toEqual([each, true]);
  const wrong = [
    '{"a":1}',
    '{"a":1,"b":"x","a":2}',
    '{"a":1,"b":"xyz"}',
    '{"a":1,"b":"x","c":1}',
    '{"a":1,"b":"x"',
  ];
  for (const each of wrong) expect([each, accepts(grammar, each)]).toEqual([each, false]);
});

test('a schema may stand anywhere in another grammar', () => {
  const rule = sequence(
    text('<call>'),
    ruleOfSchema({ enum: [1, 'a'] }, { path: 'tools[0]' }),
    text('</call>'),
  );
  const vocabulary = smallVocabulary(['<call>', '</call>']);
  const constraint = new Grammar(compile(rule, vocabulary.available, limits()), vocabulary).start();
  for (const id of vocabulary.encode('<call>"a"</call>')) constraint.accept(id);
  expect(constraint.ended).toBe(true);
});

test('the subset of JSON Schema that OpenAI names for structured outputs is enforced', () => {
  const grammar = grammarOf({
    type: 'object',
    properties: {
      kind: { type: 'string', enum: ['x', 'y'] },
      note: { type: ['string', 'null'], description: 'free' },
      count: { type: 'integer', minimum: 0, maximum: 9, multipleOf: 3 },
      tags: { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' }, minItems: 1, maxItems: 3 },
      when: { type: 'string', format: 'date-time' },
      item: { anyOf: [{ $ref: '#/$defs/leaf' }, { $ref: '#' }] },
    },
    required: ['kind', 'note', 'count', 'tags', 'when', 'item'],
    additionalProperties: false,
    $defs: {
      leaf: { type: 'object', properties: { v: { const: 1 } }, required: ['v'], additionalProperties: false },
    },
  });
  const leaf = { kind: 'x', note: null, count: 6, tags: ['a'], when: '2024-01-01T00:00:00Z', item: { v: 1 } };
  const say = (value: unknown): boolean => accepts(grammar, JSON.stringify(value));
  expect(say(leaf)).toBe(true);
  expect(say({ ...leaf, note: 'n', item: { ...leaf, item: leaf } })).toBe(true);
  const wrong = [
    { kind: 'z' },
    { count: 4 },
    { tags: [] },
    { tags: ['A'] },
    { when: 'now' },
    { item: { v: 2 } },
    { more: 1 },
  ];
  for (const change of wrong) expect([change, say({ ...leaf, ...change })]).toEqual([change, false]);
});
