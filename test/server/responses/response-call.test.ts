import { expect, it } from 'vitest';
import { createInputReader } from '../../../src/server/responses/response-call.ts';

const TEXT = 'a "b"\n\\n\tgrü😀\u0001 {"input": "x"}';

function read(parts: readonly string[]): string[] {
  const reader = createInputReader();
  return [...parts.map((part) => reader.read(part)), reader.end()];
}

it('the reader of a free-form call reads the text wherever its JSON is cut', () => {
  const escaped = JSON.stringify(TEXT).replace('😀', '\\ud83d\\ude00');
  for (const json of [`{"input":${JSON.stringify(TEXT)}}`, ` { "input" : ${escaped} }`]) {
    expect(read(Array.from({ length: json.length }, (_, at) => json[at]!)).join('')).toBe(TEXT);
    for (let cut = 0; cut <= json.length; cut++)
      expect(read([json.slice(0, cut), json.slice(cut)]).join('')).toBe(TEXT);
  }
});

it('the reader of a free-form call gives the text so far, and no half characters', () => {
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

it('the reader of a free-form call gives other arguments as they stand', () => {
  expect(read(['{"patch": ', '"a"}'])).toEqual(['', '', '{"patch": "a"}']);
  expect(read(['{"input": "a\nb\\qc"}']).join('')).toBe('a\nb\\qc');
});

it('the text of a free-form call that is cut short is the text so far', () => {
  expect(read(['{"input": "ab\\'])).toEqual(['ab', '']);
});
