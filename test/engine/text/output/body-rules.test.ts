// Constraints on a call's arguments by the tool's parameters.

import { expect, test } from 'vitest';
import { limits } from '../../../../src/grammar/automata/dfa.ts';
import {
  compileSource,
  ruleOfSource,
  type GrammarSource,
} from '../../../../src/engine/text/threads/grammar-source.ts';
import { compile } from '../../../../src/grammar/compile/compile.ts';
import { Grammar } from '../../../../src/grammar/grammar.ts';
import { outputFormat } from '../../../../src/engine/text/output/detect.ts';
import type { Tool } from '../../../../src/engine/text/calls/text-model.ts';
import { smallVocabulary } from '../../../grammar/small-vocabulary.ts';
import { accepts } from '../../../grammar/schema/judge.ts';
import { piecesOf, told } from './feed.ts';

const vocabulary = smallVocabulary([]);

/** The source of a reply that must call the tool, in a format. */
function sourceOf(tools: string, fields: Omit<Tool['function'], 'name'>): GrammarSource {
  const tool: Tool = { type: 'function', function: { name: 'f', ...fields } };
  return {
    type: 'reply',
    format: outputFormat({ tools, reasoning: 'none' }, { tools: null, reasoning: null }),
    tools: { mode: 'required', tools: [tool], single: true },
    given: [tool],
    answer: null,
    answering: false,
    mode: 'declared',
    specials: {},
  };
}

/** Returns the grammar of a reply that must call the tool, in a format. */
function grammarOf(tools: string, fields: Omit<Tool['function'], 'name'>): Grammar {
  const rule = ruleOfSource(sourceOf(tools, fields), limits());
  return new Grammar(compile(rule, vocabulary.available, limits()), vocabulary);
}

const hermes = (values: unknown): string =>
  `<tool_call>\n{"name": "f", "arguments": ${JSON.stringify(values)}}\n</tool_call>`;

test.each([true, false])('a tool without parameters takes none, strict %s', (strict) => {
  const grammar = grammarOf('hermes', { strict });
  expect(accepts(grammar, hermes({}))).toBe(true);
  expect(accepts(grammar, hermes({ time: 'Paris' }))).toBe(false);
});

test('a tool whose parameters say nothing takes any object', () => {
  const grammar = grammarOf('hermes', { parameters: {} });
  expect(accepts(grammar, hermes({ time: 'Paris' }))).toBe(true);
  expect(accepts(grammar, hermes([]))).toBe(false);
});

test('a keyword that cannot be enforced leaves the other keywords enforced', () => {
  const parameters = {
    type: 'object',
    properties: { s: { type: 'array', items: { type: 'integer' }, contains: {}, uniqueItems: true } },
    required: ['s'],
  };
  const grammar = grammarOf('hermes', { parameters });
  expect(accepts(grammar, hermes({ s: [1, 2] }))).toBe(true);
  expect(accepts(grammar, hermes({ s: 'Paris' }))).toBe(false);
  expect(() => grammarOf('hermes', { parameters, strict: true })).toThrow(/#\/properties\/s\/uniqueItems/);
});

test('a keyword that cannot be enforced leaves the others enforced where parameters are written one by one', () => {
  const parameters = {
    type: 'object',
    properties: { s: { type: 'array', items: { type: 'integer' }, uniqueItems: true } },
    required: ['s'],
  };
  const call = (s: string): string => `<function=f>\n<parameter=s>\n${s}\n</parameter>\n</function>`;
  const grammar = grammarOf('qwen3_coder', { parameters });
  const wrapped = (s: string): string => `<tool_call>\n${call(s)}\n</tool_call>`;
  expect(accepts(grammar, wrapped('[1, 2]'))).toBe(true);
  expect(accepts(grammar, wrapped('"Paris"'))).toBe(false);
});

test('a bare string holds nothing that would end it', () => {
  const parameters = { type: 'object', properties: { s: { type: 'string' } }, required: ['s'] };
  const grammar = grammarOf('qwen3_coder', { parameters });
  const call = (s: string): string =>
    `<tool_call>\n<function=f>\n<parameter=s>\n${s}\n</parameter>\n</function>\n</tool_call>`;
  expect(accepts(grammar, call('a <b> </param>'))).toBe(true);
  for (const end of ['<parameter=t>', '</function>', '</tool_call>'])
    expect(accepts(grammar, call(`a ${end}`)), end).toBe(false);
});

const odd = {
  type: 'object',
  properties: {
    'a/b': { type: 'string', pattern: '(a)\\1' },
    list: { type: 'array', items: { type: 'array', items: { type: 'integer', multipleOf: 99991 } } },
    mixed: { type: ['string', 'integer'], description: 'Either.' },
    any: { description: 'Anything.' },
    inner: { type: 'object', properties: { x: {} }, additionalProperties: true },
  },
  maxProperties: 3,
};

test.each<[string, [pointer: string, keyword: string | null][]]>([
  [
    'hermes',
    [
      ['/properties/a~1b', 'pattern'],
      ['/properties/list/items/items', 'multipleOf'],
    ],
  ],
  [
    'qwen3_coder',
    [
      ['', 'maxProperties'],
      ['/properties/a~1b', 'pattern'],
      ['/properties/list/items/items', 'multipleOf'],
    ],
  ],
  [
    'pythonic',
    [
      ['', 'maxProperties'],
      ['/properties/a~1b', 'pattern'],
      ['/properties/list/items/items', 'multipleOf'],
    ],
  ],
  [
    'gemma4',
    [
      ['', 'maxProperties'],
      ['/properties/a~1b', 'pattern'],
      ['/properties/list/items/items', 'multipleOf'],
      ['/properties/mixed', null],
      ['/properties/inner', null],
    ],
  ],
])('keywords of %s that are not enforced are named with their places', (tools, expected) => {
  const source = sourceOf(tools, { parameters: odd });
  const { unenforced = [] } = compileSource(source, vocabulary.available);
  expect(unenforced.map(({ tool, pointer, keyword }) => [tool, pointer, keyword])).toEqual(
    expected.map((place) => ['f', ...place]),
  );
  const exact = sourceOf(tools, { parameters: { type: 'object', properties: { a: { type: 'string' } } } });
  expect(compileSource(exact, vocabulary.available)).not.toHaveProperty('unenforced');
});

const mixed = {
  type: 'object',
  properties: {
    place: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    code: { type: ['string', 'null'], pattern: '^[a-c]{2}$' },
    flag: { type: 'boolean' },
    any: { description: 'Anything.' },
  },
};

test.each<
  [string, (name: string, value: string) => string, yes: [string, string, unknown][], no: [string, string][]]
>([
  [
    'qwen3_coder',
    (name, value) =>
      `<tool_call>\n<function=f>\n<parameter=${name}>\n${value}\n</parameter>\n</function>\n</tool_call>`,
    [
      ['place', 'New York', 'New York'],
      ['place', 'None', null],
      ['code', 'ab', 'ab'],
      ['code', 'null', null],
      ['flag', 'True', true],
      ['flag', 'false', false],
      ['any', 'New York', 'New York'],
      ['any', '[1, {"a": 2}]', [1, { a: 2 }]],
    ],
    [
      ['code', '"ab"'],
      ['flag', 'None'],
      ['flag', 'TRUE'],
    ],
  ],
  [
    'seed_oss',
    (name, value) =>
      `<seed:tool_call>\n<function=f>\n<parameter=${name}>${value}</parameter>\n</function>\n</seed:tool_call>`,
    [
      ['place', 'New York', 'New York'],
      ['place', '\nNew York\n', 'New York'],
      ['flag', '\nTrue\n', true],
      ['flag', 'true', true],
    ],
    [['flag', '\n\ntrue']],
  ],
  [
    'deepseek_v32',
    (name, value) =>
      `<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="${name}" string="${value}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>`,
    [
      ['place', 'true">null', 'null'],
      ['place', 'false">null', null],
      ['flag', 'false">true', true],
      ['any', 'true">1', '1'],
      ['any', 'false">1', 1],
    ],
    [
      ['place', 'false">"New York"'],
      ['flag', 'false">True'],
      ['flag', 'true">true'],
    ],
  ],
  [
    'pythonic',
    (name, value) => `[f(${name}=${value})]`,
    [
      ['place', "'New York'", 'New York'],
      ['place', '"New \\"York\\""', 'New "York"'],
      ['place', 'None', null],
      ['flag', 'True', true],
      ['any', "''", ''],
      ['any', 'False', false],
    ],
    [
      ['place', "'New\nYork'"],
      ['code', "'abc'"],
      ['code', "'a\\'"],
      ['flag', "'True'"],
    ],
  ],
])('values of %s are spelled as models do', (tools, call, yes, no) => {
  const grammar = grammarOf(tools, { parameters: mixed });
  const format = outputFormat({ tools, reasoning: 'none' }, { tools: null, reasoning: null });
  const tool: Tool = { type: 'function', function: { name: 'f', parameters: mixed } };
  for (const [name, value, expected] of yes) {
    const text = call(name, value);
    expect([value, accepts(grammar, text)]).toEqual([value, true]);
    const [part] = told(piecesOf([text]), format, { tools: [tool] });
    expect(JSON.parse((part as { arguments: string }).arguments)).toEqual({ [name]: expected });
  }
  for (const [name, value] of no)
    expect([value, accepts(grammar, call(name, value))]).toEqual([value, false]);
});
