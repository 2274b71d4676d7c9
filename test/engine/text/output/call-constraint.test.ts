// Calls whose arguments are restricted to JSON objects from the beginning to the end.

import { describe, expect, it } from 'vitest';
import type { Constraint } from '../../../../src/engine/text/calls/constraint.ts';
import { compile } from '../../../../src/grammar/compile/compile.ts';
import { limits } from '../../../../src/grammar/automata/dfa.ts';
import { ruleOfSource } from '../../../../src/engine/text/threads/grammar-source.ts';
import type { SchemaMode } from '../../../../src/grammar/text-constraint.ts';
import { Grammar } from '../../../../src/grammar/grammar.ts';
import { createVocabulary } from '../../../../src/grammar/masks/vocabulary.ts';
import {
  CALL_ARGUMENTS,
  createCallConstraint,
  withCallConstraint,
} from '../../../../src/engine/text/output/call-constraint.ts';
import { callSources } from '../../../../src/engine/text/output/reply-grammars.ts';
import type { ReplyPlan } from '../../../../src/engine/text/output/reply-plan.ts';
import type { ToolPlan } from '../../../../src/engine/text/output/reply-plan.ts';
import type { Tool } from '../../../../src/engine/text/calls/text-model.ts';
import { createPieces } from '../../../../src/engine/text/calls/piece.ts';
import { openTokenizer } from '../../../../src/files/tokenizer/tokenizer.ts';
import { byteLevel } from '../../../files/tokenizer/small-tokenizers.ts';
import { formatOf, parserOf } from './feed.ts';

const tokenizer = openTokenizer(byteLevel());
const END = 261;
const SIZE = 264;
const vocabulary = createVocabulary(tokenizer, SIZE, [END]);
const bounds = limits();
const grammar = new Grammar(
  compile(ruleOfSource(CALL_ARGUMENTS, bounds), vocabulary.available, bounds),
  vocabulary,
);

const tool = (name: string, strict?: boolean): Tool => ({
  type: 'function',
  function: {
    name,
    parameters: { properties: { place: { type: 'string' }, days: { type: 'integer' } }, required: ['place'] },
    ...(strict !== undefined && { strict }),
  },
});
const tools: ToolPlan = {
  tools: [tool('weather'), tool('free', false), { type: 'function', function: { name: 'bare' } }],
  mode: 'auto',
  single: false,
};
function grammarsOf(plan: ToolPlan, mode: SchemaMode): Map<string, Grammar> {
  const reply = { format: formatOf('hermes', null), tools: plan } as ReplyPlan;
  const { sources } = callSources(reply, { given: plan.tools, mode, specials: {} });
  return new Map(
    [...sources].map(([name, source]) => [
      name,
      new Grammar(compile(ruleOfSource(source, bounds), vocabulary.available, bounds), vocabulary),
    ]),
  );
}
const byTool = grammarsOf(tools, 'declared');
const DECLARED = [...tools.tools, tool('exact', true), tool('ping')];

const start = (format: string, reasoning = 'qwen3', named = byTool): Constraint =>
  createCallConstraint({
    names: null,
    anyObject: grammar,
    byTool: named,
    read: () => ({
      output: parserOf(formatOf(format, reasoning), { tools: DECLARED }),
      pieces: createPieces(tokenizer, { skipSpecialTokens: true }),
    }),
  });

/** Accepts a text, one token per byte. */
function say(constraint: Constraint, text: string): void {
  for (const byte of new TextEncoder().encode(text)) constraint.accept(byte);
}

/** Returns which of these characters, or the end (`$`), may come next. */
function allowed(constraint: Constraint, characters: string): string {
  const bits = new Uint32Array(Math.ceil(SIZE / 32));
  if (!constraint.mask(bits)) return characters;
  const may = (id: number): boolean => ((bits[id >>> 5]! >>> (id & 31)) & 1) === 1;
  return Array.from(characters)
    .filter((one) => may(one === '$' ? END : one.charCodeAt(0)))
    .join('');
}

const ANY = '{}",:a1<$';
const BEGIN = '<tool_call>{"name": "ping", "arguments": ';

describe.each([
  ['hermes', BEGIN, '}</tool_call>'],
  ['mistral', '[TOOL_CALLS]ping[ARGS]', ''],
])('the constraint of calls in %s', (format, begin, end) => {
  it('allows all tokens before the arguments and behind them, and waits for them within a call', () => {
    const calls = start(format);
    say(calls, 'Well, {"a", ');
    expect([calls.idle, allowed(calls, ANY)]).toEqual([true, ANY]);
    say(calls, begin);
    expect([calls.idle, allowed(calls, ANY)]).toEqual([false, ANY]);
    say(calls, '{"a": [1]}');
    expect([calls.idle, allowed(calls, ANY)]).toEqual([true, ANY]);
    say(calls, end);
    expect(calls.idle).toBe(true);
  });

  it('holds arguments to an object, which does not end before it is whole', () => {
    const calls = start(format);
    say(calls, `${begin}{`);
    expect([calls.idle, allowed(calls, ANY)]).toEqual([false, '}"']);
    say(calls, '"a"');
    expect(allowed(calls, ANY)).toBe(':');
    say(calls, ': {"b": 1');
    expect(allowed(calls, ANY)).toBe('},1');
    say(calls, '}');
    expect(allowed(calls, ANY)).toBe('},');
  });

  it('holds each call, and leaves the next free where it has given one up', () => {
    const calls = start(format);
    say(calls, `${begin}{"a", "b"`);
    expect(calls.idle).toBe(true);
    say(calls, `}${end}\n${begin}{"é": "é`);
    expect([calls.idle, allowed(calls, '"$')]).toEqual([false, '"']);
    say(calls, '"');
    expect(allowed(calls, ANY)).toBe('},');
  });

  it('forks into a constraint of its own', () => {
    const calls = start(format);
    say(calls, `${begin}{"a"`);
    const forked = calls.fork();
    say(calls, ': 1}');
    expect([calls.idle, forked.idle, allowed(forked, ANY)]).toEqual([true, false, ':']);
  });
});

it('a call constraint holds the arguments of a tool to its declared parameters, in their order', () => {
  expect([...byTool.keys()]).toEqual(['json weather']);
  const calls = start('hermes');
  const weather = BEGIN.replace('ping', 'weather');
  say(calls, `${weather}{`);
  expect(allowed(calls, ANY)).toBe('"');
  say(calls, '"');
  expect(allowed(calls, 'pdx"')).toBe('p');
  say(calls, 'place": "here", "');
  expect(allowed(calls, 'pdx"')).toBe('d');
  say(calls, 'days": 1');
  expect(allowed(calls, ANY)).toBe('}1');
  say(calls, `}</tool_call>\n${BEGIN.replace('ping', 'free')}{"`);
  expect(allowed(calls, 'pdx"')).toBe('pdx"');
});

it('a call constraint leaves parameters in any order by default, unless the tool is strict', () => {
  const both = { ...tools, tools: [tool('weather'), tool('exact', true)] };
  const named = grammarsOf(both, 'whole');
  const names = (of: string): string => {
    const calls = start('hermes', 'qwen3', named);
    say(calls, `${BEGIN.replace('ping', of)}{"`);
    return allowed(calls, 'pdx"');
  };
  expect([names('weather'), names('exact')]).toEqual(['pdx"', 'p']);
});

it('a call constraint leaves the token free that follows one which begins both a call and its arguments', () => {
  const text = `${BEGIN}{`;
  const calls = createCallConstraint({
    names: null,
    anyObject: grammar,
    byTool,
    read: () => ({
      output: parserOf(formatOf('hermes', 'qwen3')),
      pieces: {
        of: (id) => ({ id, text, special: false }),
        bytes: () => new TextEncoder().encode(text),
        ownText: () => text,
        rest: () => '',
      },
    }),
  });
  calls.accept(0);
  expect([calls.idle, allowed(calls, ANY)]).toEqual([false, ANY]);
});

it('a call constraint holds arguments that began with an undeclared name to any object', () => {
  const other = start('hermes');
  say(other, `${BEGIN.replace('ping', 'weather')}{"x": 1`);
  expect(allowed(other, ANY)).toBe('},1');
});

it.each(['[1', '"{', 'null', '{{'])('a call constraint ignores arguments that begin with %s', (text) => {
  const calls = start('hermes');
  say(calls, BEGIN + text);
  expect(allowed(calls, ANY)).toBe(ANY);
});

it('a call within reasoning is not constrained', () => {
  const calls = start('hermes', 'think');
  say(calls, `<think>${BEGIN}{"a"`);
  expect(calls.idle).toBe(true);
  say(calls, `</think>${BEGIN}{"a"`);
  expect(calls.idle).toBe(false);
});

it('a call constraint leaves other tokens to the constraint of the reply', () => {
  const none: Constraint = {
    mask: (into) => (into.fill(0), true),
    accept() {},
    forced: () => [END],
    ended: true,
    fork: () => none,
  };
  const both = withCallConstraint(none, start('hermes'));
  expect([both.idle, both.ended, both.forced(), allowed(both, ANY)]).toEqual([false, true, [END], '']);
  say(both, `${BEGIN}{"a"`);
  expect([both.idle, both.ended, both.forced(), allowed(both, ANY)]).toEqual([false, false, [], ':']);
});
