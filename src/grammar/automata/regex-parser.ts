// The parser of regular expressions. Beyond JavaScript's syntax with the u flag it allows, for patterns from other languages, a brace or
// bracket that opens nothing as a literal, and escapes of any punctuation.

import { GrammarError } from '../bounds/grammar-error.ts';
import { readClass, readEscape, type Reader } from './regex-class.ts';
import { codePoints } from './code-points.ts';
import type { Expression } from './expression.ts';
import { NOT_LINE_END } from './unicode.ts';

export interface Alternative {
  rest: Expression;
  /** Look-aheads at the start, in their order. */
  lookaheads: { expression: Expression; negative: boolean }[];
  /** Whether it begins with ^. */
  anchored: boolean;
  /** Index in the pattern of the first look-ahead. */
  at: number;
}

/** Most groups inside each other. */
const DEEPEST = 200;
const MOST_REPETITIONS = 100_000;

/** The alternatives of the whole pattern. Throws bad_request. */
export function parseRegex(pattern: string): Alternative[] {
  const reader: Reader = {
    text: pattern,
    at: 0,
    fail(what, remedy, at = reader.at) {
      throw new GrammarError(
        'bad_request',
        `the regular expression ${quote(pattern)} has ${what} at character ${at + 1}: ${remedy}`,
      );
    },
  };
  const alternatives = [readAlternative(reader)];
  while (take(reader, '|')) alternatives.push(readAlternative(reader));
  if (reader.at < pattern.length) reader.fail('a ) that closes nothing', 'remove or escape it');
  return alternatives;
}

function readAlternative(reader: Reader): Alternative {
  const anchored = take(reader, '^');
  const lookaheads: Alternative['lookaheads'] = [];
  const { at } = reader;
  while (reader.text.startsWith('(?=', reader.at) || reader.text.startsWith('(?!', reader.at)) {
    const negative = reader.text[reader.at + 2] === '!';
    reader.at += 3;
    lookaheads.push({ expression: readChoice(reader, 1), negative });
    if (!take(reader, ')')) reader.fail('a group that is not closed', 'add )');
  }
  const parts = readTerms(reader, 0);
  if (anchored) parts.unshift({ kind: 'assertion', assertion: 'start' });
  return { rest: { kind: 'sequence', parts }, lookaheads, anchored, at };
}

function readChoice(reader: Reader, depth: number): Expression {
  if (depth > DEEPEST) reader.fail(`groups over ${DEEPEST} deep`, 'make it flatter');
  const parts: Expression[] = [];
  do parts.push({ kind: 'sequence', parts: readTerms(reader, depth) });
  while (take(reader, '|'));
  return parts.length === 1 ? parts[0]! : { kind: 'choice', parts };
}

function readTerms(reader: Reader, depth: number): Expression[] {
  const parts: Expression[] = [];
  while (reader.at < reader.text.length && !'|)'.includes(reader.text[reader.at]!)) {
    const from = reader.at;
    const part = readAtom(reader, depth);
    const count = readQuantifier(reader);
    if (count === null) parts.push(part);
    else if (part.kind === 'assertion')
      reader.fail('an assertion that is repeated', 'leave the quantifier out', from);
    else parts.push({ kind: 'repeat', part, ...count });
  }
  return parts;
}

function readAtom(reader: Reader, depth: number): Expression {
  const from = reader.at;
  const code = reader.text.codePointAt(from)!;
  reader.at += code > 0xffff ? 2 : 1;
  switch (String.fromCodePoint(code)) {
    case '^':
      return { kind: 'assertion', assertion: 'start' };
    case '$':
      return { kind: 'assertion', assertion: 'end' };
    case '.':
      return { kind: 'set', set: NOT_LINE_END };
    case '(':
      return readGroup(reader, depth, from);
    case '[':
      return { kind: 'set', set: readClass(reader, from) };
    case '*':
    case '+':
    case '?':
      return reader.fail('a quantifier after nothing', 'put what it repeats before it, or escape it', from);
    case '\\':
      return readEscaped(reader, from);
    default:
      if (code >= 0xd800 && code < 0xe000)
        reader.fail('half a surrogate pair', 'write the whole character', from);
      return { kind: 'set', set: codePoints([code, code]) };
  }
}

function readEscaped(reader: Reader, from: number): Expression {
  const letter = reader.text[reader.at] ?? '';
  if (letter === 'b' || letter === 'B') {
    reader.at++;
    return { kind: 'assertion', assertion: letter === 'b' ? 'wordBoundary' : 'noWordBoundary' };
  }
  if (/[1-9k]/.test(letter))
    reader.fail('a back-reference', 'no automaton can follow one, write the pattern without it', from);
  return { kind: 'set', set: readEscape(reader, from) };
}

function readGroup(reader: Reader, depth: number, from: number): Expression {
  const rest = reader.text.slice(reader.at);
  if (/^\?<?[=!]/.test(rest)) {
    const what = rest[1] === '<' ? 'look-behind' : 'look-ahead inside the pattern';
    reader.fail(what, 'look-ahead stands directly after ^ alone, write the pattern without it', from);
  }
  const head = /^\?(:|<[\p{L}_$][\p{L}\p{N}_$]*>|P<\w+>)/u.exec(rest);
  if (head) reader.at += head[0].length;
  else if (rest.startsWith('?'))
    reader.fail(
      'an unknown kind of group',
      'groups are ( ), (?: ) and (?<name> ), flags cannot be set inside',
      from,
    );
  const inside = readChoice(reader, depth + 1);
  if (!take(reader, ')')) reader.fail('a group that is not closed', 'add )', from);
  return inside;
}

function readQuantifier(reader: Reader): { min: number; max: number } | null {
  const from = reader.at;
  const match = /^(?:[*+?]|\{(\d+)(,(\d*))?\})/.exec(reader.text.slice(from, from + 32));
  if (!match) return null;
  const [all, low, comma, high] = match;
  reader.at += all.length;
  take(reader, '?');
  if (all === '*') return { min: 0, max: Infinity };
  if (all === '+') return { min: 1, max: Infinity };
  if (all === '?') return { min: 0, max: 1 };
  const min = Number(low);
  const max = comma === undefined ? min : high === '' ? Infinity : Number(high);
  if (min > max) reader.fail('a repetition whose bounds are the wrong way round', 'swap them', from);
  if (min > MOST_REPETITIONS || (max > MOST_REPETITIONS && max !== Infinity))
    reader.fail('a repetition that is too long', `${MOST_REPETITIONS} is the most`, from);
  return { min, max };
}

function take(reader: Reader, character: string): boolean {
  if (reader.text[reader.at] !== character) return false;
  reader.at++;
  return true;
}

/** A pattern as messages show it. */
export function quote(pattern: string): string {
  return JSON.stringify(pattern.length > 80 ? `${pattern.slice(0, 80)}…` : pattern);
}
