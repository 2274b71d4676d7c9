import { expect, it } from 'vitest';
import { createInputReader } from '../../../src/server/responses/response-call.ts';

const TEXT = 'a "b"\n\\n\tgrü😀\u0001 {"input": "x"}';

function read(parts: readonly string[]): string[] {
  const reader = createInputReader();
  return [...parts.map((part) => reader.read(part)), reader.end()];
}

it('reads the text wherever its JSON is cut', () => {
  const escaped = JSON.stringify(TEXT).replace('😀', '\\ud83d\\ude00');
  for (const json of [`{"input":${JSON.stringify(TEXT)}}`, ` { "input" : ${escaped} }`]) {
    expect(read(Array.from({ length: json.length }, (_, at) => json[at]!)).join('')).toBe(TEXT);
    for (let cut = 0; cut <= json.length; cut++)
      expect(read([json.slice(0, cut), json.slice(cut)]).join('')).toBe(TEXT);
  }
});

it('tells what is known, and no half characters', () => {
  expect(read(['{"input": "ab', '\\', 'nc\\ud83d', '\\ude00d', '"', '}'])).toEqual([
    'ab',
    '',
    '\nc',
    '😀d',
    '',
    '',
    '',
  ]);
});

it('gives what a model wrote in its place as it stands', () => {
  expect(read(['{"patch": ', '"a"}'])).toEqual(['', '', '{"patch": "a"}']);
  expect(read(['{"input": "a\nb\\qc"}']).join('')).toBe('a\nb\\qc');
});

it('a text that is cut short is what there is of it', () => {
  expect(read(['{"input": "ab\\'])).toEqual(['ab', '']);
});
