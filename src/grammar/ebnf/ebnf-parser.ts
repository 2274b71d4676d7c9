// The parser of EBNF grammars. A definition ends before the next name with ::= behind it, regardless of line breaks; bounds, groups and
// quotes of both dialects are read.

import { lastAtMost } from '../automata/dfa-table.ts';
import { GrammarError } from '../bounds/grammar-error.ts';
import { codePoints, union, type CodePoints, complement, EVERY_CHARACTER } from '../automata/code-points.ts';

export interface Definition {
  name: string;
  alternatives: EbnfTerm[][];
  line: number;
}

export type EbnfTerm =
  | { kind: 'text'; text: string }
  | { kind: 'set'; set: CodePoints }
  | { kind: 'reference'; name: string; line: number }
  | { kind: 'group'; alternatives: EbnfTerm[][] }
  | { kind: 'repeat'; term: EbnfTerm; min: number; max: number }
  | { kind: 'difference'; term: EbnfTerm; but: EbnfTerm; line: number };

const NAME = /[A-Za-z_][\w.-]*(?<!-)/y;
/** Most groups inside each other. */
const DEEPEST = 200;
const MOST_REPETITIONS = 100_000;
const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v', '0': '\0' };

interface Reader {
  text: string;
  at: number;
  /** Index of the start of each line. */
  lines: readonly number[];
}

export function readDefinitions(text: string): Definition[] {
  const lines = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  const reader: Reader = { text, at: 0, lines };
  const definitions: Definition[] = [];
  skip(reader);
  while (reader.at < text.length) {
    const line = lineOf(reader);
    const name = readName(reader);
    if (name === null) fail(reader, 'the name of a rule is missing', 'write rules as name ::= …');
    skip(reader);
    if (!takes(reader, '::=')) fail(reader, `::= is missing after ${name}`, 'write rules as name ::= …');
    definitions.push({ name, alternatives: readAlternatives(reader, 0), line });
    takes(reader, ';');
    skip(reader);
  }
  return definitions;
}

function readAlternatives(reader: Reader, depth: number): EbnfTerm[][] {
  if (depth > DEEPEST) fail(reader, `groups are over ${DEEPEST} deep`, 'make it flatter');
  const alternatives: EbnfTerm[][] = [];
  do alternatives.push(readSequence(reader, depth));
  while (takes(reader, '|'));
  return alternatives;
}

function readSequence(reader: Reader, depth: number): EbnfTerm[] {
  const terms: EbnfTerm[] = [];
  for (;;) {
    skip(reader);
    if (reader.at >= reader.text.length || '|);'.includes(reader.text[reader.at]!) || definesNext(reader))
      return terms;
    const line = lineOf(reader);
    const term = readRepeated(reader, depth);
    skip(reader);
    if (takes(reader, '-')) {
      skip(reader);
      terms.push({ kind: 'difference', term, but: readRepeated(reader, depth), line });
    } else terms.push(term);
  }
}

function readRepeated(reader: Reader, depth: number): EbnfTerm {
  let term = readTerm(reader, depth);
  for (;;) {
    const bounds = readBounds(reader);
    if (bounds === null) return term;
    term = { kind: 'repeat', term, ...bounds };
  }
}

function readBounds(reader: Reader): { min: number; max: number } | null {
  if (takes(reader, '*')) return { min: 0, max: Infinity };
  if (takes(reader, '+')) return { min: 1, max: Infinity };
  if (takes(reader, '?')) return { min: 0, max: 1 };
  const match = /^\{\s*(\d*)\s*(,\s*(\d*)\s*)?\}/.exec(reader.text.slice(reader.at, reader.at + 40));
  if (!match || (match[1] === '' && !match[3])) return null;
  const min = Number(match[1]);
  const max = match[2] === undefined ? min : match[3] === '' ? Infinity : Number(match[3]);
  if (min > max || min > MOST_REPETITIONS || (max > MOST_REPETITIONS && max !== Infinity))
    fail(
      reader,
      `the repetition ${match[0]} has bounds that make no sense`,
      `they ascend, to ${MOST_REPETITIONS} at most`,
    );
  reader.at += match[0].length;
  return { min, max };
}

function readTerm(reader: Reader, depth: number): EbnfTerm {
  const line = lineOf(reader);
  const next = reader.text[reader.at]!;
  if (next === '"' || next === "'") return { kind: 'text', text: readQuoted(reader) };
  if (next === '[') return { kind: 'set', set: readSet(reader) };
  if (next === '#') {
    const code = readCode(reader);
    return { kind: 'set', set: codePoints([code, code]) };
  }
  if (takes(reader, '.')) return { kind: 'set', set: EVERY_CHARACTER };
  if (takes(reader, '(')) {
    const alternatives = readAlternatives(reader, depth + 1);
    skip(reader);
    if (!takes(reader, ')')) fail(reader, 'a group is not closed', 'add )');
    return { kind: 'group', alternatives };
  }
  const name = readName(reader);
  if (name === null) fail(reader, `${JSON.stringify(next)} stands for nothing`, 'put text in quotes');
  return { kind: 'reference', name, line };
}

function readQuoted(reader: Reader): string {
  const quote = reader.text[reader.at++]!;
  let text = '';
  for (;;) {
    const next = reader.text[reader.at];
    if (next === undefined || next === '\n') fail(reader, 'a quoted text is not closed', `add ${quote}`);
    if (next === quote) break;
    text += readCharacter(reader);
  }
  reader.at++;
  return text;
}

function readSet(reader: Reader): CodePoints {
  reader.at++;
  const negative = takes(reader, '^');
  const sets: CodePoints[] = [];
  const member = (): number =>
    reader.text.startsWith('#x', reader.at) ? readCode(reader) : readCharacter(reader).codePointAt(0)!;
  for (;;) {
    const next = reader.text[reader.at];
    if (next === undefined) fail(reader, 'a set is not closed', 'add ]');
    if (next === ']') break;
    const first = member();
    const isRange = reader.text[reader.at] === '-' && ![undefined, ']'].includes(reader.text[reader.at + 1]);
    if (isRange) reader.at++;
    const last = isRange ? member() : first;
    if (first > last) fail(reader, 'a range runs backwards', 'swap its ends');
    sets.push(codePoints([first, last]));
  }
  reader.at++;
  return negative ? complement(union(...sets)) : union(...sets);
}

/** Reads one character, or the escape of one. */
function readCharacter(reader: Reader): string {
  const rest = reader.text.slice(reader.at, reader.at + 12);
  const hex = /^\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|u\{([\da-fA-F]{1,6})\})/.exec(rest);
  if (hex) {
    reader.at += hex[0].length;
    return fromCode(reader, Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? hex[4]!, 16));
  }
  if (rest[0] === '\\' && rest.length > 1) {
    reader.at += 2;
    const letter = rest[1]!;
    if (/[A-Za-z1-9]/.test(letter) && ESCAPES[letter] === undefined)
      fail(
        reader,
        `\\${letter} is not an escape`,
        'they are \\n \\r \\t \\xHH \\uHHHH and a \\ before punctuation',
      );
    return ESCAPES[letter] ?? letter;
  }
  const character = String.fromCodePoint(rest.codePointAt(0)!);
  reader.at += character.length;
  return character;
}

/** Reads a character written as #xHHHH. */
function readCode(reader: Reader): number {
  const match = /^#x([\da-fA-F]{1,6})/.exec(reader.text.slice(reader.at, reader.at + 8));
  if (!match) return fail(reader, '# is followed by no number', 'write characters as #x20');
  reader.at += match[0].length;
  return fromCode(reader, Number.parseInt(match[1]!, 16)).codePointAt(0)!;
}

function fromCode(reader: Reader, code: number): string {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    fail(reader, `U+${code.toString(16)} is not a character`, 'use those of Unicode');
  return String.fromCodePoint(code);
}

function readName(reader: Reader): string | null {
  if (reader.text[reader.at] === '<') {
    const match = /^<([^<>\s]+)>/.exec(reader.text.slice(reader.at, reader.at + 200));
    if (match) reader.at += match[0].length;
    return match?.[1] ?? null;
  }
  NAME.lastIndex = reader.at;
  const match = NAME.exec(reader.text);
  if (match) reader.at += match[0].length;
  return match?.[0] ?? null;
}

/** Whether a definition begins at the current place. */
function definesNext(reader: Reader): boolean {
  const ahead: Reader = { ...reader };
  if (readName(ahead) === null) return false;
  skip(ahead);
  return ahead.text.startsWith('::=', ahead.at);
}

/** Skips whitespace and comments: those from # or // to the end of the line, and those between slash-star and star-slash. */
function skip(reader: Reader): void {
  const { text } = reader;
  for (;;) {
    const start = reader.at;
    while (/\s/.test(text[reader.at] ?? '')) reader.at++;
    const isLine =
      text.startsWith('//', reader.at) ||
      (text[reader.at] === '#' && !/^#x[\da-fA-F]/.test(text.slice(reader.at, reader.at + 3)));
    if (isLine) while (reader.at < text.length && text[reader.at] !== '\n') reader.at++;
    if (text.startsWith('/*', reader.at)) {
      const end = text.indexOf('*/', reader.at);
      if (end < 0) fail(reader, 'a comment is not closed', 'add */');
      reader.at = end + 2;
    }
    if (reader.at === start) return;
  }
}

function takes(reader: Reader, text: string): boolean {
  if (!reader.text.startsWith(text, reader.at)) return false;
  reader.at += text.length;
  return true;
}

/** Number of the current line, from 1. */
function lineOf({ lines, at }: Reader): number {
  return lastAtMost(lines, at) + 1;
}

function fail(reader: Reader, what: string, remedy: string): never {
  throw new GrammarError('bad_request', `line ${lineOf(reader)} of the grammar: ${what}; ${remedy}`);
}
