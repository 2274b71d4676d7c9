// Optional calls in formats that do not write arguments as JSON: a model of random tokens begins a call of its own accord, and from then on
// writes what the masks leave it.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import type { Constraint } from '../../../../src/engine/text/calls/constraint.ts';
import { createCallConstraint } from '../../../../src/engine/text/output/call-constraint.ts';
import type { Body, OutputFormat, ToolFormat } from '../../../../src/engine/text/output/format.ts';
import { TOOL_FORMATS } from '../../../../src/engine/text/output/tool-formats.ts';
import type { Tool } from '../../../../src/engine/text/calls/text-model.ts';
import { pick, random } from '../../../grammar/small-vocabulary.ts';
import { parserOf } from './feed.ts';
import { allowed, CLOSERS, randomModel, say, type RandomModel } from './random-model.ts';

const at = {
  type: 'object',
  properties: { lat: { type: 'integer' } },
  required: ['lat'],
  additionalProperties: false,
};
const tool = (name: string, more: Partial<Tool['function']> = {}): Tool => ({
  type: 'function',
  function: {
    name,
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string', maxLength: 4 },
        unit: { enum: ['x y', 'z'] },
        count: { type: 'integer', minimum: -3, maximum: 12 },
        tags: { type: 'array', items: { type: 'string', maxLength: 2 } },
        at,
      },
      required: ['city', 'count'],
    },
    ...more,
  },
});
const TOOLS = [
  tool('book'),
  tool('free', { strict: false }),
  tool('open', { parameters: { type: 'object', properties: { a: {} }, additionalProperties: true } }),
];
const validate = new Ajv2020({ strict: false }).compile({
  ...TOOLS[0]!.function.parameters,
  additionalProperties: false,
});

const outputOf = (tools: ToolFormat): OutputFormat => ({ tools, reasoning: null, channels: null });

const isOther = ({ kind }: Body): boolean => kind !== 'json' && kind !== 'named';
const FORMATS = [...TOOL_FORMATS.values()].filter(({ bodies }) => isOther(bodies[0]!));

/** Text of a call up to the point from which its arguments are certain to have begun. */
function beginOf(body: Body, name: string, line: string): string {
  if (body.kind === 'braces') return `${body.before}${name}{`;
  if (body.kind !== 'tagged') return `${name}(`;
  const { begin, end, number } = body.name;
  if (number) return `${begin}${name}${end}${number.begin}1${number.end}`;
  return `${begin}${name}${end || line + (body.nested ? '' : body.key.begin)}`;
}

/** Texts around the arguments of calls, as templates write them. */
function textsOf({ section, call, list, separators, bare, lineBreaks, bodies }: ToolFormat) {
  const body = bodies[0]!;
  const line = lineBreaks ? '\n' : '';
  const inner = body.kind === 'tagged' && body.name.begin === '' ? '' : line;
  const edge = call ? '' : line;
  const isMarked = section !== undefined && bare === undefined;
  const isClosed = body.kind === 'tagged' && body.close === undefined;
  return {
    head: `${isMarked ? section.begin + edge : ''}${list ? '[' : ''}`,
    begin: (name: string) => `${call ? call.begin + inner : ''}${beginOf(body, name, line)}`,
    end: call && !isClosed ? inner + call.end : '',
    between: list ? ', ' : (separators?.[0] ?? line),
    tail: `${list ? ']' : ''}${isMarked ? edge + section.end : ''}`,
  };
}

/** Writes random tokens of those that may follow until any may. */
function writeArguments(calls: Constraint, model: RandomModel, next: () => number, said: number[]): void {
  const { end, special } = model.vocabulary;
  for (let steps = 0; ; steps++) {
    const ids = allowed(calls, model);
    if (ids === null) return;
    expect(ids).not.toContain(end);
    if (steps > 3000) throw new Error('the arguments do not end');
    const closing = ids.filter((id) => id < CLOSERS.length || id >= special);
    const id = pick(next, closing.length > 0 && next() < 0.6 ? closing : ids);
    calls.accept(id);
    said.push(id);
  }
}

describe.each(FORMATS.flatMap((format) => [true, false].map((asSpecial) => ({ format, asSpecial }))))(
  'optional calls in $format.name, markers as special tokens: $asSpecial',
  ({ format, asSpecial }) => {
    const model = randomModel(outputOf(format), asSpecial, TOOLS);
    const { head, begin, end, between, tail } = textsOf(format);

    it('keeps each of several calls to the declared parameters, and the text around them free', () => {
      const next = random(7);
      for (let round = 0; round < 2; round++) {
        const calls = model.start();
        const said: number[] = [];
        say(calls, format.bare ? '' : 'Well. ', model, said);
        for (let call = 0; call < 2; call++) {
          say(calls, `${call === 0 ? head : between}${begin('book')}`, model, said);
          expect([calls.idle, allowed(calls, model)]).not.toEqual([true, null]);
          writeArguments(calls, model, next, said);
          say(calls, end, model, said);
        }
        say(calls, tail, model, said);
        const parts = model.told(said).filter((part) => 'name' in part);
        expect(parts.map(({ name }) => name)).toEqual(['book', 'book']);
        for (const part of parts) {
          const values = JSON.parse(part.arguments) as unknown;
          expect(validate(values), part.arguments).toBe(true);
        }
      }
    });

    it.each(['free', 'open', 'none'])('leaves calls of a tool without an exact list free: %s', (name) => {
      const calls = model.start();
      say(calls, head + begin(name), model, []);
      expect(allowed(calls, model)).toBeNull();
    });

    it('goes on by itself where it is forked', () => {
      const calls = model.start();
      const said: number[] = [];
      say(calls, head + begin('book'), model, said);
      const forked = calls.fork();
      expect(allowed(forked, model)).toEqual(allowed(calls, model));
      writeArguments(calls, model, random(3), said);
      expect([allowed(calls, model), allowed(forked, model)]).toEqual([null, expect.any(Array)]);
    });
  },
);

describe('a token that begins both a call and its arguments', () => {
  const format = TOOL_FORMATS.get('qwen3_coder')!;
  const model = randomModel(outputOf(format), false, TOOLS);
  const { end } = model.vocabulary;
  const whole = '<tool_call>\n<function=book>';
  /** The first token has the text `first`, all others are bytes. */
  const start = (first: string): Constraint => {
    const calls = createCallConstraint({
      names: model.names,
      anyObject: null,
      byTool: model.byTool,
      read: () => ({
        output: parserOf({ tools: format, reasoning: null, channels: null }, { tools: TOOLS }),
        pieces: {
          of: (id) => ({ id, text: id === end ? first : String.fromCharCode(id - byteFrom), special: false }),
          bytes: (id) => (id === end ? new TextEncoder().encode(first) : model.vocabulary.bytes(id, false)),
          ownText: () => '',
          rest: () => '',
        },
      }),
    });
    calls.accept(end);
    return calls;
  };
  const byteFrom = model.idsOf('\0')[0]!;

  it.each([whole, `${whole}\n<`])('leaves the next token free: %j', (first) => {
    const calls = start(first);
    expect([calls.idle, allowed(calls, model)]).toEqual([false, null]);
    const rest = `${whole}\n<parameter=`.slice(first.length);
    say(calls, rest[0]!, model, []);
    expect(allowed(calls, model)).not.toBeNull();
    say(calls, rest.slice(1), model, []);
    expect(allowed(calls, model)!.map((id) => String.fromCharCode(id - byteFrom))).toEqual(
      expect.arrayContaining(['c', 'u', 't', 'a']),
    );
    expect(allowed(calls, model)).toHaveLength(4);
  });

  it('keeps to declared names until then, and leaves the call free where the next token is not declared', () => {
    const named = start('<tool_call>\n<');
    say(named, 'function=bo', model, []);
    expect(allowed(named, model)!.map((id) => String.fromCharCode(id - byteFrom))).toEqual(['o']);

    const calls = start(whole);
    say(calls, 'x', model, []);
    expect([calls.idle, allowed(calls, model)]).toEqual([true, null]);
  });
});

it('the keyword for which a tool has no exact list is named', () => {
  const { unenforced } = randomModel(outputOf(TOOL_FORMATS.get('glm45')!), false, [
    tool('listed'),
    tool('none', { parameters: { type: 'object' } }),
    tool('others', { parameters: { properties: { a: {} }, additionalProperties: { type: 'string' } } }),
    tool('either', { parameters: { properties: {}, anyOf: [{ required: ['a'] }] } }),
    tool('beside', { parameters: { properties: {}, required: ['a'] } }),
  ]);
  expect(unenforced).toEqual([
    { tool: 'others', pointer: '', keyword: 'additionalProperties' },
    { tool: 'either', pointer: '', keyword: 'anyOf' },
    { tool: 'beside', pointer: '', keyword: 'required' },
  ]);
});
