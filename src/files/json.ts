// The only reader of JSON from foreign files. It accepts what Python's json module writes, including Infinity, -Infinity and NaN,
// and is bounded: depth and number of containers are counted before parsing.

/** Limit on nested objects and lists; published files need about ten. */
export const MOST_DEPTH = 128;
/** Limit on objects and lists of one file: each takes about 64 bytes, and a tokenizer.json has one per merge. */
export const MOST_CONTAINERS = 4_000_000;

/**
 * The value of a JSON text. A byte order mark is skipped, `__proto__` is a key like any other, and of two equal keys the last one
 * counts. Throws SyntaxError with line and column.
 */
export function parseJson(text: string): unknown {
  const start = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  checkBounds(text);
  try {
    return JSON.parse(start === 0 ? text : text.slice(start)) as unknown;
  } catch {
    // JSON.parse is many times faster, but does not accept NaN, and its messages contain no line number.
    return new TolerantParser(text, start).parse();
  }
}

function checkBounds(text: string): void {
  let depth = 0;
  let containers = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(text, at);
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > MOST_DEPTH) throw problem(text, at, `more than ${MOST_DEPTH} levels of nesting`);
      if (++containers > MOST_CONTAINERS)
        throw problem(text, at, `more than ${MOST_CONTAINERS} objects and lists`);
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      depth--;
    }
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Index of the closing quote; the text's length where there is none. */
function stringEnd(text: string, quote: number): number {
  let at = quote + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    at += code === BACKSLASH ? 2 : 1;
  }
  return text.length;
}

function problem(text: string, at: number, what: string): SyntaxError {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  return new SyntaxError(`line ${line}, column ${at - before.lastIndexOf('\n')}: ${what}`);
}

const SPACE = /[ \t\n\r]*/y;
const WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null|NaN|-?Infinity)(?!\w)/y;
const WORDS: Readonly<Record<string, unknown>> = {
  true: true,
  false: false,
  null: null,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};

/** Parses JSON with non-finite numbers by recursive descent; the depth has been checked. */
class TolerantParser {
  readonly #text: string;
  #at: number;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#at = start;
  }

  parse(): unknown {
    const value = this.#value();
    if (this.#next() !== '') throw this.#unexpected('the end of the file');
    return value;
  }

  #value(): unknown {
    const char = this.#next();
    if (char === '{') return this.#object();
    if (char === '[') return this.#list();
    if (char === '"') return this.#string();
    WORD.lastIndex = this.#at;
    const word = WORD.exec(this.#text)?.[0];
    if (word === undefined) throw this.#unexpected('a value');
    this.#at += word.length;
    return Object.hasOwn(WORDS, word) ? WORDS[word] : Number(word);
  }

  #object(): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    this.#at++;
    if (this.#next() === '}') return this.#closed({});
    for (;;) {
      if (this.#next() !== '"') throw this.#unexpected('a key in quotes');
      const key = this.#string();
      if (this.#next() !== ':') throw this.#unexpected('":"');
      this.#at++;
      entries.push([key, this.#value()]);
      const char = this.#next();
      // Object.fromEntries makes an own property of `__proto__` too.
      if (char === '}') return this.#closed(Object.fromEntries(entries));
      if (char !== ',') throw this.#unexpected('"," or "}"');
      this.#at++;
    }
  }

  #list(): unknown[] {
    const values: unknown[] = [];
    this.#at++;
    if (this.#next() === ']') return this.#closed(values);
    for (;;) {
      values.push(this.#value());
      const char = this.#next();
      if (char === ']') return this.#closed(values);
      if (char !== ',') throw this.#unexpected('"," or "]"');
      this.#at++;
    }
  }

  #string(): string {
    const end = stringEnd(this.#text, this.#at) + 1;
    if (end > this.#text.length) throw this.#unexpected('a closing quote for this string');
    try {
      const value: string = JSON.parse(this.#text.slice(this.#at, end));
      this.#at = end;
      return value;
    } catch {
      throw problem(
        this.#text,
        this.#at,
        'a string with a control character or an escape that JSON does not have',
      );
    }
  }

  #closed<T>(value: T): T {
    this.#at++;
    return value;
  }

  /** The next character that is not white space; '' at the end. */
  #next(): string {
    SPACE.lastIndex = this.#at;
    SPACE.exec(this.#text);
    this.#at = SPACE.lastIndex;
    return this.#text[this.#at] ?? '';
  }

  #unexpected(wanted: string): SyntaxError {
    const found = this.#text.slice(this.#at, this.#at + 20);
    const shown = found === '' ? 'the file ends' : `there is ${JSON.stringify(found)}`;
    return problem(this.#text, this.#at, `${wanted} is expected, and ${shown}`);
  }
}
