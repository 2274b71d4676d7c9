// A length counted beside an automaton, against the automaton that both make together.

import { describe, expect, it, test } from 'vitest';
import { boundLength, lengthProduct } from '../../../src/grammar/automata/length-bound.ts';
import { ANY_TEXT, equal, isEmpty, limits, states } from '../../../src/grammar/automata/dfa.ts';
import { advance, canContinue, isComplete } from '../../../src/grammar/lexemes/lexeme-state.ts';
import { createLexeme, type Lexeme } from '../../../src/grammar/lexemes/lexeme.ts';
import { regexDfa } from '../../../src/grammar/automata/regex.ts';
import type { LexemeMask } from '../../../src/grammar/masks/lexeme-mask.ts';
import { accepts, grammarOf, nextBytes } from '../schema/judge.ts';
import { smallVocabulary } from '../small-vocabulary.ts';

const every = new Uint8Array(256).fill(1);
const noHigh = every.slice().fill(0, 0x80);
const PATTERNS = ['[\\s\\S]*', '(?:ab|c)*d?', 'x(?:[a-é]{2,5}y)+', '(?:\\d{3}-)*\\d{4}', 'a{3}|é+'];
const most = 3000;

/** Yields pairs of states that the same bytes lead to, up to a limit. */
function* pairs(a: Lexeme, b: Lexeme): Generator<[number, number], void, void> {
  const seen = new Map<string, [number, number]>([['0 0', [0, 0]]]);
  for (const [x, y] of seen.values()) {
    yield [x, y];
    for (let byte = 0; byte < 256 && seen.size < most; byte++) {
      const [nextX, nextY] = [advance(a, x, byte), advance(b, y, byte)];
      if (nextX >= 0 !== nextY >= 0) expect({ byte, x, y, nextX, nextY }).toBe('the same');
      if (nextX >= 0) seen.set(`${nextX} ${nextY}`, [nextX, nextY]);
    }
  }
}

describe.each(['plain', 'string', 'name'] as const)('the length bound of %s', (kind) => {
  const cases = PATTERNS.flatMap((pattern) => [0, 1, 3, 7, 40].map((longest) => ({ pattern, longest })));
  test.each(cases)('$pattern, $longest characters', ({ pattern, longest }) => {
    const dfa = regexDfa(pattern, { whole: true });
    for (const available of [every, noHigh]) {
      const counted = createLexeme(dfa, kind, available, limits(), longest);
      const whole = createLexeme(lengthProduct(dfa, longest, limits()), kind, available, limits());
      expect(counted.accept.length > 0).toBe(whole.accept.length > 0);
      if (whole.accept.length === 0) continue;
      for (const [x, y] of pairs(counted, whole)) {
        expect(isComplete(counted, x)).toBe(isComplete(whole, y));
        expect(canContinue(counted, x)).toBe(canContinue(whole, y));
      }
    }
  });

  it('walks the vocabulary alike', () => {
    const tokens = ['abab', 'abcabcababcccc', 'ccd"', '": "ab', 'a'.repeat(30), '\\u00e9é', '12', '3-123-'];
    const { lexemeMasks, size } = smallVocabulary(tokens);
    const tokensOf = (walks: LexemeMask[]): string => {
      const bits = new Uint32Array(Math.ceil(size / 32));
      for (const walk of walks) {
        walk.bits?.forEach((word, i) => (bits[i]! |= word));
        for (const id of walk.tokens) bits[id >>> 5]! |= 1 << (id & 31);
      }
      const exits = walks.flatMap((walk) => [...walk.exits]).toSorted((a, b) => a - b);
      return `${bits.join()} ${exits.join()}`;
    };
    for (const pattern of PATTERNS) {
      const dfa = regexDfa(pattern, { whole: true });
      const counted = createLexeme(dfa, kind, every, limits(), 60);
      const whole = createLexeme(lengthProduct(dfa, 60, limits()), kind, every, limits());
      for (const [x, y] of [...pairs(counted, whole)].filter((_, i) => i % 7 === 0).slice(0, 150))
        expect(tokensOf(lexemeMasks.of(counted, x))).toBe(tokensOf(lexemeMasks.of(whole, y)));
    }
  });
});

describe('the count of a length bound', () => {
  const email = regexDfa('[a-z]{1,60}@(?:[a-z]{1,60}\\.)+[a-z]{2,60}', { whole: true });

  it('is what would make a large automaton, and what a reply can reach', () => {
    expect(boundLength(email, 2000, limits())).toEqual({ dfa: email, longest: 2000 });
    expect(boundLength(email, 2 ** 31 - 1, limits())).toEqual({ dfa: email, longest: 2 ** 31 - 1 });
    expect(boundLength(email, 1e12, limits())).toEqual({ dfa: email, longest: Infinity });
    expect(boundLength(ANY_TEXT, 100, limits()).longest).toBe(Infinity);
    const small = boundLength(ANY_TEXT, 100, limits()).dfa;
    expect(states(small)).toBe(101);
    expect(equal(small, lengthProduct(ANY_TEXT, 100, limits()))).toBe(true);
  });

  it('is nothing where no text is so short', () => {
    const long = regexDfa('(?:a{300})+', { whole: true });
    expect(isEmpty(boundLength(long, 299, limits()).dfa)).toBe(true);
    expect(boundLength(long, 300, limits()).longest).toBe(300);
  });
});

describe('schemas with a length bound', () => {
  const url = (length: number): string => JSON.stringify(`https://example.com/${'a'.repeat(length - 20)}`);

  it('bound the length of formats, as pydantic writes them', () => {
    const httpUrl = { type: 'string', format: 'uri', minLength: 1, maxLength: 2083 };
    const grammar = grammarOf({ anyOf: [httpUrl, { type: 'null' }] });
    expect(accepts(grammar, url(2083))).toBe(true);
    expect(accepts(grammar, url(2084))).toBe(false);
    expect(accepts(grammar, 'null')).toBe(true);
    expect(accepts(grammar, '"no uri"')).toBe(false);
  });

  it('take a bound that no reply reaches', () => {
    for (const maxLength of [2 ** 31 - 1, 2 ** 53 - 1]) {
      const grammar = grammarOf({ type: 'string', maxLength });
      expect(accepts(grammar, JSON.stringify('a'.repeat(200)))).toBe(true);
      expect(accepts(grammarOf({ type: 'string', format: 'email', maxLength }), '"a@b.cd"')).toBe(true);
    }
  });

  it('combine bounds', () => {
    const long = { type: 'string', pattern: '^(?:abc)*$', maxLength: 20_000 };
    const text = (count: number): string => JSON.stringify('abc'.repeat(count));
    const met = grammarOf({ allOf: [long, { maxLength: 6000 }] });
    expect([accepts(met, text(2000)), accepts(met, text(2001))]).toEqual([true, false]);
    const either = grammarOf({ anyOf: [{ ...long, maxLength: 4000 }, { const: 'abcd' }] });
    expect([accepts(either, '"abcd"'), accepts(either, text(2)), accepts(either, text(1334))]).toEqual([
      ...[true, true, false],
    ]);
    const least = grammarOf({ ...long, minLength: 5 });
    expect([accepts(least, text(1)), accepts(least, text(2))]).toEqual([false, true]);
    const outside = grammarOf({ type: 'string', not: { ...long, maxLength: 4000 } });
    expect([accepts(outside, text(1)), accepts(outside, '"abcd"')]).toEqual([false, true]);
    const escaped = grammarOf({ type: 'string', pattern: '^(?:a\\n){0,}$', maxLength: 10_002 });
    const bytes = [...new TextEncoder().encode('"a\\na')];
    const constraint = escaped.start();
    for (const byte of bytes) {
      expect(nextBytes(constraint)).toContain(byte);
      constraint.accept(byte);
    }
    expect(nextBytes(constraint)).toEqual([0x5c]);
  });
});
