// Vocabularies made up for tests: given tokens, every byte by itself where asked for, and an end token.

import { createVocabulary, type Vocabulary } from '../../src/grammar/masks/vocabulary.ts';

/** A small deterministic generator of numbers in [0, 1). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export const pick = <T>(next: () => number, list: readonly T[]): T => list[Math.floor(next() * list.length)]!;

const utf8 = new TextEncoder();

/** Ids: the tokens in their order, then bytes, then special tokens; the last is the end token. */
export function smallVocabulary(
  tokens: readonly (string | Uint8Array)[],
  { bytes = true, specials = 0, leadingSpaces = 0, marks = [] as number[] } = {},
): Vocabulary & { end: number; special: number } {
  const all = tokens.map((token) => (typeof token === 'string' ? utf8.encode(token) : token));
  if (bytes) for (let byte = 0; byte < 256; byte++) all.push(Uint8Array.of(byte));
  const special = all.length;
  for (let i = 0; i <= specials; i++) all.push(utf8.encode(`<special ${i}>`));
  const end = all.length - 1;
  const specialIds = new Set(Array.from({ length: specials + 1 }, (_, i) => special + i));
  const encode = (text: string): number[] => {
    const ids: number[] = [];
    const given = utf8.encode(text);
    for (let at = 0; at < given.length;) {
      let best = -1;
      all.forEach((token, id) => {
        const fits = token.length > 0 && token.every((byte, i) => given[at + i] === byte);
        if (fits && !specialIds.has(id) && token.length > (all[best]?.length ?? 0)) best = id;
      });
      if (best < 0) return ids;
      ids.push(best);
      at += all[best]!.length;
    }
    return ids;
  };
  const tokenizer = {
    specialIds,
    markIds: new Set(marks),
    leadingSpaces,
    vocabSize: all.length,
    tokenBytes: (id: number) => all[id] ?? new Uint8Array(0),
    encode,
  };
  return { ...createVocabulary(tokenizer, all.length, [end]), end, special };
}

export function idsOf(mask: Uint32Array): number[] {
  const ids: number[] = [];
  mask.forEach((word, i) => {
    for (let bit = 0; bit < 32; bit++) if ((word >>> bit) & 1) ids.push(32 * i + bit);
  });
  return ids;
}
