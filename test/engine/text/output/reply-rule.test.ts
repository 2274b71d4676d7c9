// Grammars of replies against the parser: whatever a grammar lets through is read as calls whose arguments fit the tools.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { compile } from '../../../../src/grammar/compile/compile.ts';
import { limits } from '../../../../src/grammar/automata/dfa.ts';
import { Grammar } from '../../../../src/grammar/grammar.ts';
import { text as textRule, type Rule } from '../../../../src/grammar/rules/rule.ts';
import { ruleOfSchema } from '../../../../src/grammar/schema/schema-rule.ts';
import { callOpeners } from '../../../../src/engine/text/output/calls.ts';
import { outputFormat } from '../../../../src/engine/text/output/detect.ts';
import type { OutputFormat } from '../../../../src/engine/text/output/format.ts';
import { ruleOfReply } from '../../../../src/engine/text/output/reply-rule.ts';
import type { Begins } from '../../../../src/engine/text/output/format.ts';
import type { ToolPlan } from '../../../../src/engine/text/output/reply-plan.ts';
import { JSON_CALLS, TOOL_FORMATS } from '../../../../src/engine/text/output/tool-formats.ts';
import type { Piece } from '../../../../src/engine/text/calls/piece.ts';
import type { TextConstraint } from '../../../../src/engine/text/calls/text-request.ts';
import type { Tool } from '../../../../src/engine/text/calls/text-model.ts';
import { idsOf, pick, random, smallVocabulary } from '../../../grammar/small-vocabulary.ts';
import { told } from './feed.ts';

const TOOLS: Tool[] = [
  {
    type: 'function',
    function: {
      name: 'book',
      strict: true,
      parameters: {
        type: 'object',
        properties: {
          city: { type: 'string', maxLength: 4 },
          code: { type: 'string', pattern: '^[a-c]{2}$' },
          unit: { enum: ['x y', 'z'] },
          count: { type: 'integer', minimum: -3, maximum: 12 },
          open: { type: 'boolean' },
          tags: { type: 'array', items: { type: 'string', maxLength: 2 } },
          at: { $ref: '#/$defs/at' },
        },
        required: ['city', 'count'],
        additionalProperties: false,
        $defs: {
          at: {
            type: 'object',
            properties: { lat: { type: 'integer' } },
            required: ['lat'],
            additionalProperties: false,
          },
        },
      },
    },
  },
  {
    type: 'function',
    function: {
      name: 'ping',
      strict: true,
      parameters: { type: 'object', properties: {}, additionalProperties: false },
    },
  },
];

/** The braces syntax has no references, so they are expanded. */
const PLAIN_TOOLS: Tool[] = JSON.parse(
  JSON.stringify(TOOLS).replace(
    '{"$ref":"#/$defs/at"}',
    JSON.stringify((TOOLS[0]!.function.parameters!['$defs'] as Record<string, unknown>)['at']),
  ),
) as Tool[];

const validators = new Map(
  TOOLS.map(({ function: { name, parameters } }) => [
    name,
    new Ajv2020({ strict: false }).compile(parameters!),
  ]),
);

const ENDS = [
  '"',
  '}',
  ']',
  ')',
  '\n</parameter>\n',
  '</parameter>',
  '</arg_value>',
  '</｜DSML｜parameter>\n',
  ', ',
  '<|"|>',
  '0',
  '1',
];

interface Walked {
  pieces: Piece[];
  text: string;
}

function setUp(format: OutputFormat, asSpecial: boolean) {
  const markers = format.channels
    ? ['<|start|>', '<|channel|>', '<|message|>', '<|constrain|>']
    : [...callOpeners(format.tools!), format.tools!.section?.end ?? '', format.tools!.call?.end ?? ''].filter(
        (marker) => marker.length > 2,
      );
  const vocabulary = smallVocabulary(asSpecial ? ENDS : [...ENDS, ...markers], {
    specials: asSpecial ? markers.length : 0,
  });
  const specials = Object.fromEntries(
    (asSpecial ? markers : []).map((marker, at) => [marker, vocabulary.special + at]),
  );
  return { vocabulary, specials, specialId: (text: string) => specials[text] };
}

function grammarOf(rule: Rule, { vocabulary }: ReturnType<typeof setUp>): Grammar {
  return new Grammar(compile(rule, vocabulary.available, limits()), vocabulary);
}

/** Generates random tokens that the masks allow, up to the end. */
function walk(grammar: Grammar, { vocabulary }: ReturnType<typeof setUp>, next: () => number): Walked {
  const constraint = grammar.start();
  const decoder = new TextDecoder();
  const mask = new Uint32Array(Math.ceil(vocabulary.size / 32));
  const pieces: Piece[] = [];
  for (let steps = 0; !constraint.ended && steps < 2000; steps++) {
    constraint.mask(mask);
    const ids = idsOf(mask);
    if (ids.length === 0)
      throw new Error(`a dead end after ${JSON.stringify(pieces.map(({ text }) => text).join(''))}`);
    if (ids.includes(vocabulary.end) && (steps > 100 || next() < 0.3)) break;
    const closing = ids.filter((id) => id < ENDS.length || id >= vocabulary.special);
    const id = pick(next, closing.length > 0 && next() < 0.6 ? closing : ids);
    if (id === vocabulary.end) break;
    constraint.accept(id);
    const special = id >= vocabulary.special;
    pieces.push({
      id,
      special,
      text: special ? '' : decoder.decode(vocabulary.bytes(id, false), { stream: true }),
    });
  }
  return { pieces, text: pieces.map(({ text }) => text).join('') };
}

const formats: [string, OutputFormat, boolean][] = [...TOOL_FORMATS.keys(), 'gpt-oss'].flatMap((name) => {
  const tools = name === JSON_CALLS.name ? undefined : name;
  const format =
    tools === undefined
      ? { tools: JSON_CALLS, reasoning: null, channels: null }
      : outputFormat({ tools, reasoning: 'none' }, { tools: null, reasoning: null });
  return [
    [name, format, false],
    [name, format, true],
  ] as [string, OutputFormat, boolean][];
});

describe.each(formats)('the rule of a reply in %s', (name, format, asSpecial) => {
  const tools = ['gemma4', 'functiongemma'].includes(name) ? PLAIN_TOOLS : TOOLS;
  const setting = setUp(format, asSpecial);
  const ruleOf = (plan: Partial<ToolPlan>, answer: TextConstraint | null = null, answering = false) =>
    ruleOfReply(
      {
        type: 'reply',
        mode: 'declared',
        format,
        tools: { tools, mode: 'required', single: false, ...plan },
        given: tools,
        answer,
        answering,
        specials: setting.specials,
      },
      {
        schemas: {
          ruleOf: (schema, { path }) => ruleOfSchema(schema, { path }),
          leaveOut() {},
          isClosed: true,
        },
        constraint: () => textRule('{"ok": true}'),
      },
    );
  const read = ({ pieces }: Walked, begins: Begins = 'undecided') =>
    told(pieces, format, { tools, begins, specialId: setting.specialId });
  const check = (parts: ReturnType<typeof told>, text: string) => {
    for (const part of parts) {
      if (!('name' in part)) continue;
      const validate = validators.get(part.name)!;
      expect(validate(JSON.parse(part.arguments)), `${text}\n${part.arguments}`).toBe(true);
    }
  };

  test(`${asSpecial ? 'special tokens' : 'text'}: required calls fit the tools`, () => {
    const grammar = grammarOf(ruleOf({}), setting);
    const next = random(5);
    for (let round = 0; round < 6; round++) {
      const walked = walk(grammar, setting, next);
      const parts = read(walked);
      expect(parts.length, walked.text).toBeGreaterThan(0);
      expect(
        parts.every((part) => 'name' in part),
        walked.text + JSON.stringify(parts),
      ).toBe(true);
      check(parts, walked.text);
    }
  });

  test(`${asSpecial ? 'special tokens' : 'text'}: one call at most, or the answer`, () => {
    const grammar = grammarOf(ruleOf({ mode: 'auto', single: true }, { type: 'json_object' }), setting);
    const next = random(9);
    const seen = new Set<string>();
    for (let round = 0; round < 32; round++) {
      const walked = walk(grammar, setting, next);
      const parts = read(walked);
      expect(parts, walked.text).toHaveLength(1);
      if ('content' in parts[0]!) expect(parts[0].content).toBe('{"ok": true}');
      check(parts, walked.text);
      seen.add('content' in parts[0]! ? 'content' : 'call');
    }
    expect(seen.size).toBe(2);
  });

  test(`${asSpecial ? 'special tokens' : 'text'}: free text, but calls fit the tools`, () => {
    const grammar = grammarOf(ruleOf({ mode: 'auto' }), setting);
    const next = random(11);
    for (let round = 0; round < 6; round++) {
      const walked = walk(grammar, setting, next);
      check(read(walked), walked.text);
    }
  });

  test(`${asSpecial ? 'special tokens' : 'text'}: calls behind an answer that has begun`, () => {
    const required = grammarOf(ruleOf({}, { type: 'json_object' }, true), setting);
    const walked = walk(required, setting, random(13));
    const parts = read(walked, 'answer').filter((part) => !('content' in part && part.content === '\n'));
    expect(parts.length, walked.text).toBeGreaterThan(0);
    expect(
      parts.every((part) => 'name' in part),
      walked.text,
    ).toBe(true);
    check(parts, walked.text);

    const auto = grammarOf(ruleOf({ mode: 'auto' }, null, true), setting).start();
    const { encode, end, size } = setting.vocabulary;
    const isMarked = format.tools?.bare === undefined;
    for (const id of isMarked ? encode('Hm.') : []) auto.accept(id);
    for (const { id } of walked.pieces) auto.accept(id!);
    const mask = new Uint32Array(Math.ceil(size / 32));
    auto.mask(mask);
    expect(idsOf(mask)).toContain(end);

    const answer = grammarOf(ruleOf({ mode: 'auto' }, { type: 'json_object' }, true), setting);
    expect(read(walk(answer, setting, random(15)), 'answer')).toEqual([{ content: '{"ok": true}' }]);
  });
});
