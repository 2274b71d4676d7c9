// Patterns of zod that contain look-ahead, against JavaScript's own matching.

import { expect, test } from 'vitest';
import { z } from 'zod';
import { accepts as inDfa } from '../../../src/grammar/automata/dfa.ts';
import { regexDfa } from '../../../src/grammar/automata/regex.ts';
import { readablePattern } from '../../../src/grammar/schema/known-pattern.ts';
import { pick, random } from '../small-vocabulary.ts';
import { accepts, grammarOf } from './judge.ts';

const next = random(5);
const among = (pieces: string[], most: number): string =>
  Array.from({ length: Math.floor(next() * most) }, () => pick(next, pieces)).join('');
const DURATION = ['1', '20', 'Y', 'M', 'D', 'W', 'T', 'H', 'S', '.', ',', '3Y', '4M', '5D', '6H', '7M', '8S'];

test.each([
  ['duration', z.regexes.duration, () => `P${among(DURATION, 8)}`],
  [
    'iban',
    z.regexes.iban,
    () => `DE${pick(next, ['00', '01', '02', '55', '98', '99'])}${among(['A', '11', 'B2C3D4'], 12)}`,
  ],
])('the pattern of zod for %s', (_name, regex, make) => {
  const readable = readablePattern(regex.source);
  expect(readable).not.toBe(regex.source);
  const dfa = regexDfa(readable, { whole: false });
  const matched = Array.from({ length: 4000 }, make).filter((text) => {
    expect([text, inDfa(dfa, text)]).toEqual([text, regex.test(text)]);
    return regex.test(text);
  });
  expect(matched.length).toBeGreaterThan(50);
});

test('zod schemas with known patterns', () => {
  const grammar = grammarOf(z.toJSONSchema(z.object({ lasts: z.iso.duration() })));
  expect(
    ['P1Y2M', 'PT5M', 'P', 'PT', 'P1M2Y'].map((lasts) => accepts(grammar, JSON.stringify({ lasts }))),
  ).toEqual([...[true, true, false, false, false]]);
});
