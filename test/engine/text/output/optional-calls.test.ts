// Optional calls in formats that do not write arguments as JSON: a model of random tokens begins a call of its own accord, and from then on
// writes what the masks leave it.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import type { Constraint } from '../../../../src/engine/text/constraint.ts';
import { ruleOfSource } from '../../../../src/engine/text/grammar-source.ts';
import { createCallConstraint } from '../../../../src/engine/text/output/call-constraint.ts';
import { callSources } from '../../../../src/engine/text/output/call-grammars.ts';
import { callOpeners } from '../../../../src/engine/text/output/calls.ts';
import type { Body, ToolFormat } from '../../../../src/engine/text/output/format.ts';
import { markerMaker } from '../../../../src/engine/text/output/reader.ts';
import type { ReplyPlan } from '../../../../src/engine/text/output/reply.ts';
import { TOOL_FORMATS } from '../../../../src/engine/text/output/tool-formats.ts';
import type { Piece, Pieces } from '../../../../src/engine/text/piece.ts';
import type { Tool } from '../../../../src/engine/text/text-model.ts';
import { compile } from '../../../../src/grammar/compile.ts';
import { limits } from '../../../../src/grammar/dfa.ts';
import { Grammar } from '../../../../src/grammar/grammar.ts';
import { idsOf, pick, random, smallVocabulary } from '../../../grammar/small-vocabulary.ts';
import { parserOf, told } from './feed.ts';

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

const isOther = ({ kind }: Body): boolean => kind !== 'json' && kind !== 'named';
const FORMATS = [...TOOL_FORMATS.values()].filter(({ bodies }) => isOther(bodies[0]!));

/** Text of a call up to the point from which its arguments are certain to have begun. */
function beginOf(body: Body, name: string, line: string): string {
  if (body.kind === 'braces') return `${body.before}${name}{`;
  if (body.kind !== 'tagged') return `${name}(`;
  const { begin, end } = body.name;
  return `${begin}${name}${end || line || body.key.begin}`;
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

function markersOf(format: ToolFormat): string[] {
  const body = format.bodies[0]!;
  const own =
    body.kind === 'tagged'
      ? [body.key.begin, body.key.end, body.value.end, body.close]
      : [body.kind === 'braces' ? body.quote : ''];
  const all = [...callOpeners(format), format.section?.end, format.call?.end, ...own];
  return [...new Set(all)].filter((text): text is string => (text?.length ?? 0) > 2);
}

const CLOSERS = ['"', '}', ']', ')', ',', '</', '0', '1'];

/** A model of random tokens in a format, whose markers are special tokens or text. */
function randomModel(format: ToolFormat, asSpecial: boolean, tools = TOOLS) {
  const markers = markersOf(format);
  const texts = [...CLOSERS, ...(asSpecial ? [] : markers)];
  const vocabulary = smallVocabulary(texts, { specials: asSpecial ? markers.length : 0 });
  const specials = Object.fromEntries(
    (asSpecial ? markers : []).map((marker, i) => [marker, vocabulary.special + i]),
  );
  const marker = markerMaker((text) => specials[text]);
  const output = { tools: format, reasoning: null, channels: null };
  const plan = {
    format: output,
    tools: { tools, mode: 'auto', single: false, listed: false },
  } as unknown as ReplyPlan;
  const { sources, unenforced } = callSources(plan, { given: tools, mode: 'declared', specials });
  const byTool = new Map(
    [...sources].map(([key, source]) => [
      key,
      new Grammar(compile(ruleOfSource(source, limits()), vocabulary.available, limits()), vocabulary),
    ]),
  );
  const options = { tools, specialId: (text: string) => specials[text] };
  const createPieces = (): Pieces => {
    const decoder = new TextDecoder();
    const special = (id: number): boolean => id >= vocabulary.special;
    const textOf = (id: number): string =>
      special(id) ? '' : decoder.decode(vocabulary.bytes(id, false), { stream: true });
    return {
      of: (id) => ({ id, text: textOf(id), special: special(id) }),
      bytes: (id) => vocabulary.bytes(id, false),
      ownText: textOf,
      rest: () => '',
    };
  };
  return {
    vocabulary,
    unenforced,
    byTool,
    start: (): Constraint =>
      createCallConstraint({
        anyObject: null,
        byTool,
        read: () => ({ output: parserOf(output, options), pieces: createPieces() }),
      }),
    idsOf: (text: string): number[] =>
      marker(text).symbols.flatMap((symbol) =>
        typeof symbol === 'number'
          ? [symbol]
          : Array.from(
              new TextEncoder().encode(symbol),
              (byte) => CLOSERS.length + (asSpecial ? 0 : markers.length) + byte,
            ),
      ),
    told: (ids: readonly number[]) => {
      const pieces = createPieces();
      return told(
        ids.map((id): Piece => pieces.of(id)),
        output,
        options,
      );
    },
  };
}

type RandomModel = ReturnType<typeof randomModel>;

/** Ids of the tokens that may follow; null: all. */
function allowed(calls: Constraint, { vocabulary }: RandomModel): number[] | null {
  const mask = new Uint32Array(Math.ceil(vocabulary.size / 32));
  return calls.mask(mask) ? idsOf(mask) : null;
}

/** Accepts a text, one token a byte or marker, and adds its ids. */
function say(calls: Constraint, text: string, model: RandomModel, said: number[]): void {
  for (const id of model.idsOf(text)) {
    calls.accept(id);
    said.push(id);
  }
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
  '$format.name, markers as special tokens: $asSpecial',
  ({ format, asSpecial }) => {
    const model = randomModel(format, asSpecial);
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
  const model = randomModel(format, false);
  const { end } = model.vocabulary;
  const whole = '<tool_call>\n<function=book>';
  /** The first token has the text `first`, all others are bytes. */
  const start = (first: string): Constraint => {
    const calls = createCallConstraint({
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

  it('leaves the call free where the next token is not declared', () => {
    const calls = start(whole);
    say(calls, 'x', model, []);
    expect([calls.idle, allowed(calls, model)]).toEqual([true, null]);
  });
});

it('names the keyword for which a tool has no exact list', () => {
  const { unenforced } = randomModel(TOOL_FORMATS.get('glm45')!, false, [
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
