// Converts literals that are not JSON to JSON as they stream: Python literals, and those with unquoted keys and format-specific quotes.

import { escapeJson } from './json-text.ts';
import {
  character,
  createReader,
  match,
  peek,
  run,
  space,
  type Marker,
  type Parse,
  type Reader,
  type Unit,
} from './reader.ts';

export interface LiteralSyntax {
  /** Quotes that open and close strings; longer ones first. */
  quotes: readonly Marker[];
  /** Whether strings have Python's backslash escapes. */
  escapes: boolean;
  /** Whether braces may also contain a set, which becomes a list. */
  sets?: boolean;
  /** Closing brackets of what surrounds the literal, innermost first. */
  closers?: string;
}

const quote = (text: string): Marker => ({ text, symbols: text.split('') });

export const PYTHON: LiteralSyntax = {
  quotes: ['"""', "'''", '"', "'"].map(quote),
  escapes: true,
  sets: true,
};

const within = (syntax: LiteralSyntax, end: string): LiteralSyntax => {
  return { ...syntax, closers: end + (syntax.closers ?? '') };
};

type Take = (text: string) => void;

/** Deepest nesting of brackets that is read. */
const DEEPEST = 256;

/** Copies one literal as JSON; false: it is malformed, or the reply ended within it. The part before that has been emitted. */
export function* copyLiteral(reader: Reader, syntax: LiteralSyntax, take: Take): Parse<boolean> {
  const opening = yield* match(reader, syntax.quotes);
  if (opening) return yield* copyText(reader, opening, syntax, take);
  if ((syntax.closers ?? '').length > DEEPEST) return false;
  if (yield* character(reader, '[')) return yield* copyList(reader, ']', syntax, take);
  if (yield* character(reader, '(')) return yield* copyList(reader, ')', syntax, take);
  if (yield* character(reader, '{')) {
    if (syntax.sets) return yield* copyBraces(reader, syntax, take);
    take('{');
    return yield* copyMembers(reader, { end: '}', separator: ':' }, syntax, take);
  }
  return yield* copyWord(reader, take);
}

/**
 * Copies a Python dictionary, or a set as a list, after its opening brace. What follows the first literal tells which, so that this one
 * is emitted when it has been read.
 */
function* copyBraces(reader: Reader, syntax: LiteralSyntax, take: Take): Parse<boolean> {
  const inner = within(syntax, '}');
  yield* space(reader);
  if (yield* character(reader, '}')) {
    take('{}');
    return true;
  }
  let first = '';
  const word = yield* bareWord(reader);
  if (word !== '') first = wordJson(word);
  else if (!(yield* copyLiteral(reader, inner, (text) => void (first += text)))) {
    take('{');
    return false;
  }
  yield* space(reader);
  if ((yield* follows(reader, ',')) || (yield* follows(reader, '}'))) {
    return yield* copyList(reader, '}', syntax, take, first);
  }
  take('{');
  // A word is a key as it was written; of the other literals only strings are keys.
  const key = word !== '' ? escapeJson(word) : first.startsWith('"') ? first.slice(1, -1) : null;
  if (key === null || !(yield* character(reader, ':'))) return false;
  return yield* copyMembers(reader, { end: '}', separator: ':', first: key }, syntax, take);
}

/** Copies a list up to `end`, which is consumed. `first`: JSON of its first item, which has been read. */
function* copyList(
  reader: Reader,
  end: string,
  syntax: LiteralSyntax,
  take: Take,
  first: string | null = null,
): Parse<boolean> {
  const inner = within(syntax, end);
  take(`[${first ?? ''}`);
  if (first !== null) yield* character(reader, ',');
  for (let nth = first === null ? 0 : 1; ; nth++) {
    yield* space(reader);
    if (yield* character(reader, end)) break;
    if (nth > 0) take(', ');
    if (!(yield* copyLiteral(reader, inner, take))) return false;
    yield* space(reader);
    if (!(yield* character(reader, ',')) && !(yield* follows(reader, end))) return false;
  }
  take(']');
  return true;
}

export interface Members {
  /** Closing bracket. */
  end: string;
  /** Character between a key and its value. */
  separator: string;
  /** The first key, escaped for JSON, if it and its separator have been read. */
  first?: string;
  /** Whether the value of a key can only be a string. */
  isText?: (key: string) => boolean;
}

/** Copies members up to their end, which is consumed. The caller has emitted `{`. */
export function* copyMembers(
  reader: Reader,
  { end, separator, first, isText = () => false }: Members,
  syntax: LiteralSyntax,
  take: Take,
): Parse<boolean> {
  const inner = within(syntax, end);
  let key: string | null = first ?? null;
  for (let nth = 0; ; nth++) {
    if (key === null) {
      yield* space(reader);
      if (yield* character(reader, end)) break;
      key = yield* memberKey(reader, separator, inner);
      if (key === null) return false;
    }
    take(`${nth > 0 ? ', ' : ''}"${key}": `);
    yield* space(reader);
    // A number or a word in place of a string was written without its quotes.
    const word = isText(key) ? yield* bareWord(reader) : '';
    if (word !== '') take(`"${escapeJson(word)}"`);
    else if (!(yield* copyLiteral(reader, inner, take))) return false;
    yield* space(reader);
    if (!(yield* character(reader, ',')) && !(yield* follows(reader, end))) return false;
    key = null;
  }
  take('}');
  return true;
}

/** Reads a key and its separator. Returns the key escaped for JSON; null: it is malformed, or the reply ended. */
export function* memberKey(reader: Reader, separator: string, syntax: LiteralSyntax): Parse<string | null> {
  const opening = yield* match(reader, syntax.quotes);
  let key = '';
  if (opening) {
    const whole = yield* copyText(reader, opening, syntax, (text) => void (key += text));
    if (!whole) return null;
    key = key.slice(1, -1);
  } else key = escapeJson(yield* run(reader, /[^\s:=,(){}[\]"'<>]/));
  yield* space(reader);
  return (opening || key !== '') && (yield* character(reader, separator)) ? key : null;
}

function* follows(reader: Reader, end: string): Parse<boolean> {
  const next = yield* peek(reader);
  return next !== null && next.id < 0 && next.text === end;
}

/** Copies a string as JSON, after its opening quote was consumed. */
function* copyText(
  reader: Reader,
  quotes: Marker,
  { escapes, closers = '' }: LiteralSyntax,
  take: Take,
): Parse<boolean> {
  const ends = [quotes];
  take('"');
  for (;;) {
    if (yield* match(reader, ends)) {
      if (!escapes || (yield* endsText(reader, closers))) break;
      take(escapeJson(quotes.text));
      continue;
    }
    const unit = yield* peek(reader);
    if (unit === null) return false;
    reader.at++;
    if (escapes && unit.text === '\\') take(escapeJson(yield* escaped(reader)));
    else take(escapeJson(unit.text));
  }
  take('"');
  return true;
}

/**
 * Whether a string ends before the current position. Models forget to escape quotes within strings: then other text follows, or
 * brackets that close none of those around the string. Nothing is read beyond the last of these: it ends the call.
 */
function* endsText(reader: Reader, closers: string): Parse<boolean> {
  const from = reader.at;
  let closed = 0;
  let next = yield* afterSpace(reader);
  while (next !== null && next.id < 0 && next.text === closers[closed]) {
    reader.at++;
    if (++closed === closers.length) break;
    next = yield* afterSpace(reader);
  }
  reader.at = from;
  if (next === null || next.id >= 0 || next.text === ',') return true;
  if (closed === 0) return (closers === '' ? /[:)\]}=]/ : /[:=]/).test(next.text);
  return closed === closers.length;
}

function* afterSpace(reader: Reader): Parse<Unit | null> {
  yield* space(reader);
  return yield* peek(reader);
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '0': '\0', '\n': '' };
const HEX_DIGITS: Record<string, number> = { x: 2, u: 4, U: 8 };

/** Reads the escape after a backslash and returns its characters. */
function* escaped(reader: Reader): Parse<string> {
  const unit = yield* peek(reader);
  if (unit === null) return '';
  reader.at++;
  const digits = HEX_DIGITS[unit.text];
  if (digits !== undefined) {
    const code = yield* run(reader, /[\da-fA-F]/, digits);
    const value = Number.parseInt(code, 16);
    return code.length === digits && value <= 0x10ffff
      ? String.fromCodePoint(value)
      : `\\${unit.text}${code}`;
  }
  if (Object.hasOwn(ESCAPES, unit.text)) return ESCAPES[unit.text]!;
  return /['"\\]/.test(unit.text) ? unit.text : `\\${unit.text}`;
}

const WORDS: Record<string, string> = { true: 'true', false: 'false', none: 'null', null: 'null' };

function* bareWord(reader: Reader): Parse<string> {
  return (yield* run(reader, /[^\s,:(){}[\]"'<>=]/)).trim();
}

function* copyWord(reader: Reader, take: Take): Parse<boolean> {
  const word = yield* bareWord(reader);
  if (word === '') return false;
  take(wordJson(word));
  return true;
}

/** JSON of a number in Python's notation, of true, false or None; any other word becomes a string. */
function wordJson(word: string): string {
  if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(word)) return word;
  const named = WORDS[word.toLowerCase()];
  if (named !== undefined) return named;
  const number = /^[+-]?[\d.]/.test(word) ? Number(word.replaceAll('_', '')) : NaN;
  return Number.isFinite(number) ? String(number) : `"${escapeJson(word)}"`;
}

/** JSON of a text that is one Python literal; null if it is not. `sets`: whether it may contain sets. */
export function literalJson(text: string, sets: boolean): string | null {
  const reader = createReader();
  for (const character of text) reader.units.push({ text: character, id: -1, token: 0 });
  reader.ended = true;
  let json = '';
  const parse = copyLiteral(reader, { ...PYTHON, sets }, (more) => void (json += more));
  const { value } = parse.next();
  return value === true && reader.at === reader.units.length ? json : null;
}
