import { describe, expect, it } from 'vitest';
import { RequestError } from '../../../src/server/http/errors.ts';
import { MOST_MEMBERS, MOST_PARTS, MOST_VALUES, parseJson } from '../../../src/server/body/json-text.ts';

const parse = (text: string): unknown => parseJson(Buffer.from(text), 'the body');

function refusal(bytes: Uint8Array | string): Pick<RequestError, 'code' | 'param' | 'message'> {
  try {
    parseJson(Buffer.from(bytes as string), 'the body');
  } catch (error) {
    if (error instanceof RequestError) return error;
    throw error;
  }
  throw new Error('accepted');
}

const many = (count: number, one: string): string => `[${Array(count).fill(one).join(',')}]`;
const members = (count: number): string =>
  `{${Array.from({ length: count }, (_, at) => `"k${at}":1`).join(',')}}`;

describe('the values of a JSON text are counted before it is parsed', () => {
  // None of these is valid JSON, so an attempt to parse them would give a different message.
  it.each([
    ['values', `${many(MOST_VALUES + 1, '1')}!`, `more than ${MOST_VALUES} values`],
    ['objects', `${many(MOST_PARTS, '{}')}!`, `more than ${MOST_PARTS} texts, lists and objects`],
    ['lists', `${many(MOST_PARTS, '[]')}!`, `more than ${MOST_PARTS} texts, lists and objects`],
    ['texts', `${many(MOST_PARTS, '""')}!`, `more than ${MOST_PARTS} texts, lists and objects`],
    ['members', `${members(MOST_MEMBERS + 1)}!`, `an object of more than ${MOST_MEMBERS} members`],
    ['levels', '['.repeat(201), 'deeper than 200 levels'],
    ['levels of objects', '{"a":'.repeat(201), 'deeper than 200 levels'],
  ])('%s', (_, text, message) => {
    expect(refusal(text)).toMatchObject({ code: 'invalid_json', message: expect.stringContaining(message) });
  });

  it.each([
    ['values', many(MOST_VALUES, '1')],
    ['parts', many(MOST_PARTS - 1, '{}')],
    [
      'members, in objects beside and inside each other',
      `[${members(MOST_MEMBERS)},{"a":[1,{"b":1}],"c":2}]`,
    ],
    ['levels', '['.repeat(200) + ']'.repeat(200)],
    ['levels after others', many(300, '[[]]')],
    ['what a text holds', JSON.stringify({ a: ',[{"\\'.repeat(MOST_PARTS), 'b\\"': '\\' })],
    ['what is after the last quotation mark', '{"a":"\\\\"}'],
  ])('as many %s as there may be pass', (_, text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it.each(['', '"', '"\\', '{"a":"b', ']]]]', ',,,', 'nul'])('%j is not JSON', (text) => {
    expect(refusal(text).message).toContain('is not valid JSON');
  });
});

describe('a JSON text that no tokenizer has', () => {
  it.each([[[0xff, 0xfe]], [[0xed, 0xa0, 0x80]], [[0xc3]], [[0xc0, 0x80]]])(
    'bytes %j are not UTF-8',
    (bytes) => {
      const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
      expect(refusal(body)).toMatchObject({
        code: 'invalid_json',
        message: 'the body is not valid UTF-8; send JSON in that encoding',
      });
    },
  );

  it.each([
    ['{"a":[{"b":"x\\ud83d"}]}', 'a.0.b', 'a.0.b holds \\ud83d, which is half of a character'],
    ['{"a":"\\uDE00\\uD83D"}', 'a', 'a holds \\ude00'],
    ['{"a":{"\\ud800":1}}', 'a', 'a holds \\ud800'],
    ['{"\\ud800":1}', null, 'the body holds \\ud800'],
  ])('%s holds half of a character', (text, param, message) => {
    expect(refusal(text)).toMatchObject({
      code: 'invalid_value',
      param,
      message: expect.stringContaining(message),
    });
  });

  it.each(['{"a":"\\ud83d\\ude00 😀 \\ufffd"}', '{"a":"\\\\ud83d"}', '{"a":"\ufffd"}'])(
    '%s passes',
    (text) => {
      expect(parse(text)).toEqual(JSON.parse(text));
    },
  );

  it('begins with a mark of UTF-8, as some clients write it', () => {
    expect(parse('\ufeff{"a":1}')).toEqual({ a: 1 });
    expect(refusal('\ufeff\ufeff{"a":1}')).toMatchObject({ code: 'invalid_json' });
  });
});
