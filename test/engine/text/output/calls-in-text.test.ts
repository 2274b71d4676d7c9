// Calls that begin without a marker after other text, and the ids and slips of single formats.

import { describe, expect, it } from 'vitest';
import { outputFormat } from '../../../../src/engine/text/output/detect.ts';
import type { Tool } from '../../../../src/engine/text/calls/text-model.ts';
import { ruleOfSource } from '../../../../src/engine/text/threads/grammar-source.ts';
import { limits } from '../../../../src/grammar/automata/dfa.ts';
import { compile } from '../../../../src/grammar/compile/compile.ts';
import { Grammar } from '../../../../src/grammar/grammar.ts';
import { accepts } from '../../../grammar/schema/judge.ts';
import { smallVocabulary } from '../../../grammar/small-vocabulary.ts';
import { formatOf, parserOf, piecesOf, told } from './feed.ts';

const letters = (text: string) => piecesOf(Array.from(text));

describe('a call of llama3 after other text', () => {
  const tool: Tool = {
    type: 'function',
    function: {
      name: 'f',
      strict: true,
      parameters: {
        type: 'object',
        properties: { n: { type: 'integer' } },
        required: ['n'],
        additionalProperties: false,
      },
    },
  };
  const vocabulary = smallVocabulary([]);
  const source = {
    type: 'reply' as const,
    format: outputFormat({ tools: 'llama3', reasoning: 'none' }, { tools: null, reasoning: null }),
    tools: { mode: 'auto' as const, tools: [tool], single: false },
    given: [tool],
    answer: null,
    answering: false,
    mode: 'declared' as const,
    specials: {},
  };
  const grammar = new Grammar(
    compile(ruleOfSource(source, limits()), vocabulary.available, limits()),
    vocabulary,
  );

  it.each([
    ['So: {"name": "f", "parameters": {"n": 1}}', true],
    ['So: {"name": "f", "parameters": {"n": "x"}}', false],
    ['So: { "parameters": {"n": "x"}, "name": "f"}', false],
    ['So: {"type": "function", "name": "f", "parameters": {}}', false],
    ['So: {"a": {"b": "name"}} and { this }', true],
  ])('has the parameters of a strict tool, other objects are text: %s', (text, isAllowed) => {
    expect(accepts(grammar, text)).toBe(isAllowed);
  });

  it('is text if it begins with a member that calls do not have', () => {
    const text = 'So: {"id": 1, "name": "ping", "parameters": {}}';
    expect(told(letters(text), formatOf('llama3', null))).toEqual([{ content: text }]);
  });

  it('is text without tools, in pieces as they come', () => {
    const parser = parserOf(formatOf('llama3', null), { tools: null });
    const parts = letters('So: {"name').flatMap((piece) => parser.push(piece));
    expect(parts.map(({ text }) => text).join('')).toBe('So: {"name');
  });
});

it.each(['mistral', 'mistral_json'])('the ids of %s have nine letters and digits', (name) => {
  const parser = parserOf(formatOf(name, null), { callId: undefined });
  const parts = parser.push({
    id: 0,
    text: '[TOOL_CALLS][{"name": "ping", "arguments": {}}]',
    special: false,
  });
  expect(parts[0]).toMatchObject({ kind: 'toolCall', id: expect.stringMatching(/^[\da-zA-Z]{9}$/) });
});

it('a quote within a Python string that other text follows does not end the string', () => {
  const call = `[search(query='sed -n '3,4p' /tmp/a', limit=2)]`;
  expect(told(letters(call), formatOf('pythonic', null))).toEqual([
    { name: 'search', arguments: `{"query": "sed -n '3,4p' /tmp/a", "limit": 2}` },
  ]);
});
