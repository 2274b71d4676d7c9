// A lexeme, the regular terminal of a grammar: a DFA over characters beside a decoder that reads characters from bytes. It is plain
// data; lexeme-state.ts runs it.

import { createByteDecoder } from './byte-decoder.ts';
import type { CompileWork } from '../bounds/compile-work.ts';
import type { ByteDecoder, TextEncoding } from './decoder-states.ts';
import {
  checkLimits,
  dfa,
  isEmpty,
  NOTHING,
  states,
  TooLarge,
  type Dfa,
  type Limits,
} from '../automata/dfa.ts';
import { distancesToAccept } from '../automata/length-bound.ts';

export interface Lexeme {
  /** Whether the lexeme is a JSON string with its quotes. */
  quoted: boolean;
  /** A fingerprint: lexemes with the same content have the same key. */
  key: string;
  /** Character classes of the DFA; a quoted lexeme has one more, for the quotes. */
  classCount: number;
  /** [states][classes]: next state, or -1. The start is state 0. */
  next: Int32Array;
  /** [states]: 1 for accepting states. */
  accept: Uint8Array;
  /** States of the byte decoder; state 0 is between two characters. */
  decoderStates: number;
  /** [decoderStates][256]. 0: no character; > 0: decoder state; < 0: -1 - class of the completed character. */
  decoder: Int32Array;
  /** [states]: row of `viable`. */
  viableRows: Int32Array;
  /** [rows][decoderStates]: 1 where the decoder can complete a character that the state of the DFA takes. */
  viable: Uint8Array;
  /** null: the number of characters is not bounded beside the DFA. */
  length: LengthCount | null;
}

/** A bound on the number of characters, quotes included. */
export interface LengthCount {
  longest: number;
  /** [states]: the fewest characters to a match. */
  distances: Int32Array;
  /** The largest of `distances`. */
  mostDistance: number;
  /** [decoderStates]: classes of the characters that can be completed. */
  reachable: number[][];
}

const MOST_VIABLE = 16_000_000;
/** Steps that a table entry counts as: it is copied, joined into a key and hashed. */
const ENTRY_STEPS = 12;
/** Steps that a range of characters counts as in a decoder. */
const RANGE_STEPS = 20;
/** Characters that the quotes add. */
const QUOTES = 2;

/**
 * The lexeme of the texts of a DFA. `available`: 1 for each byte that is a token by itself; texts that need other bytes are left out, so
 * that no lexeme ends in the middle. `longest`: most characters, as in BoundedDfa. Throws TooLarge.
 */
export function createLexeme(
  text: Dfa,
  encoding: TextEncoding,
  available: Uint8Array,
  bounds: Limits,
  longest = Infinity,
): Lexeme {
  const { spelled, decoder } = withoutMissing(text, encoding, available, bounds);
  const isQuoted = encoding !== 'plain';
  const quoted = isQuoted ? withQuotes(spelled, available) : spelled;
  checkLimits(bounds, states(quoted), quoted.classCount);
  bounds.work.spend(
    ENTRY_STEPS * (quoted.next.length + decoder.next.length) + RANGE_STEPS * quoted.starts.length,
  );
  if (longest === Infinity || isEmpty(quoted)) return assemble(quoted, decoder, isQuoted, null, bounds.work);
  const length = lengthCount(quoted, decoder, longest + (isQuoted ? QUOTES : 0));
  if (length.distances[0]! > length.longest) return assemble(NOTHING, decoder, isQuoted, null, bounds.work);
  if (length.longest * states(quoted) * decoder.states > Number.MAX_SAFE_INTEGER)
    throw new TooLarge(
      `a text of up to ${longest} characters beside an automaton of ${states(quoted)} states`,
    );
  return assemble(quoted, decoder, isQuoted, length, bounds.work);
}

/** The texts that the available bytes can write, and their decoder. */
function withoutMissing(
  text: Dfa,
  encoding: TextEncoding,
  available: Uint8Array,
  bounds: Limits,
): { spelled: Dfa; decoder: ByteDecoder } {
  const decoder = createByteDecoder(text, encoding, available);
  const { missing } = decoder;
  if (missing.size === 0) return { spelled: text, decoder };
  const next = text.next.map((to, i) => (missing.has(i % text.classCount) ? -1 : to));
  const spelled = dfa({ ...text, next }, bounds);
  return { spelled, decoder: createByteDecoder(spelled, encoding, available) };
}

const LITERAL = 'text';

/** Whether the lexeme is a single text, no two states of which are equivalent. */
export function isLiteral({ key }: Lexeme): boolean {
  return key.startsWith(LITERAL);
}

/** The lexeme of a single text in one spelling: its bytes, or a JSON string as JSON.stringify writes it. */
export function literalLexeme(text: string, encoding: 'plain' | 'name', available: Uint8Array): Lexeme {
  const all = new TextEncoder().encode(encoding === 'name' ? JSON.stringify(text) : text);
  const classes = new Map<number, number>();
  for (const byte of all) if (!classes.has(byte)) classes.set(byte, classes.size);
  const isSpelled = all.every((byte) => available[byte] === 1);
  const count = isSpelled ? all.length + 1 : 0;
  const next = new Int32Array(count * classes.size).fill(-1);
  const accept = new Uint8Array(count);
  const decoder = new Int32Array(256);
  if (isSpelled) {
    all.forEach((byte, at) => (next[at * classes.size + classes.get(byte)!] = at + 1));
    classes.forEach((of, byte) => (decoder[byte] = -1 - of));
    accept[all.length] = 1;
  }
  const quoted = encoding === 'name';
  return {
    quoted,
    key: `${LITERAL} ${contentKey([[Number(quoted)], all])}`,
    classCount: classes.size,
    next,
    accept,
    decoderStates: 1,
    decoder,
    // Row 0: all states but the last, which continue. Row 1: the last one.
    viableRows: Int32Array.from(accept),
    viable: new Uint8Array([1, 0]),
    length: null,
  };
}

function lengthCount(dfa: Dfa, { reachable }: ByteDecoder, longest: number): LengthCount {
  const distances = distancesToAccept(dfa);
  return { longest, distances, mostDistance: distances.reduce((a, b) => Math.max(a, b)), reachable };
}

/** The texts between two quotes. The quote is the last class, which no range of characters has: the decoder alone yields it. */
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
  decoder: ByteDecoder,
  quoted: boolean,
  length: LengthCount | null,
  work: CompileWork,
): Lexeme {
  const rows = new Map<string, number>();
  const taken: boolean[][] = [];
  const viableRows = Int32Array.from(accept, (_, state) => {
    const takes = Array.from({ length: classCount }, (_unused, c) => next[state * classCount + c]! >= 0);
    const key = takes.map(Number).join('');
    let row = rows.get(key);
    if (row === undefined) rows.set(key, (row = taken.push(takes) - 1));
    return row;
  });
  if (taken.length * decoder.states > MOST_VIABLE)
    throw new TooLarge(`an automaton of over ${taken.length} states`);
  const viable = new Uint8Array(taken.length * decoder.states);
  work.spend(viable.length * 2);
  taken.forEach((takes, row) => {
    for (let state = 0; state < decoder.states; state++) {
      if (decoder.reachable[state]!.some((c) => takes[c])) viable[row * decoder.states + state] = 1;
    }
  });
  const content = contentKey([[Number(quoted)], next, accept, decoder.next]);
  return {
    quoted,
    key: length === null ? content : `${content} ${length.longest}`,
    classCount,
    next,
    accept,
    decoderStates: decoder.states,
    decoder: decoder.next,
    viableRows,
    viable,
    length,
  };
}

/** Approximate bytes of memory of a lexeme. */
export function lexemeBytes({ next, accept, decoder, viableRows, viable }: Lexeme): number {
  return [next, accept, decoder, viableRows, viable].reduce((sum, { byteLength }) => sum + byteLength, 500);
}

/** Four hashes of the content, and the lengths of the arrays. */
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
