// Kinds of arguments for every form of a tool's schema.

import { expect, it } from 'vitest';
import type { Tool } from '../../../../src/engine/text/calls/text-model.ts';
import { kindsOf, toJson, type Kinds } from '../../../../src/engine/text/output/typed-value.ts';
import { formatOf, piecesOf, told } from './feed.ts';

const MARK = ']<]minimax[>[';

const element = (name: string, content: string): string => `${MARK}<${name}>${content}${MARK}</${name}>`;

/** Arguments of a call whose argument is the element `value`. */
function argumentsOf(parameters: Record<string, unknown>, content: string): string {
  const tools: Tool[] = [{ type: 'function', function: { name: 'set', parameters } }];
  const call = `${MARK}<invoke name="set">${element('value', content)}${MARK}</invoke>`;
  const pieces = piecesOf([element('tool_call', call)]);
  const [part] = told(pieces, formatOf('minimax_m3', null), { tools });
  return part && 'arguments' in part ? part.arguments : '';
}

const DEFS = { 'a/b': { type: 'integer' }, 'x y': { type: 'boolean' } };

it.each([
  ['#/$defs/a~1b', ['integer']],
  ['#/$defs/x%20y', ['boolean']],
  ['#/$defs/missing', []],
  ['#/$defs/%zz', []],
  ['https://example.com/schema', []],
])('the type of a reference to %s is %j', (reference, kinds) => {
  const parameters = { $defs: DEFS, properties: { value: { $ref: reference } } };
  expect([...kindsOf(parameters, 'value')]).toEqual(kinds);
});

it.each([
  ['{{user}}', [], '"{{user}}"'],
  ['{name}', ['object'], '"{name}"'],
  ['{0}', ['array', 'string'], '"{0}"'],
  ["{'a', b}", ['array'], '["a", "b"]'],
  ["{'a': {True: None}}", [], '{"a": {"True": null}}'],
])('the text %s of one of the types %j is %s', (text, kinds, json) => {
  expect(toJson(text, new Set(kinds) as Kinds)).toBe(json);
});

it.each(['{', '[', '{('])('a text of many %s is read once', (bracket) => {
  const text = bracket.repeat(200_000);
  const expected = JSON.stringify(text);
  expect(toJson(text, new Set(['array'] as const)) === expected).toBe(true);
});

it('sets in the depth of sets are read once', () => {
  const text = `${'{'.repeat(250)}1${'}'.repeat(250)}`;
  expect(toJson(text, new Set(['array'] as const))).toBe(`${'['.repeat(250)}1${']'.repeat(250)}`);
});

it('alternatives that refer to themselves many times are looked at once', () => {
  const itself = Array.from({ length: 100 }, () => ({ $ref: '#/properties/value' }));
  const parameters = { properties: { value: { anyOf: [...itself, { type: 'integer' }] } } };
  expect([...kindsOf(parameters, 'value')]).toEqual(['integer']);
  expect(argumentsOf(parameters, element('x', '1'))).toBe('{"value": {"x": "1"}}');
});

it.each([
  [element('lat', '1') + element('lon', '2'), '{"lat": 1, "lon": 2}'],
  [element('lat', '1'), '{"lat": 1}'],
  [element('lat', '1') + element('lat', '2'), '["1", "2"]'],
  [element('item', '1'), '["1"]'],
  ['1', '"1"'],
])('the elements %s of a list or an object are %s', (content, json) => {
  const object = { type: 'object', additionalProperties: { type: 'integer' } };
  const list = { type: 'array', items: { type: 'string' } };
  const value = { anyOf: [{ type: 'string' }, list, object] };
  expect(argumentsOf({ properties: { value } }, content)).toBe(`{"value": ${json}}`);
});
