// The bytes of a regular piece of text: an automaton over characters, beside a table that reads characters from bytes. A state
// is a pair, the automaton's state and how far a character has been read, so that neither multiplies the other's size; where the
// length is counted, too, it is a triple. Plain data.

import { shortestTexts } from './bounded.ts';
import { checkLimits, dfa, isEmpty, NOTHING, states, TooLarge, type Dfa, type Limits } from './dfa.ts';
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
  /** null: any length that the automaton takes. */
  count: Count | null;
}

/** Of characters, quotes among them. */
export interface Count {
  longest: number;
  /** Of each state: the fewest to a match. */
  shortest: Int32Array;
  /** The most of them. */
  mostShortest: number;
  /** [places]: classes of the characters that can be completed. */
  reach: number[][];
}

const MOST_VIABLE = 16_000_000;

/**
 * `available`: 1 for each byte that is a token by itself; text that needs others is left out, so that no way ends in the middle.
 * `longest`: characters at most, see BoundedText.
 */
export function lexemeOf(
  text: Dfa,
  kind: SpellingKind,
  available: Uint8Array,
  bounds: Limits,
  longest = Infinity,
): Lexeme {
  let spelled = text;
  let spelling = createSpelling(spelled, kind, available);
  if (spelling.missing.size > 0) {
    const { missing } = spelling;
    const next = spelled.next.map((to, i) => (missing.has(i % spelled.classCount) ? -1 : to));
    spelled = dfa({ ...spelled, next }, bounds);
    spelling = createSpelling(spelled, kind, available);
  }
  const isQuoted = kind !== 'plain';
  const quoted = isQuoted ? withQuotes(spelled, available) : spelled;
  checkLimits(bounds, states(quoted), quoted.classCount);
  if (longest === Infinity || isEmpty(quoted)) return assemble(quoted, spelling, isQuoted, null);
  const count = counted(quoted, spelling, longest + (isQuoted ? QUOTES : 0));
  if (count.shortest[0]! > count.longest) return assemble(NOTHING, spelling, isQuoted, null);
  if (count.longest * states(quoted) * spelling.places > Number.MAX_SAFE_INTEGER)
    throw new TooLarge(
      `a text of up to ${longest} characters beside an automaton of ${states(quoted)} states`,
    );
  return assemble(quoted, spelling, isQuoted, count);
}

const LITERAL = 'text';

/** Whether it is one text: then no two of its states are alike. */
export function isLiteral({ key }: Lexeme): boolean {
  return key.startsWith(LITERAL);
}

/** One text, byte for byte: as it stands, or as a name in quotes, escaped as JSON.stringify does. */
export function literalLexeme(text: string, kind: 'plain' | 'name', available: Uint8Array): Lexeme {
  const all = new TextEncoder().encode(kind === 'name' ? JSON.stringify(text) : text);
  const classes = new Map<number, number>();
  for (const byte of all) if (!classes.has(byte)) classes.set(byte, classes.size);
  const isSpelled = all.every((byte) => available[byte] === 1);
  const count = isSpelled ? all.length + 1 : 0;
  const next = new Int32Array(count * classes.size).fill(-1);
  const accept = new Uint8Array(count);
  const bytes = new Int32Array(256);
  if (isSpelled) {
    all.forEach((byte, at) => (next[at * classes.size + classes.get(byte)!] = at + 1));
    classes.forEach((of, byte) => (bytes[byte] = -1 - of));
    accept[all.length] = 1;
  }
  // All states but the last go on.
  const liveClasses = Int32Array.from(accept);
  const viable = new Uint8Array([1, 0]);
  const quoted = kind === 'name';
  const key = `${LITERAL} ${contentKey([[Number(quoted)], all])}`;
  return {
    quoted,
    key,
    classCount: classes.size,
    next,
    accept,
    places: 1,
    bytes,
    liveClasses,
    viable,
    count: null,
  };
}

const QUOTES = 2;

function counted(dfa: Dfa, { reach }: Spelling, longest: number): Count {
  const shortest = shortestTexts(dfa);
  return { longest, shortest, mostShortest: shortest.reduce((a, b) => Math.max(a, b)), reach };
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
  count: Count | null,
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
  const key = `${contentKey([[Number(quoted)], next, accept, bytes])}${count === null ? '' : ` ${count.longest}`}`;
  return { quoted, key, classCount, next, accept, places, bytes, liveClasses, viable, count };
}

/** Approximate bytes that it takes. */
export function bytesOf({ next, accept, bytes, liveClasses, viable }: Lexeme): number {
  return [next, accept, bytes, liveClasses, viable].reduce((sum, { byteLength }) => sum + byteLength, 500);
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

/** Characters so far, state and place as one number. */
export function advance(lexeme: Lexeme, packed: number, byte: number): number {
  const { places, count, classCount } = lexeme;
  const above = Math.floor(packed / places);
  const to = lexeme.bytes[(packed - above * places) * 256 + byte]!;
  if (to === 0) return -1;
  const characters = charactersOf(lexeme, above);
  const state = above - characters * lexeme.accept.length;
  if (to > 0) {
    const isViable = lexeme.viable[lexeme.liveClasses[state]! * places + to] === 1;
    return isViable && (count === null || fits(lexeme, count, characters, state, to))
      ? above * places + to
      : -1;
  }
  const next = lexeme.next[state * classCount - 1 - to]!;
  if (next < 0) return -1;
  if (count === null) return next * places;
  if (characters + 1 + count.shortest[next]! > count.longest) return -1;
  return ((characters + 1) * lexeme.accept.length + next) * places;
}

const charactersOf = ({ count, accept }: Lexeme, above: number): number =>
  count === null ? 0 : Math.floor(above / accept.length);

/** Whether some character can be completed from the place that leaves room for an end. */
function fits(
  { next, classCount }: Lexeme,
  { longest, shortest, mostShortest, reach }: Count,
  characters: number,
  state: number,
  place: number,
): boolean {
  const room = longest - characters - 1;
  if (room >= mostShortest) return true;
  return reach[place]!.some((c) => {
    const to = next[state * classCount + c]!;
    return to >= 0 && shortest[to]! <= room;
  });
}

/** Whether the text may end here. */
export function isComplete(lexeme: Lexeme, packed: number): boolean {
  const { places, accept } = lexeme;
  if (packed % places !== 0) return false;
  const above = packed / places;
  return accept[above - charactersOf(lexeme, above) * accept.length] === 1;
}

/** Whether more may come. */
export function goesOn(lexeme: Lexeme, packed: number): boolean {
  const { places, viable, liveClasses, count, accept } = lexeme;
  if (packed % places !== 0) return true;
  const above = packed / places;
  const characters = charactersOf(lexeme, above);
  const state = above - characters * accept.length;
  return (
    viable[liveClasses[state]! * places] === 1 &&
    (count === null || fits(lexeme, count, characters, state, 0))
  );
}

/** One for all states that no text of so many bytes tells apart; `alike` does so where no length is counted. */
export function representative(
  { places, count, accept }: Lexeme,
  packed: number,
  alike: ArrayLike<number>,
  bytes: number,
): number {
  const above = Math.floor(packed / places);
  const place = packed - above * places;
  if (count === null) return alike[above]! * places + place;
  const characters = Math.floor(above / accept.length);
  const state = above - characters * accept.length;
  // As many characters as bytes at most, and from wherever they lead there is room for an end.
  const far = Math.max(0, count.longest - bytes - count.mostShortest);
  if (characters > far) return packed;
  return (far * accept.length + alike[state]!) * places + place;
}
