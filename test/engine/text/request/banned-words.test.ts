// Banned words, compared with a plain text search: a token is banned exactly if it would complete a word.

import { describe, expect, it } from 'vitest';
import { bannedWords } from '../../../../src/engine/text/request/banned-words.ts';
import type { Vocabulary } from '../../../../src/grammar/masks/vocabulary.ts';
import { idsOf, pick, random, smallVocabulary } from '../../../grammar/small-vocabulary.ts';

type Banned = ReturnType<ReturnType<typeof bannedWords>>;

function banned(of: Banned, { size }: Vocabulary): number[] {
  const mask = new Uint32Array(Math.ceil(size / 32)).fill(0xffffffff);
  of.clear(mask);
  const left = new Set(idsOf(mask));
  return Array.from({ length: size }, (_, id) => id).filter((id) => !left.has(id));
}

const latin = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

describe('a token is banned if it would complete a banned word', () => {
  it.each([
    [1, 'ab', 3, {}],
    [2, 'abc', 6, {}],
    [3, 'aé', 4, {}],
    [4, 'ab ', 5, { leadingSpaces: 1 }],
    [5, 'a', 4, {}],
  ] as const)('seed %i: words of %j, up to %i characters', (seed, alphabet, longest, options) => {
    const next = random(seed);
    const text = (most: number): string =>
      Array.from({ length: 1 + Math.floor(next() * most) }, () => pick(next, alphabet.split(''))).join('');
    const tokens = [...new Set(Array.from({ length: 60 }, () => text(5)))];
    const vocabulary = smallVocabulary(tokens, options);
    for (let round = 0; round < 8; round++) {
      const words = Array.from({ length: 1 + Math.floor(next() * 5) }, () => text(longest));
      const wanted = words.map((word) => latin(new TextEncoder().encode(word)));
      const says = bannedWords(words, vocabulary)();
      let said = '';
      for (let step = 0; step < 25; step++) {
        const completes = (id: number): boolean => {
          const own = latin(vocabulary.bytes(id, step === 0));
          const ends = Array.from(own, (_, at) => said + own.slice(0, at + 1));
          return ends.some((text) => wanted.some((word) => text.endsWith(word)));
        };
        const all = Array.from({ length: vocabulary.size }, (_, id) => id);
        const expected = all.filter(completes);
        expect(banned(says, vocabulary), `${JSON.stringify(words)} after ${said}`).toEqual(expected);
        expect(all.filter((id) => says.has(id))).toEqual(expected);
        const id = pick(
          next,
          all.filter((one) => !expected.includes(one) && one < tokens.length + 256),
        );
        const fork = says.fork();
        fork.accept(pick(next, all));
        says.accept(id);
        said += latin(vocabulary.bytes(id, step === 0));
      }
    }
  });
});

it('a banned word is kept out of longer words, too', () => {
  const vocabulary = smallVocabulary(['the', ' the', 'To', 'ge', ' Together', 'er', 'ther', 'th']);
  const says = bannedWords(['the'], vocabulary)();
  expect(banned(says, vocabulary)).toEqual([0, 1, 4, 6]);
  for (const id of [2, 3, 7]) says.accept(id);
  expect(banned(says, vocabulary)).toEqual([0, 1, 4, 5, 6, ...vocabulary.encode('e')]);
  says.accept(2);
  expect(banned(says, vocabulary)).toEqual([0, 1, 4, 6]);
});
