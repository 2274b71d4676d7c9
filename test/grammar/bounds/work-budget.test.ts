// Masks are computed on the serving thread, so a grammar whose masks would take long is refused, always at the same position.

import { expect, it } from 'vitest';
import { Grammar } from '../../../src/grammar/grammar.ts';
import { compileConstraint } from '../compile-constraint.ts';
import { smallVocabulary } from '../small-vocabulary.ts';

const vocabulary = smallVocabulary(['aa', 'aaa', ' a', '((', '))']);
const grammarOf = (grammar: string) =>
  new Grammar(compileConstraint({ type: 'ebnf', grammar }, vocabulary.available), vocabulary);
const tooMuch = expect.objectContaining({
  code: 'bad_request',
  message: expect.stringContaining('too many ways to go on'),
});

it('nested counts of what may be empty are refused before a text begins', () => {
  const nested = 'root ::= (((("a" | b){0,100}){0,100}){0,100}){0,100}\nb ::= "(" root ")"';
  expect(() => grammarOf(nested)).toThrow(tooMuch); // without the bound it takes minutes, which end the test
});

it('a text with too many meanings is refused where it exceeds the budget, the same way each time', () => {
  const texts = [0, 1].map(() => {
    const text = grammarOf(
      'root ::= (s "x"?){0,60}\ns ::= ("a" t?){0,50}\nt ::= (root){0,40} | "(" root ")"',
    ).start();
    const mask = new Uint32Array(Math.ceil(vocabulary.size / 32));
    let taken = 0;
    try {
      for (; taken < 20; taken++) {
        text.mask(mask);
        text.accept(vocabulary.encode('a')[0]!);
      }
    } catch (error) {
      expect(error).toEqual(tooMuch);
    }
    return taken;
  });
  expect(texts[0]).toBe(texts[1]);
});

it('a large grammar without ambiguity is not refused', () => {
  const text = grammarOf(
    `root ::= ("(" root ")" | ${Array.from({ length: 500 }, (_, i) => `"a${i}" root?`).join(' | ')})+`,
  ).start();
  const mask = new Uint32Array(Math.ceil(vocabulary.size / 32));
  for (const id of vocabulary.encode('((a1a22))a499')) {
    text.mask(mask);
    expect((mask[id >>> 5]! >>> (id & 31)) & 1).toBe(1);
    text.accept(id);
  }
});
