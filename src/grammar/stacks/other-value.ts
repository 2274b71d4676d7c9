// A search for a text that completes an element with a value that is not used yet. It is made only where an element may still become equal
// to another one and few values are left for it. It writes no spaces, and only the escapes that it must.

import type { ParserState, StackSymbol } from './graph-stack.ts';
import { canonical, valueOfBytes } from '../json/json-value.ts';

/** The automaton of the element. */
export interface SearchedAutomaton {
  step(state: ParserState, byte: number): ParserState | null;
  /** Whether a byte can follow, as far as the top of a stack tells. */
  takes(symbol: StackSymbol, byte: number): boolean;
}

/** A place in the text: outside of strings, inside one, or inside an escape after so many of its characters. */
type Place = 'outside' | 'inside' | 'escape' | 'u' | 'u0' | 'u00' | 'u00x';

interface Begun {
  state: ParserState;
  spelled: string;
  place: Place;
  /** Bytes of ORDER that were tried. */
  tried: number;
}

/** Most texts that a search begins; after that, the search has found nothing. */
const MOST_BEGUN = 20_000;

const bytesOf = (characters: string): number[] => Array.from(characters, (one) => one.charCodeAt(0));
/** Bytes that end something come first; fractions, exponents and escapes last. */
const FIRST = bytesOf('"}]0123456789');
const LAST = bytesOf('.,+-eE\\');
const OTHERS = Array.from({ length: 256 }, (_, byte) => byte).filter(
  (byte) => !FIRST.includes(byte) && !LAST.includes(byte),
);
const ORDER = [...FIRST, ...OTHERS, ...LAST];

/**
 * Whether some text completes `spelled` to a value whose canonical text is not in `used`. `state`: the state after `spelled`, whose bytes are
 * given one per UTF-16 unit.
 */
export function canDiffer(
  automaton: SearchedAutomaton,
  state: ParserState,
  spelled: string,
  used: ReadonlySet<string>,
): boolean {
  const isOther = (begun: Begun): boolean =>
    begun.state.accepts && !used.has(canonical(valueOfBytes(begun.spelled)));
  const seen = new Map<ParserState, Set<string>>();
  const path: Begun[] = [{ state, spelled, place: placeAfter(spelled), tried: 0 }];
  if (isOther(path[0]!)) return true;
  for (let count = 0; count < MOST_BEGUN;) {
    const begun = path.at(-1);
    if (begun === undefined) return false;
    const next = nextOf(begun, automaton);
    if (next === null) path.pop();
    else if (!wasSeen(next, seen)) {
      count++;
      if (isOther(next)) return true;
      path.push(next);
    }
  }
  return false;
}

/** The next text that is one byte longer; null: all were tried. */
function nextOf(begun: Begun, automaton: SearchedAutomaton): Begun | null {
  while (begun.tried < ORDER.length) {
    const byte = ORDER[begun.tried++]!;
    if (!isPlain(byte, begun.place) || (begun.place === 'outside' && isLost(begun.spelled, byte))) continue;
    if (!begun.state.tops.some(({ symbol }) => automaton.takes(symbol, byte))) continue;
    const state = automaton.step(begun.state, byte);
    if (state === null) continue;
    const spelled = begun.spelled + String.fromCharCode(byte);
    return { state, spelled, place: placeAfterByte(begun.place, byte), tried: 0 };
  }
  return null;
}

/** Whether the byte is part of the shortest spelling: no space, and escapes of what must be escaped only. */
function isPlain(byte: number, place: Place): boolean {
  const character = String.fromCharCode(byte);
  switch (place) {
    case 'outside':
      return !' \t\r\n'.includes(character);
    case 'inside':
      return true;
    case 'escape':
      return character !== '/';
    case 'u':
    case 'u0':
      return character === '0';
    case 'u00':
      return '01'.includes(character);
    case 'u00x':
      return '0123456789abcdef'.includes(character);
  }
}

/** More digits than a double holds. */
const MOST_DIGITS = 17;

/** Whether the byte is a digit that hardly changes the value of the number that is begun; zeros are kept for numbers that must be longer. */
function isLost(spelled: string, byte: number): boolean {
  if (byte < 0x31 || byte > 0x39) return false;
  const digits = /[\d.]*$/.exec(spelled.slice(-2 * MOST_DIGITS))![0];
  return digits.length >= MOST_DIGITS && digits.replace('.', '').replace(/^0+/, '').length >= MOST_DIGITS;
}

const IN_ESCAPE: Partial<Record<Place, Place>> = { u: 'u0', u0: 'u00', u00: 'u00x', u00x: 'inside' };

function placeAfterByte(place: Place, byte: number): Place {
  const character = String.fromCharCode(byte);
  if (place === 'outside') return character === '"' ? 'inside' : 'outside';
  if (place === 'escape') return character === 'u' ? 'u' : 'inside';
  if (place !== 'inside') return IN_ESCAPE[place]!;
  if (character === '\\') return 'escape';
  return character === '"' ? 'outside' : 'inside';
}

function placeAfter(spelled: string): Place {
  return bytesOf(spelled).reduce<Place>(placeAfterByte, 'outside');
}

/** Whether a text with the same members so far, and the same state, was begun before; they may have another order or spelling there. */
function wasSeen({ state, spelled, place }: Begun, seen: Map<ParserState, Set<string>>): boolean {
  if (place !== 'outside' || !/[,}\]]$/.test(spelled)) return false;
  const key = canonical(valueOfBytes(closed(spelled)));
  const keys = seen.get(state);
  if (keys?.has(key) === true) return true;
  if (keys === undefined) seen.set(state, new Set([key]));
  else keys.add(key);
  return false;
}

/** The text of a value whose last members and elements are left out, given its beginning up to one of them. */
function closed(spelled: string): string {
  const open: string[] = [];
  for (const part of spelled.match(/"(?:[^"\\]|\\[^])*"|[[\]{}]/g) ?? []) {
    if (part === '{') open.push('}');
    else if (part === '[') open.push(']');
    else if (part === '}' || part === ']') open.pop();
  }
  return spelled.replace(/,$/, '') + open.toReversed().join('');
}
