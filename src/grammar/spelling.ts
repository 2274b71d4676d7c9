// How characters are written in bytes: as UTF-8 alone, or inside a JSON string with its escapes. One table of bytes for all
// states of an automaton: it leads from byte to byte, and at a character's last byte to the class the automaton has it in.

import { classOf, NO_CLASS, rangeOf, type Dfa } from './dfa-table.ts';

/** plain: as it stands; string: in quotes, each character raw or escaped; name: in quotes, escaped where it must be, in one way. */
export type SpellingKind = 'plain' | 'string' | 'name';

export interface Spelling {
  places: number;
  /** [places][256], see Lexeme. */
  bytes: Int32Array;
  /** Of each place: classes of the characters that can be completed. */
  reach: number[][];
  /** Classes without a spelling in the bytes there are. */
  missing: Set<number>;
}

/** 0: no character; > 0: place; < 0: -1 - class. */
type Target = number;
type Row = (readonly [byte: number, to: Target])[];

const SHORT_ESCAPES: Record<string, string> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  '\\': '\\',
};
const CHARACTERS_A_LOW = 0x400;

export function createSpelling(text: Dfa, kind: SpellingKind, available: Uint8Array): Spelling {
  const rows: Row[] = [[]];
  const numbers = new Map<string, Target>();
  const shared = new Map<string, Target>();
  const place = (entries: Row): Target => {
    const row = entries.filter(([byte, to]) => to !== 0 && available[byte] === 1);
    if (row.length === 0) return 0;
    const key = row.join(';');
    let number = numbers.get(key);
    if (number === undefined) numbers.set(key, (number = rows.push(row) - 1));
    return number;
  };
  const classAt = (code: number): number => classOf(text, code);
  /** Whether a range of characters is of one class. */
  const isUniform = (from: number, to: number): boolean => rangeOf(text, from) === rangeOf(text, to);
  const leaf = (code: number): Target => (classAt(code) === NO_CLASS ? 0 : -1 - classAt(code));

  /** Characters from `base` on, in `count` bytes of 6 bits. */
  const continuation = (count: number, base: number): Target => {
    const size = 64 ** count;
    const build = (): Target =>
      place(
        Array.from({ length: 64 }, (_, i) => {
          const from = base + (i * size) / 64;
          return [0x80 + i, count === 1 ? leaf(from) : continuation(count - 1, from)];
        }),
      );
    if (!isUniform(base, base + size - 1)) return build();
    if (classAt(base) === NO_CLASS) return 0;
    return once(shared, `utf8 ${count} ${classAt(base)}`, build);
  };
  const utf8: Row = [];
  for (let byte = 0xc2; byte < 0xe0; byte++) utf8.push([byte, continuation(1, (byte - 0xc0) * 64)]);
  for (let byte = 0xe0; byte < 0xf0; byte++) utf8.push([byte, multibyte(2, (byte - 0xe0) * 4096, 0x800)]);
  for (let byte = 0xf0; byte < 0xf5; byte++)
    utf8.push([byte, multibyte(3, (byte - 0xf0) * 2 ** 18, 0x10000)]);

  /** The same for a first byte whose lowest characters have a shorter form, or whose highest are none. */
  function multibyte(count: number, base: number, least: number): Target {
    const size = 64 ** (count - 1);
    const last = base + 64 * size - 1;
    if (isUniform(base, last)) {
      if (classAt(base) === NO_CLASS) return 0;
      if (base >= least && last <= 0x10ffff) return continuation(count, base);
    }
    return place(
      Array.from({ length: 64 }, (_, i) => {
        const from = base + i * size;
        return [0x80 + i, from < least || from > 0x10ffff ? 0 : continuation(count - 1, from)];
      }),
    );
  }

  const first: Row = [...utf8];
  const quoted = kind !== 'plain';
  for (let byte = quoted ? 0x20 : 0; byte < 0x80; byte++) {
    if (!quoted || (byte !== 0x22 && byte !== 0x5c)) first.push([byte, leaf(byte)]);
  }
  if (quoted) {
    first.push([0x22, -1 - text.classCount]);
    const short: Row = Object.entries(SHORT_ESCAPES).map(([letter, code]) => [
      letter.charCodeAt(0),
      leaf(code.charCodeAt(0)),
    ]);
    if (kind === 'string') short.push([0x2f, leaf(0x2f)]);
    short.push([0x75, kind === 'string' ? anyEscape() : controlEscape()]);
    first.push([0x5c, place(short)]);
  }

  /** Four hexadecimal digits; `end` gives where the number leads, `uniform` a key where all of a range lead to the same. */
  function hex(
    digits: number,
    base: number,
    end: (value: number) => Target,
    uniform: (from: number, to: number) => string | null,
  ): Target {
    const size = 16 ** digits;
    const key = uniform(base, base + size - 1);
    const build = (): Target =>
      place(
        Array.from('0123456789abcdefABCDEF', (digit) => {
          const from = base + (Number.parseInt(digit, 16) * size) / 16;
          return [digit.charCodeAt(0), digits === 1 ? end(from) : hex(digits - 1, from, end, uniform)];
        }),
      );
    return key === null ? build() : once(shared, `hex ${digits} ${key}`, build);
  }

  function anyEscape(): Target {
    const high = (value: number): number => 0x10000 + (value - 0xd800) * CHARACTERS_A_LOW;
    const low = (base: number): Target => {
      const code = (value: number): number => base + value - 0xdc00;
      const isLow = (value: number): boolean => value >= 0xdc00 && value < 0xe000;
      const digits = hex(
        4,
        0,
        (value) => (isLow(value) ? leaf(code(value)) : 0),
        (from, to) => {
          if (to < 0xdc00 || from > 0xdfff) return 'none';
          return isLow(from) && isLow(to) && isUniform(code(from), code(to))
            ? `low ${classAt(code(from))}`
            : null;
        },
      );
      return place([[0x5c, place([[0x75, digits]])]]);
    };
    return hex(
      4,
      0,
      (value) => {
        if (value >= 0xd800 && value < 0xdc00) {
          const base = high(value);
          if (!isUniform(base, base + CHARACTERS_A_LOW - 1)) return low(base);
          return once(shared, `pair ${classAt(base)}`, () => low(base));
        }
        return value >= 0xdc00 && value < 0xe000 ? 0 : leaf(value);
      },
      (from, to) => {
        if (to < 0xd800 || from >= 0xe000) return isUniform(from, to) ? `one ${classAt(from)}` : null;
        if (from >= 0xdc00 && to < 0xe000) return 'none';
        if (from < 0xd800 || to >= 0xdc00) return null;
        return isUniform(high(from), high(to + 1) - 1) ? `pair ${classAt(high(from))}` : null;
      },
    );
  }

  /** \u00xx of the characters that have no other form, in small letters. */
  function controlEscape(): Target {
    const digits = '0123456789abcdef';
    const second = (from: number): Target =>
      place(
        Array.from(digits, (digit, i) => {
          const code = from + i;
          const isShort = Object.values(SHORT_ESCAPES).includes(String.fromCharCode(code));
          return [digit.charCodeAt(0), isShort ? 0 : leaf(code)];
        }),
      );
    const last = place([
      [0x30, second(0)],
      [0x31, second(16)],
    ]);
    return place([[0x30, place([[0x30, last]])]]);
  }

  rows[0] = first.filter(([byte, to]) => to !== 0 && available[byte] === 1);
  return finish(rows, text.classCount);
}

function finish(rows: Row[], classCount: number): Spelling {
  const bytes = new Int32Array(rows.length * 256);
  const reach: number[][] = [];
  rows.forEach((row, at) => row.forEach(([byte, to]) => (bytes[at * 256 + byte] = to)));
  // A place is made after those it leads to; only the first is made before all.
  for (const at of [...rows.keys()].slice(1).concat(0)) {
    reach[at] = [...new Set(rows[at]!.flatMap(([, to]) => (to < 0 ? [-1 - to] : reach[to]!)))];
  }
  const spelled = new Set(reach[0]);
  const missing = new Set(Array.from({ length: classCount }, (_, c) => c).filter((c) => !spelled.has(c)));
  return { places: rows.length, bytes, reach, missing };
}

function once(made: Map<string, Target>, key: string, make: () => Target): Target {
  let found = made.get(key);
  if (found === undefined) made.set(key, (found = make()));
  return found;
}
