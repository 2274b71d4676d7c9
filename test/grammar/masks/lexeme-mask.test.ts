// Masks of lexemes against a check of every token, byte by byte; state equivalence against exhaustive partition refinement.

import { expect, test } from 'vitest';
import { ANY_TEXT, limits, type Dfa } from '../../../src/grammar/automata/dfa.ts';
import { advance, isComplete } from '../../../src/grammar/lexemes/lexeme-state.ts';
import { createLexeme, type Lexeme } from '../../../src/grammar/lexemes/lexeme.ts';
import { equivalentStates } from '../../../src/grammar/masks/state-equivalence.ts';
import { regexDfa } from '../../../src/grammar/automata/regex.ts';
import type { TextEncoding } from '../../../src/grammar/lexemes/decoder-states.ts';
import { createTrie } from '../../../src/grammar/masks/trie.ts';
import { LexemeMasks } from '../../../src/grammar/masks/lexeme-mask.ts';
import { idsOf, pick, random } from '../small-vocabulary.ts';

const EVERY_BYTE = new Uint8Array(256).fill(1);
const utf8 = new TextEncoder();
const dfaOf = (pattern: string): Dfa => regexDfa(pattern, { whole: true });
const LEXEMES: Record<string, [Dfa, TextEncoding]> = {
  'words and spaces': [dfaOf('(\\w+ ){3,40}\\d{4}'), 'plain'],
  'any JSON string': [ANY_TEXT, 'string'],
  'bounded JSON string': [dfaOf('[\\s\\S]{2,30}'), 'string'],
  'letters told apart': [dfaOf('([^t]|t[^he])*the? [a-c]*'), 'plain'],
  'é and other letters': [dfaOf('[a-zé日]+(☃|😀)?[\\s\\S]?'), 'plain'],
  hexadecimal: [dfaOf('[0-9a-f]{8}-[0-9a-f]{4}'), 'plain'],
};

/** Pseudo-random texts of a few pieces, some of them single bytes, and some duplicates. */
function tokens(): Uint8Array[] {
  const next = random(11);
  const pieces = [
    'the',
    'ca',
    'x',
    'Q',
    '7',
    '19',
    ' ',
    '  ',
    '"',
    '\\',
    '\\n',
    '\\u00',
    '-',
    'é',
    '日',
    '😀',
    '\n',
  ];
  const texts = Array.from({ length: 900 }, () =>
    utf8.encode(Array.from({ length: 1 + Math.floor(next() * 8) }, () => pick(next, pieces)).join('')),
  );
  const cut = texts.slice(0, 200).map((text) => text.subarray(Math.floor(next() * 3), text.length - 1));
  return [...texts, ...cut, ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte))];
}

/** The state after a text, or -1. */
function after(lexeme: Lexeme, from: number, text: Uint8Array): number {
  let state = from;
  for (const byte of text) if (state >= 0) state = advance(lexeme, state, byte);
  return state;
}

test('walks of a lexeme mask take the tokens that a lexeme takes byte by byte', () => {
  const texts = tokens();
  const size = texts.length;
  const ids = texts.map((_, id) => id).filter((id) => texts[id]!.length > 0);
  const trie = createTrie(ids, (id) => texts[id]!, size);
  const lexemeMasks = new LexemeMasks(trie, size, new Set());
  for (const [name, [dfa, kind]] of Object.entries(LEXEMES)) {
    const lexeme = createLexeme(dfa, kind, EVERY_BYTE, limits());
    const next = random(3);
    let state = 0;
    let allowed = 0;
    for (let step = 0; step < 12 && state >= 0; step++) {
      const wanted = ids.filter((id) => after(lexeme, state, texts[id]!) >= 0);
      const bits = new Uint32Array(Math.ceil(size / 32));
      const ways = new Set<number>();
      for (const walk of lexemeMasks.of(lexeme, state)) {
        walk.bits?.forEach((word, i) => (bits[i]! |= word));
        for (const id of walk.tokens) bits[id >>> 5]! |= 1 << (id & 31);
        for (const place of walk.exits)
          for (const node of lexemeMasks.traversal.nodesOf(place)) ways.add(node);
      }
      expect(idsOf(bits), name).toEqual(wanted);
      allowed += wanted.length;
      for (let node = 1; node < trie.nodes; node++) {
        const to = after(lexeme, state, textOf(node));
        if (to >= 0 && isComplete(lexeme, to) && trie.subtreeEnd[node]! > node + 1)
          expect(ways.has(node), name).toBe(true);
        else if (ways.has(node)) expect(trie.subtreeEnd[node], name).toBe(node + 1); // others of its kind go on
      }
      if (wanted.length === 0) break;
      state = after(lexeme, state, texts[pick(next, wanted)]!);
    }
    expect(allowed, name).toBeGreaterThan(50);
  }

  function textOf(node: number): Uint8Array {
    const bytes: number[] = [];
    for (let at = node; at > 0; at = trie.parent[at]!) bytes.unshift(trie.byte[at]!);
    return Uint8Array.from(bytes);
  }
});

test('states of a lexeme mask are alike if no text of a length tells them apart', () => {
  const lengths = [1, 2, 8, 24, 64];
  for (const [name, [dfa, kind]] of Object.entries(LEXEMES)) {
    const lexeme = createLexeme(dfa, kind, EVERY_BYTE, limits());
    const { next, accept, classCount } = lexeme;
    let kinds = [...accept].map(String);
    let round = 0;
    const wanted = lengths.map((length) => {
      for (; round < length; round++) {
        const names = new Map<string, string>();
        kinds = kinds.map((own, state) => {
          const row = next.subarray(state * classCount, (state + 1) * classCount);
          const key = [own, ...Array.from(row, (to) => (to < 0 ? '' : kinds[to]!))].join();
          if (!names.has(key)) names.set(key, String(names.size));
          return names.get(key)!;
        });
      }
      return kinds.map((own) => kinds.indexOf(own));
    });
    expect(
      equivalentStates(lexeme, lengths).map((first) => [...first]),
      name,
    ).toEqual(wanted);
  }
});
