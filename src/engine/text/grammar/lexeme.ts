// The bytes of a regular piece of text: an automaton over characters, beside a table that reads characters from bytes. A state
// is a pair, the automaton's state and how far a character has been read, so that neither multiplies the other's size. Plain data.

import { checkLimits, dfa, isEmpty, states, TooLarge, type Dfa, type Limits } from './dfa.ts';
import { createSpelling, type Spelling, type SpellingKind } from './spelling.ts';

export interface Lexeme {
  /** A JSON string. */
  quoted: boolean;
  /** The same for the same content. */
  key: string;
  /** Of the automaton; those of a quoted text have one more for the quote. */
  classCount: number;
  /** [states][classes] → state or -1; the start is 0. */
  next: Int32Array;
  accept: Uint8Array;
  /** Places within a character; 0 is between two. */
  places: number;
  /** [places][256] → 0: none; > 0: a place; < 0: -1 - class of the character that is complete. */
  bytes: Int32Array;
  /** [states] → row of `viable`. */
  liveClasses: Int32Array;
  /** [rows][places]: 1 where a character can be completed that the state takes. */
  viable: Uint8Array;
}

const MOST_VIABLE = 16_000_000;

/** `available`: 1 for each byte that is a token by itself; text that needs others is left out, so that no way ends in the middle. */
export function lexemeOf(text: Dfa, kind: SpellingKind, available: Uint8Array, bounds: Limits): Lexeme {
  let spelled = text;
  let spelling = createSpelling(spelled, kind, available);
  if (spelling.missing.size > 0) {
    const { missing } = spelling;
    const next = spelled.next.map((to, i) => (missing.has(i % spelled.classCount) ? -1 : to));
    spelled = dfa({ ...spelled, next }, bounds);
    spelling = createSpelling(spelled, kind, available);
  }
  const quoted = kind === 'plain' ? spelled : withQuotes(spelled, available);
  checkLimits(bounds, states(quoted), quoted.classCount);
  return assemble(quoted, spelling, kind !== 'plain');
}

/** A quote, the text, a quote; the quote is the last class. No ranges lead to it: the spelling alone does. */
function withQuotes(text: Dfa, available: Uint8Array): Dfa {
  if (isEmpty(text) || available[0x22] === 0)
    return { ...text, next: new Int32Array(0), accept: new Uint8Array(0) };
  const count = states(text);
  const classCount = text.classCount + 1;
  const next = new Int32Array((count + 2) * classCount).fill(-1);
  next[classCount - 1] = 1;
  for (let state = 0; state < count; state++) {
    const row = (state + 1) * classCount;
    for (let c = 0; c < text.classCount; c++) {
      const to = text.next[state * text.classCount + c]!;
      next[row + c] = to < 0 ? -1 : to + 1;
    }
    if (text.accept[state] === 1) next[row + classCount - 1] = count + 1;
  }
  const accept = new Uint8Array(count + 2);
  accept[count + 1] = 1;
  return { ...text, classCount, next, accept };
}

function assemble(
  { classCount, next, accept }: Dfa,
  { places, bytes, reach }: Spelling,
  quoted: boolean,
): Lexeme {
  const rows = new Map<string, number>();
  const live: boolean[][] = [];
  const liveClasses = Int32Array.from(accept, (_, state) => {
    const takes = Array.from({ length: classCount }, (_unused, c) => next[state * classCount + c]! >= 0);
    const key = takes.map(Number).join('');
    let row = rows.get(key);
    if (row === undefined) rows.set(key, (row = live.push(takes) - 1));
    return row;
  });
  if (live.length * places > MOST_VIABLE) throw new TooLarge(`an automaton of over ${live.length} states`);
  const viable = new Uint8Array(live.length * places);
  live.forEach((takes, row) => {
    for (let place = 0; place < places; place++) {
      if (reach[place]!.some((c) => takes[c])) viable[row * places + place] = 1;
    }
  });
  const key = contentKey([[Number(quoted)], next, accept, bytes]);
  return { quoted, key, classCount, next, accept, places, bytes, liveClasses, viable };
}

/** A fingerprint of 106 bits, and the sizes. */
function contentKey(arrays: ArrayLike<number>[]): string {
  const hashes = [0xcbf29ce4, 0x9e3779b9, 0x85ebca6b, 0xc2b2ae35];
  for (const array of arrays) {
    for (let i = 0; i < array.length; i++) {
      hashes.forEach(
        (hash, k) => (hashes[k] = Math.imul(hash ^ (array[i]! + i * (k + 1)), 0x01000193 + 2 * k)),
      );
    }
  }
  return [...hashes.map((hash) => (hash >>> 0).toString(36)), ...arrays.map(({ length }) => length)].join(
    '.',
  );
}

/** State and place as one number. */
export function advance(lexeme: Lexeme, packed: number, byte: number): number {
  const { places } = lexeme;
  const state = Math.floor(packed / places);
  const to = lexeme.bytes[(packed - state * places) * 256 + byte]!;
  if (to === 0) return -1;
  if (to > 0) return lexeme.viable[lexeme.liveClasses[state]! * places + to] === 1 ? state * places + to : -1;
  const next = lexeme.next[state * lexeme.classCount - 1 - to]!;
  return next < 0 ? -1 : next * places;
}

/** Whether the text may end here. */
export function isComplete({ places, accept }: Lexeme, packed: number): boolean {
  return packed % places === 0 && accept[packed / places] === 1;
}

/** Whether more may come. */
export function goesOn({ places, viable, liveClasses }: Lexeme, packed: number): boolean {
  return packed % places !== 0 || viable[liveClasses[packed / places]! * places] === 1;
}
