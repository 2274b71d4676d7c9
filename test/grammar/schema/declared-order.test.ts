// Schemas in the reading whose declared properties come in their order, and others after them.

import { expect, test } from 'vitest';
import { accepts, grammarOf } from './judge.ts';

const reading = { isOrdered: true, isClosed: false, isPlain: true };
const number = { type: 'integer' };

function expectTexts(schema: object, { allowed, refused }: Record<'allowed' | 'refused', string[]>): void {
  const grammar = grammarOf(schema, reading);
  const verdicts = (texts: string[]): boolean[] => texts.map((text) => accepts(grammar, text));
  expect([verdicts(allowed), verdicts(refused)]).toEqual([allowed.map(() => true), refused.map(() => false)]);
}

test('declared properties may be left out, and all others follow', () => {
  expectTexts(
    { type: 'object', properties: { b: number, a: number } },
    {
      allowed: ['{}', '{"b":1,"a":1,"c":"x"}', '{"a":1,"d":[],"c":2}', '{"c":1}'],
      refused: ['{"a":1,"b":1}', '{"c":1,"a":1}', '{"b":"x"}'],
    },
  );
});

test('properties of a condition come before those of its branch', () => {
  const schema = JSON.parse(`{
    "type": "object",
    "if": { "properties": { "kind": { "const": 1 } }, "required": ["kind"] },
    "then": { "properties": { "one": { "type": "integer" } } },
    "else": { "properties": { "other": { "type": "integer" } } }
  }`) as object;
  expectTexts(schema, {
    allowed: ['{"kind":1,"one":2,"c":1}', '{"kind":2,"other":1,"c":1}'],
    refused: ['{"one":2,"kind":1}', '{"other":1,"kind":2}', '{"kind":1,"one":"x"}'],
  });
});

test('an object of enum keeps its order', () => {
  expectTexts(
    { enum: [{ b: 1, a: 2 }] },
    { allowed: ['{"b":1,"a":2}'], refused: ['{"a":2,"b":1}', '{"b":1,"a":2,"c":3}'] },
  );
});
