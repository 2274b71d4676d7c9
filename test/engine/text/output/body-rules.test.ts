// Constraints on a call's arguments by the tool's parameters.

import { expect, test } from 'vitest';
import { limits } from '../../../../src/grammar/dfa.ts';
import { ruleOfSource } from '../../../../src/engine/text/grammar-source.ts';
import { compile } from '../../../../src/grammar/compile.ts';
import { Grammar } from '../../../../src/grammar/grammar.ts';
import { outputFormat } from '../../../../src/engine/text/output/detect.ts';
import type { Tool } from '../../../../src/engine/text/text-model.ts';
import { smallVocabulary } from '../../../grammar/small-vocabulary.ts';
import { accepts } from '../../../grammar/schema/judge.ts';

const vocabulary = smallVocabulary([]);

/** Returns the grammar of a reply that must call the tool, in a format. */
function grammarOf(tools: string, fields: Omit<Tool['function'], 'name'>): Grammar {
  const tool: Tool = { type: 'function', function: { name: 'f', ...fields } };
  const rule = ruleOfSource(
    {
      type: 'reply',
      format: outputFormat({ tools, reasoning: 'none' }, { tools: null, reasoning: null }),
      tools: { mode: 'required', tools: [tool], single: true, listed: false },
      given: [tool],
      answer: null,
      answering: false,
      mode: 'declared',
      specials: {},
    },
    limits(),
  );
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

test('one keyword that cannot be enforced does not cost the rest', () => {
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

test('nor where parameters are written one by one', () => {
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

test('a string that stands bare holds nothing that would end it', () => {
  const parameters = { type: 'object', properties: { s: { type: 'string' } }, required: ['s'] };
  const grammar = grammarOf('qwen3_coder', { parameters });
  const call = (s: string): string =>
    `<tool_call>\n<function=f>\n<parameter=s>\n${s}\n</parameter>\n</function>\n</tool_call>`;
  expect(accepts(grammar, call('a <b> </param>'))).toBe(true);
  for (const end of ['<parameter=t>', '</function>', '</tool_call>'])
    expect(accepts(grammar, call(`a ${end}`)), end).toBe(false);
});
