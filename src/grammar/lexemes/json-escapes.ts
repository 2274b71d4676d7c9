// The escapes of JSON strings as states of a byte decoder: \n and the like, \uXXXX, and surrogate pairs \uXXXX\uXXXX.

import type { DecoderStates, Row, DecoderTarget, TextEncoding } from './decoder-states.ts';

const SHORT_ESCAPES: Record<string, string> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  '\\': '\\',
};
const SLASH = 0x2f;
const LETTER_U = 0x75;
const HEX_DIGITS = '0123456789abcdefABCDEF';
/** Characters that share a high surrogate. */
const PAIRS_PER_HIGH = 0x400;

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;
/** First character that begins with this high surrogate. */
const firstOfHigh = (unit: number): number => 0x10000 + (unit - 0xd800) * PAIRS_PER_HIGH;

/** A number written in hexadecimal digits. */
interface HexNumber {
  /** Target after a complete number. */
  end: (value: number) => DecoderTarget;
  /** A key that is equal for ranges that lead to equal states; null: the range must be split. */
  uniform: (from: number, to: number) => string | null;
}

export class JsonEscapes {
  readonly #states: DecoderStates;
  readonly #anyUnit: HexNumber;

  constructor(states: DecoderStates) {
    this.#states = states;
    this.#anyUnit = {
      end: (value) => this.#endOfUnit(value),
      uniform: (from, to) => this.#uniformUnits(from, to),
    };
  }

  /** The state after a backslash. */
  afterBackslash(encoding: TextEncoding): DecoderTarget {
    const row: Row = Object.entries(SHORT_ESCAPES).map(([letter, code]) => [
      letter.charCodeAt(0),
      this.#states.end(code.charCodeAt(0)),
    ]);
    if (encoding === 'string') row.push([SLASH, this.#states.end(SLASH)]);
    row.push([LETTER_U, encoding === 'string' ? this.#hex(4, 0, this.#anyUnit) : this.#controlEscape()]);
    return this.#states.state(row);
  }

  /** The state before `digits` hexadecimal digits of a number from `base` on. */
  #hex(digits: number, base: number, number: HexNumber): DecoderTarget {
    const size = 16 ** digits;
    const key = number.uniform(base, base + size - 1);
    const build = (): DecoderTarget =>
      this.#states.state(
        Array.from(HEX_DIGITS, (digit) => {
          const from = base + (Number.parseInt(digit, 16) * size) / 16;
          return [digit.charCodeAt(0), digits === 1 ? number.end(from) : this.#hex(digits - 1, from, number)];
        }),
      );
    return key === null ? build() : this.#states.once(`hex ${digits} ${key}`, build);
  }

  /** Target after the first UTF-16 unit of an escape. */
  #endOfUnit(value: number): DecoderTarget {
    if (!isHigh(value)) return isLow(value) ? 0 : this.#states.end(value);
    const base = firstOfHigh(value);
    if (!this.#states.isUniform(base, base + PAIRS_PER_HIGH - 1)) return this.#lowSurrogate(base);
    return this.#states.once(`pair ${this.#states.classAt(base)}`, () => this.#lowSurrogate(base));
  }

  #uniformUnits(from: number, to: number): string | null {
    const states = this.#states;
    if (to < 0xd800 || from >= 0xe000)
      return states.isUniform(from, to) ? `one ${states.classAt(from)}` : null;
    if (from >= 0xdc00 && to < 0xe000) return 'none';
    if (from < 0xd800 || to >= 0xdc00) return null;
    const first = firstOfHigh(from);
    return states.isUniform(first, firstOfHigh(to + 1) - 1) ? `pair ${states.classAt(first)}` : null;
  }

  /** The state before the escape of a low surrogate; its characters are those from `base` on. */
  #lowSurrogate(base: number): DecoderTarget {
    const states = this.#states;
    const code = (value: number): number => base + value - 0xdc00;
    const digits = this.#hex(4, 0, {
      end: (value) => (isLow(value) ? states.end(code(value)) : 0),
      uniform: (from, to) => {
        if (to < 0xdc00 || from > 0xdfff) return 'none';
        const isShared = isLow(from) && isLow(to) && states.isUniform(code(from), code(to));
        return isShared ? `low ${states.classAt(code(from))}` : null;
      },
    });
    return states.state([[0x5c, states.state([[LETTER_U, digits]])]]);
  }

  /** \u00xx, in lower case, for the control characters without a shorter escape. */
  #controlEscape(): DecoderTarget {
    const second = (from: number): DecoderTarget =>
      this.#states.state(
        Array.from('0123456789abcdef', (digit, i) => {
          const code = from + i;
          const isShort = Object.values(SHORT_ESCAPES).includes(String.fromCharCode(code));
          return [digit.charCodeAt(0), isShort ? 0 : this.#states.end(code)];
        }),
      );
    const last = this.#states.state([
      [0x30, second(0)],
      [0x31, second(16)],
    ]);
    return this.#states.state([[0x30, this.#states.state([[0x30, last]])]]);
  }
}
