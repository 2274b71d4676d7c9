// Whether the first part of a JSON text can be the beginning of a text of a given value, whatever its spaces, its escapes, the order of its
// members and the spelling of its numbers.

import { bytesOfText, valueOfBytes, type Json } from './json-value.ts';

/** open: the text ends within the value, which may become equal. */
type Comparison = 'equal' | 'open' | 'different';

/** More digits than a double tells apart. */
const MOST_DIGITS = 15;

/** `begun`: bytes, one per UTF-16 unit. True also for a few beginnings that can only become other values. */
export function mayBecome(begun: string, value: Json): boolean {
  return new PrefixReader(begun).compare(value) !== 'different';
}

const BACKSLASH = 0x5c;

/** The bytes after which a text may still become one of the values, which it may now; null: any byte may be one. */
export function bytesTowards(begun: string, values: readonly Json[]): ReadonlySet<number> | null {
  const bytes = new Set([BACKSLASH]);
  for (const value of values) {
    const reader = new PrefixReader(begun);
    reader.compare(value);
    if (reader.expected === '') return null;
    for (const character of reader.expected) bytes.add(character.charCodeAt(0));
  }
  return bytes;
}

class PrefixReader {
  readonly #text: string;
  #at = 0;
  /** Bytes that may come next within strings beside a backslash; '': the text does not end within a string. */
  expected = '';

  constructor(text: string) {
    this.#text = text;
  }

  compare(value: Json): Comparison {
    this.#take(/[ \t\r\n]*/y);
    if (this.#isOver) return 'open';
    if (typeof value === 'string') return this.#compareString(value);
    if (typeof value === 'number') return this.#compareNumber(value);
    if (Array.isArray(value)) return this.#compareArray(value);
    if (typeof value === 'object' && value !== null) return this.#compareObject(value);
    const word = this.#take(/[a-z]*/y);
    if (this.#isOver) return String(value).startsWith(word) && word !== '' ? 'open' : 'different';
    return word === String(value) ? 'equal' : 'different';
  }

  get #isOver(): boolean {
    return this.#at >= this.#text.length;
  }

  #take(sticky: RegExp): string {
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  /** The punctuation that comes next; '' where the text is over. */
  #punctuation(): string {
    this.#take(/[ \t\r\n]*/y);
    return this.#text[this.#at++] ?? '';
  }

  #compareString(value: string): Comparison {
    const literal = this.#take(/"(?:[^"\\]|\\[^])*"?/y);
    if (literal === '') return 'different';
    if (literal.length > 1 && isClosed(literal))
      return valueOfBytes(literal) === value ? 'equal' : 'different';
    if (literal.includes('\\')) {
      this.expected = '';
      return bytesOfText(value).startsWith(decoded(literal)) || literal.includes('\\u')
        ? 'open'
        : 'different';
    }
    const bytes = bytesOfText(value);
    if (!bytes.startsWith(literal.slice(1))) return 'different';
    this.expected += bytes[literal.length - 1] ?? '"';
    return 'open';
  }

  #compareNumber(value: number): Comparison {
    const number = this.#take(/[-+.\deE]*/y);
    if (number === '') return 'different';
    if (this.#isOver) return mayBecomeNumber(number, value) ? 'open' : 'different';
    return Number(number) === value ? 'equal' : 'different';
  }

  #compareArray(value: Json[]): Comparison {
    if (this.#punctuation() !== '[') return 'different';
    for (const [i, element] of value.entries()) {
      if (i > 0) {
        const mark = this.#punctuation();
        if (mark !== ',') return mark === '' ? 'open' : 'different';
      }
      const compared = this.compare(element);
      if (compared !== 'equal') return compared;
    }
    return this.#end(']');
  }

  #compareObject(value: { [name: string]: Json }): Comparison {
    if (this.#punctuation() !== '{') return 'different';
    const left = new Set(Object.keys(value));
    while (left.size > 0) {
      if (left.size < Object.keys(value).length) {
        const mark = this.#punctuation();
        if (mark !== ',') return mark === '' ? 'open' : 'different';
      }
      const name = this.#nameIn(left);
      if (name === null || name === '') return name === null ? 'different' : 'open';
      left.delete(name.slice(1));
      const colon = this.#punctuation();
      if (colon !== ':') return 'open';
      const compared = this.compare(value[name.slice(1)]!);
      if (compared !== 'equal') return compared;
    }
    return this.#end('}');
  }

  /** The name that is read, after a quote; '': the text ends within one of the names, null: it is none of them. */
  #nameIn(names: ReadonlySet<string>): string | null {
    const from = (this.#take(/[ \t\r\n]*/y), this.#at);
    let isOpen = false;
    for (const name of names) {
      this.#at = from;
      const compared = this.#isOver ? 'open' : this.#compareString(name);
      if (compared === 'equal') return `"${name}`;
      isOpen ||= compared === 'open';
    }
    return isOpen ? '' : null;
  }

  #end(closing: string): Comparison {
    const mark = this.#punctuation();
    if (mark === '') return 'open';
    return mark === closing ? 'equal' : 'different';
  }
}

/** Whether a string literal that begins with a quote ends with another one. */
const isClosed = (literal: string): boolean => /^"(?:[^"\\]|\\[^])*"$/.test(literal);

/** The bytes of an unfinished string literal without \u, and without an escape that is begun. */
function decoded(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1);
  return literal.slice(1).replace(/\\([^]?)/g, (_, letter: string) => SHORT_ESCAPES[letter] ?? letter);
}

const SHORT_ESCAPES: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** Compares the digits without their point, since an exponent can move it. */
function mayBecomeNumber(begun: string, value: number): boolean {
  if (value !== 0 && begun.startsWith('-') !== value < 0) return false;
  const digits = digitsOf(begun);
  if (value === 0) return digits === '';
  if (digits.length > MOST_DIGITS || /[eE]/.test(begun)) return true;
  return aroundDouble(value).some((near) => digitsOf(near).startsWith(digits));
}

/**
 * A number and its neighbours, in more digits than a double holds: a text that is read as the number may have other digits, such as
 * 999999999999999999999, which is read as 1e21.
 */
function aroundDouble(value: number): string[] {
  return [value * (1 - Number.EPSILON), value, value * (1 + Number.EPSILON)].map((near) =>
    near.toPrecision(17),
  );
}

const digitsOf = (number: string): string =>
  number
    .replace(/[eE].*/, '')
    .replace(/[-+.]/g, '')
    .replace(/^0+/, '');
