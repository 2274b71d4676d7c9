// Names of optional calls: as soon as a model of random tokens has written the marker of a call, it can write no name but a declared one. A
// call with another name is text.

import { describe, expect, it } from 'vitest';
import type { OutputFormat, ToolFormat } from '../../../../src/engine/text/output/format.ts';
import { isWord, sectionsOf } from '../../../../src/engine/text/output/calls.ts';
import { TOOL_FORMATS } from '../../../../src/engine/text/output/tool-formats.ts';
import type { Tool } from '../../../../src/engine/text/calls/text-model.ts';
import { pick, random } from '../../../grammar/small-vocabulary.ts';
import { formatOf } from './feed.ts';
import { allowed, randomModel, say, type RandomModel } from './random-model.ts';

const NAMES = ['book', 'back up!', 'b_2'];
const TOOLS = NAMES.map((name): Tool => ({ type: 'function', function: { name, strict: false } }));

/** A marker from which a call is certain, and the first character after it. */
interface Begin {
  marker: string;
  first: string;
}

function beginOf(format: ToolFormat): Begin | null {
  const { call, list } = format;
  const body = format.bodies[0]!;
  const inner = {
    json: '{',
    named: 'before' in body && body.before ? body.before : 'b',
    tagged: body.kind === 'tagged' && body.name.begin !== '' ? body.name.begin : 'b',
    python: 'b',
    braces: 'before' in body ? body.before! : '',
  }[body.kind];
  const [section] = sectionsOf(format).map(({ begin }) => begin);
  if (section === undefined && !call) return body.kind === 'tagged' ? { marker: inner, first: 'b' } : null;
  const first = section === undefined ? inner : (call?.begin ?? (list === 'must' ? '[' : inner));
  const marker = section ?? call!.begin;
  return isWord(marker) ? { marker: `${marker}[`, first: inner } : { marker, first };
}

/** Says the first of the ids of a text. */
function sayFirst(calls: ReturnType<RandomModel['start']>, text: string, model: RandomModel, said: number[]) {
  const [id] = model.idsOf(text);
  calls.accept(id!);
  said.push(id!);
}

/** Writes random tokens until any may follow. */
function writeName(calls: ReturnType<RandomModel['start']>, model: RandomModel, next: () => number) {
  const said: number[] = [];
  for (let steps = 0; steps < 300; steps++) {
    const ids = allowed(calls, model);
    if (ids === null) return said;
    expect(ids).not.toContain(model.vocabulary.end);
    const id = pick(next, ids);
    calls.accept(id);
    said.push(id);
  }
  throw new Error('the name does not end');
}

const FORMATS = [...TOOL_FORMATS.values()].flatMap((format) => {
  const begin = beginOf(format);
  return begin === null
    ? []
    : [{ name: format.name, output: { ...formatOf(null, null), tools: format }, begin }];
});
const HARMONY = {
  name: 'gpt-oss',
  output: formatOf('gpt-oss', null),
  begin: { marker: '<|channel|>commentary to=functions.', first: 'b' },
};
const CASES: { name: string; output: OutputFormat; begin: Begin }[] = [...FORMATS, HARMONY];

/** Text after a name that makes the call certain. */
function restOf({ tools, channels }: OutputFormat): string {
  if (channels) return channels.message;
  return tools!.bodies[0]!.kind === 'python' ? ')' : '';
}

describe.each(CASES.flatMap((one) => [true, false].map((asSpecial) => ({ ...one, asSpecial }))))(
  'names of optional calls in $name, markers as special tokens: $asSpecial',
  ({ output, begin, asSpecial }) => {
    const model = randomModel(output, asSpecial, TOOLS);

    it('are declared ones once the marker is there', () => {
      const next = random(11);
      const seen = new Set<string>();
      for (let round = 0; round < 12; round++) {
        const calls = model.start();
        const said: number[] = [];
        say(calls, begin.marker, model, said);
        sayFirst(calls, begin.first, model, said);
        const written = writeName(calls, model, next);
        expect(written.length).toBeGreaterThan(2);
        said.push(...written, ...model.idsOf(restOf(output)));
        const names = model.told(said).flatMap((part) => ('name' in part ? part.name : []));
        expect(names).toHaveLength(1);
        seen.add(names[0]!);
      }
      expect(NAMES).toEqual(expect.arrayContaining([...seen]));
      expect(seen.size).toBeGreaterThan(1);
    });

    it('are free where another name has begun, which makes no call', () => {
      const calls = model.start();
      const said: number[] = [];
      say(calls, begin.marker, model, said);
      for (const text of ['x', '"', 'y']) say(calls, text, model, said);
      expect([calls.idle, allowed(calls, model)]).toEqual([true, null]);
      expect(model.told(said).some((part) => 'name' in part)).toBe(false);
    });
  },
);
