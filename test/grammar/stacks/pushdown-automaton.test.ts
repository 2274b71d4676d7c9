// Masks against a derivation oracle: all texts of small random grammars, written out by brute force.

import { describe, expect, test } from 'vitest';
import { compile } from '../../../src/grammar/compile/compile.ts';
import { limits } from '../../../src/grammar/automata/dfa.ts';
import { Grammar } from '../../../src/grammar/grammar.ts';
import {
  choice,
  reference,
  repeat,
  scope,
  sequence,
  text,
  token,
  type Rule,
} from '../../../src/grammar/rules/rule.ts';
import type { Vocabulary } from '../../../src/grammar/masks/vocabulary.ts';
import { idsOf, pick, random, smallVocabulary } from '../small-vocabulary.ts';

function grammarOf(rule: Rule, vocabulary: Vocabulary): Grammar {
  return new Grammar(compile(rule, vocabulary.available, limits()), vocabulary);
}

function maskOf(constraint: { mask(into: Uint32Array): boolean }, vocabulary: Vocabulary): number[] {
  const bits = new Uint32Array(Math.ceil(vocabulary.size / 32));
  expect(constraint.mask(bits)).toBe(true);
  return idsOf(bits);
}

/** Texts of at most `longest` characters, by adding derivations until none is new. */
function textsOf(rules: Record<string, Rule>, start: Rule, longest: number): Set<string> {
  const known = new Map(Object.keys(rules).map((name) => [name, new Set<string>()]));
  const join = (a: Set<string>, b: Set<string>): Set<string> => {
    const both = new Set<string>();
    for (const x of a) for (const y of b) if (x.length + y.length <= longest) both.add(x + y);
    return both;
  };
  const read = (rule: Rule): Set<string> => {
    switch (rule.type) {
      case 'text':
        return new Set(rule.text.length <= longest ? [rule.text] : []);
      case 'sequence':
        return rule.rules.map(read).reduce(join, new Set(['']));
      case 'choice':
        return new Set(rule.rules.flatMap((each) => [...read(each)]));
      case 'reference':
        return known.get(rule.name)!;
      case 'repeat': {
        const once = read(rule.rule);
        let all = new Set<string>();
        let now = new Set(['']);
        for (let i = 0; i <= Math.min(rule.max, longest + rule.min); i++) {
          if (i >= rule.min) all = new Set([...all, ...now]);
          now = join(now, once);
        }
        return all;
      }
      default:
        throw new Error(rule.type);
    }
  };
  for (let grew = true; grew;) {
    grew = false;
    for (const [name, rule] of Object.entries(rules)) {
      const before = known.get(name)!.size;
      known.set(name, read(rule));
      grew ||= known.get(name)!.size > before;
    }
  }
  return read(start);
}

const NAMES = ['A', 'B', 'C'];

function randomRule(next: () => number, depth: number): Rule {
  const inner = (): Rule => randomRule(next, depth - 1);
  if (depth === 0) return text(pick(next, ['a', 'b', 'ab', 'é', 'é😀', '']));
  return pick(next, [
    () => sequence(inner(), inner()),
    () => sequence(inner(), inner(), inner()),
    () => choice(inner(), inner()),
    () => choice(inner(), inner(), inner()),
    () => repeat(inner(), 0, 2),
    () => repeat(inner(), 1),
    () => sequence(text(pick(next, ['a', 'b', '('])), reference(pick(next, NAMES)), inner()),
    () => sequence(text(pick(next, ['a', 'b'])), reference(pick(next, NAMES))),
    () => reference(pick(next, NAMES)),
    inner,
  ])();
}

const TOKENS = [
  'a',
  'b',
  'aa',
  'ab',
  'ba',
  'aba',
  'é',
  'é😀',
  '(',
  ')',
  '(a',
  'b(',
  Uint8Array.of(0xa9),
  Uint8Array.of(0xa9, 0xf0),
];
const utf8 = new TextEncoder();
const latin = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

describe('masks of random grammars', () => {
  const vocabulary = smallVocabulary(TOKENS);
  const spelled = Array.from({ length: vocabulary.end }, (_, id) => latin(vocabulary.bytes(id, false)));

  test('allow exactly the tokens that lead on', () => {
    const next = random(7);
    let judged = 0;
    let extra = 0;
    let found = 0;
    for (let i = 0; i < 80; i++) {
      const rules = Object.fromEntries(NAMES.map((name) => [name, choice(randomRule(next, 2), text('a'))]));
      const start = randomRule(next, 3);
      let grammar: Grammar;
      try {
        grammar = grammarOf(scope(rules, start), vocabulary);
      } catch (error) {
        expect(String(error)).toMatch(/begins with itself|no text/);
        continue;
      }
      const longest = 7;
      const texts = [...textsOf(rules, start, longest)];
      if (texts.length > 3000) continue;
      const all = new Set(texts.map((one) => latin(utf8.encode(one))));
      for (let walk = 0; walk < 4; walk++) {
        const constraint = grammar.start();
        let soFar = '';
        for (let step = 0; step < 3; step++) {
          const allowed = maskOf(constraint, vocabulary);
          judged++;
          const wanted = new Set<number>();
          for (const one of all) {
            if (one === soFar) wanted.add(vocabulary.end);
            if (!one.startsWith(soFar)) continue;
            spelled.forEach((bytes, id) => one.startsWith(bytes, soFar.length) && wanted.add(id));
          }
          for (const id of wanted) expect(allowed).toContain(id);
          // Texts longer than those written out may need more tokens: each of these must have a text that the machine accepts.
          for (const id of allowed.filter((each) => !wanted.has(each))) {
            expect(id).not.toBe(vocabulary.end);
            const whole = completed(constraint, id, vocabulary, next);
            extra++;
            if (whole === null) continue;
            found++;
            const bytes = Uint8Array.from(soFar + whole, (one) => one.charCodeAt(0));
            expect(new TextDecoder().decode(bytes).length).toBeGreaterThan(longest);
          }
          expect(allowed.length).toBeGreaterThan(0);
          const id = pick(next, allowed);
          constraint.accept(id);
          if (id === vocabulary.end) break;
          soFar += spelled[id]!;
          if (soFar.length > 3) break;
        }
      }
    }
    expect(judged).toBeGreaterThan(100);
    expect(found / extra).toBeGreaterThan(0.95);
  });
});

/** Returns a complete text that begins with this token, found by random walks; null: none was found. */
function completed(
  constraint: ReturnType<Grammar['start']>,
  first: number,
  vocabulary: ReturnType<typeof smallVocabulary>,
  next: () => number,
): string | null {
  for (let walk = 0; walk < 60; walk++) {
    const liked = pick(next, [0, 1, 6]);
    const at = constraint.fork();
    let id = first;
    let whole = '';
    for (let step = 0; step < 40 && id !== vocabulary.end; step++) {
      at.accept(id);
      whole += latin(vocabulary.bytes(id, false));
      const allowed = maskOf(at, vocabulary);
      const favourite = allowed.find((each) => each === liked);
      id = favourite !== undefined && next() < walk / 60 ? favourite : pick(next, allowed);
      if (allowed.includes(vocabulary.end)) id = vocabulary.end;
    }
    if (id === vocabulary.end) return whole;
  }
  return null;
}

describe('tokens of a grammar', () => {
  test('special tokens are allowed where the grammar names them, and nowhere else', () => {
    const vocabulary = smallVocabulary(['ab', '<special 0>'], { specials: 1 });
    const grammar = grammarOf(
      sequence(text('<'), token(vocabulary.special), repeat(text('ab'), 0)),
      vocabulary,
    );
    const constraint = grammar.start();
    expect(maskOf(constraint, vocabulary)).not.toContain(vocabulary.special);
    expect(() => constraint.fork().accept(vocabulary.special)).toThrow(/does not allow/);
    const bracket = maskOf(constraint, vocabulary)[0]!;
    constraint.accept(bracket);
    expect(maskOf(constraint, vocabulary)).toEqual([vocabulary.special]);
    expect(constraint.forced()).toEqual([vocabulary.special]);
    constraint.accept(vocabulary.special);
    expect(maskOf(constraint, vocabulary)).toContain(vocabulary.end);
  });

  test('a fork goes its own way', () => {
    const vocabulary = smallVocabulary(['aa', 'b']);
    const constraint = grammarOf(choice(text('aab'), text('b')), vocabulary).start();
    const fork = constraint.fork();
    fork.accept(1);
    expect(fork.ended).toBe(true);
    expect(maskOf(fork, vocabulary)).toEqual([vocabulary.end]);
    expect(constraint.ended).toBe(false);
    constraint.accept(0);
    expect(constraint.forced()).toEqual([1]);
    constraint.accept(1);
    constraint.accept(vocabulary.end);
    expect(maskOf(constraint.fork(), vocabulary)).toEqual([vocabulary.end]);
    expect(() => constraint.accept(1)).toThrow(/does not allow/);
  });

  test('forced runs stop where a token may go on beyond them', () => {
    const vocabulary = smallVocabulary(['name', '":', '": ', ' "', '{"']);
    const rule = sequence(text('{"name": "'), choice(text('x'), text('y')), text('"}'));
    const constraint = grammarOf(rule, vocabulary).start();
    const withTail = smallVocabulary(['name', '":', '": ', ' "', '{"', ' "x']);
    expect(constraint.forced().map((id) => latin(vocabulary.bytes(id, false)))).toEqual([
      '{"',
      'name',
      '": ',
      '"',
    ]);
    const cut = grammarOf(rule, withTail).start();
    expect(cut.forced().map((id) => latin(withTail.bytes(id, false)))).toEqual(['{"', 'name', '": ', '"']);
    const tight = smallVocabulary(['name', '":', ' "', '{"', ' "x']);
    expect(
      grammarOf(rule, tight)
        .start()
        .forced()
        .map((id) => latin(tight.bytes(id, false))),
    ).toEqual(['{"', 'name', '":']);
  });

  test('the first token of a reply loses the space that its tokenizer adds', () => {
    const vocabulary = smallVocabulary([' ab', 'ab', ' '], { leadingSpaces: 1 });
    const constraint = grammarOf(text('abab'), vocabulary).start();
    const allowed = maskOf(constraint, vocabulary);
    expect(allowed).toEqual(expect.arrayContaining([0, 1]));
    expect(allowed).not.toContain(2);
    constraint.accept(0);
    expect(maskOf(constraint, vocabulary)).not.toContain(0);
    const inside = grammarOf(text('abab'), vocabulary).start({ opens: false });
    expect(maskOf(inside, vocabulary)).not.toContain(0);
  });

  test('a vocabulary without some bytes never leads into a text it cannot spell', () => {
    const vocabulary = smallVocabulary(['a', 'b', 'ac'], { bytes: false });
    const grammar = grammarOf(choice(text('ab'), text('acc'), text('é')), vocabulary);
    expect(maskOf(grammar.start(), vocabulary)).toEqual([0]);
    expect(() => grammarOf(text('é'), vocabulary)).toThrow(/can spell/);
  });
});
