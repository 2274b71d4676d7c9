// A template's source as tokens. White space is cut as with trim_blocks and lstrip_blocks: a line break behind a block or comment
// goes, and so do blanks before one that begins its line; `-` cuts all white space on its side, `+` none.

import { TemplateFailure } from '../values/failure.ts';
import { SPACE, stripEnds } from '../values/code-points.ts';
import { unescapeText } from './string-literal.ts';

export type TokenType =
  | 'data'
  | 'block_begin'
  | 'block_end'
  | 'variable_begin'
  | 'variable_end'
  | 'name'
  | 'string'
  | 'integer'
  | 'float'
  | 'operator'
  | 'end';

export interface Token {
  type: TokenType;
  /** Data, name, text of a string, operator. */
  text: string;
  number: number | bigint;
  line: number;
}

export function syntaxError(message: string, line: number): TemplateFailure {
  return new TemplateFailure('TemplateSyntaxError', `${message} (line ${line})`);
}

const SPACES = new RegExp(`[${SPACE}]+`, 'y');
const FLOAT = /(?<!\.)(\d+_)*\d+((\.(\d+_)*\d+)?e[+-]?(\d+_)*\d+|\.(\d+_)*\d+)/iy;
const INTEGER = /0b(_?[01])+|0o(_?[0-7])+|0x(_?[\da-f])+|[1-9](_?\d)*|0(_?0)*/iy;
const NAME = /[\p{ID_Continue}]+/uy;
const STRING = /'([^'\\]*(?:\\.[^'\\]*)*)'|"([^"\\]*(?:\\.[^"\\]*)*)"/sy;
const OPERATOR = /\*\*|\/\/|==|!=|>=|<=|[-+/*%~[\](){}><=.:|,;]/y;
const RAW_BEGIN = new RegExp(`\\{%([-+]?)[${SPACE}]*raw[${SPACE}]*(?:-%\\}[${SPACE}]*|%\\})`, 'y');
const RAW_END = new RegExp(
  `\\{%([-+]?)[${SPACE}]*endraw[${SPACE}]*(?:\\+%\\}|-%\\}[${SPACE}]*|%\\}\\n?)`,
  'g',
);
const OPENING = /\{[%{#]/g;
const CLOSERS: Readonly<Record<string, string>> = { '{': '}', '(': ')', '[': ']' };

export function tokenize(source: string): Token[] {
  return new Lexer(source).run();
}

class Lexer {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  #at = 0;
  #line = 1;
  #lineStarts = true;

  constructor(source: string) {
    const text = source.replace(/\r\n?/g, '\n');
    this.#source = text.endsWith('\n') ? text.slice(0, -1) : text;
  }

  run(): Token[] {
    const source = this.#source;
    while (this.#at < source.length) {
      OPENING.lastIndex = this.#at;
      const opening = OPENING.exec(source);
      if (!opening) {
        this.#data(source.slice(this.#at));
        break;
      }
      const start = opening.index;
      RAW_BEGIN.lastIndex = start;
      const raw = RAW_BEGIN.exec(source);
      const kind = opening[0];
      const follows = source[start + 2] ?? '';
      const sign = raw ? raw[1]! : follows === '-' || follows === '+' ? follows : '';
      this.#data(this.#cut(source.slice(this.#at, start), sign, kind !== '{{'));
      this.#moveTo(raw ? RAW_BEGIN.lastIndex : start + 2 + sign.length);
      if (raw) this.#raw();
      else if (kind === '{#') this.#comment();
      else this.#tag(kind === '{%' ? 'block' : 'variable');
    }
    this.#push('end', '');
    return this.#tokens;
  }

  /** Data before a tag, without what the tag's sign or lstrip_blocks takes. */
  #cut(text: string, sign: string, isBlock: boolean): string {
    if (sign === '-') return stripEnds(text, 'right');
    if (sign === '+' || !isBlock) return text;
    const lineStart = text.lastIndexOf('\n') + 1;
    if (lineStart === 0 && !this.#lineStarts) return text;
    const rest = text.slice(lineStart);
    return stripEnds(rest, 'left') === '' ? text.slice(0, lineStart) : text;
  }

  #raw(): void {
    RAW_END.lastIndex = this.#at;
    const end = RAW_END.exec(this.#source);
    if (!end) return this.#unclosed('Missing end of raw directive');
    this.#data(this.#cut(this.#source.slice(this.#at, end.index), end[1]!, true));
    this.#moveTo(RAW_END.lastIndex);
  }

  #comment(): void {
    const end = this.#source.indexOf('#}', this.#at);
    if (end < 0) return this.#unclosed('Missing end of comment tag');
    const sign = end > this.#at ? this.#source[end - 1]! : '';
    this.#moveTo(this.#closed(end + 2, sign, true));
  }

  /** A tag that opens at the very end is not an error to jinja2. */
  #unclosed(message: string): void {
    if (this.#at < this.#source.length) throw syntaxError(message, this.#line);
  }

  /** Index behind a closing tag that ends at `end` and what it cuts. */
  #closed(end: number, sign: string, trims: boolean): number {
    if (sign === '-') {
      SPACES.lastIndex = end;
      return SPACES.test(this.#source) ? SPACES.lastIndex : end;
    }
    return sign !== '+' && trims && this.#source[end] === '\n' ? end + 1 : end;
  }

  #tag(kind: 'block' | 'variable'): void {
    const source = this.#source;
    this.#push(`${kind}_begin`, '');
    const open: string[] = [];
    for (;;) {
      const end = open.length > 0 ? null : this.#tagEnd(kind);
      if (end !== null) {
        this.#push(`${kind}_end`, '');
        this.#moveTo(end);
        return;
      }
      if (this.#at >= source.length) return;
      SPACES.lastIndex = this.#at;
      if (SPACES.test(source)) this.#moveTo(SPACES.lastIndex);
      else this.#token(open);
    }
  }

  /** Index behind the end of this tag, or null where it does not end here. */
  #tagEnd(kind: 'block' | 'variable'): number | null {
    const close = kind === 'block' ? '%}' : '}}';
    const source = this.#source;
    if (source.startsWith(close, this.#at)) return this.#closed(this.#at + 2, '', kind === 'block');
    const sign = source[this.#at]!;
    const signed = sign === '-' || (sign === '+' && kind === 'block');
    if (!signed || !source.startsWith(close, this.#at + 1)) return null;
    return this.#closed(this.#at + 3, sign, true);
  }

  #token(open: string[]): void {
    const take = (pattern: RegExp): string | null => {
      pattern.lastIndex = this.#at;
      return pattern.exec(this.#source)?.[0] ?? null;
    };
    let found: string | null;
    if ((found = take(FLOAT)) !== null) this.#push('float', '', Number(found.replaceAll('_', '')));
    else if ((found = take(INTEGER)) !== null)
      this.#push('integer', found, readInteger(found.replaceAll('_', ''), this.#line));
    else if ((found = take(NAME)) !== null) {
      if (!/^[\p{ID_Start}_]/u.test(found)) throw syntaxError('Invalid character in identifier', this.#line);
      this.#push('name', found);
    } else if ((found = take(STRING)) !== null)
      this.#push('string', unescapeText(found.slice(1, -1), this.#line));
    else if ((found = take(OPERATOR)) !== null) {
      this.#balance(found, open);
      this.#push('operator', found);
    } else {
      throw syntaxError(`unexpected char ${JSON.stringify(this.#source[this.#at])}`, this.#line);
    }
    this.#moveTo(this.#at + found.length);
  }

  #balance(operator: string, open: string[]): void {
    const closer = CLOSERS[operator];
    if (closer !== undefined) open.push(closer);
    else if (operator === '}' || operator === ')' || operator === ']') {
      const wanted = open.pop();
      if (wanted === undefined) throw syntaxError(`unexpected '${operator}'`, this.#line);
      if (wanted !== operator)
        throw syntaxError(`unexpected '${operator}', expected '${wanted}'`, this.#line);
    }
  }

  #data(text: string): void {
    if (text !== '') this.#push('data', text);
  }

  #push(type: TokenType, text: string, number: number | bigint = 0): void {
    this.#tokens.push({ type, text, number, line: this.#line });
  }

  #moveTo(at: number): void {
    for (let from = this.#at; from < at; from++) if (this.#source[from] === '\n') this.#line++;
    this.#lineStarts = this.#source[at - 1] === '\n';
    this.#at = at;
  }
}

/** More digits than Python reads raise. */
const MOST_DIGITS = 4300;

function readInteger(text: string, line: number): number | bigint {
  const small = Number(text);
  if (Number.isSafeInteger(small)) return small;
  if (text.length > MOST_DIGITS) throw syntaxError(`an integer has more than ${MOST_DIGITS} digits`, line);
  return BigInt(text);
}
