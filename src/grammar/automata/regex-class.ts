// The parser of character classes in regular expressions: [classes] and escapes.

import { codePoints, complement, union, type CodePoints } from './code-points.ts';
import { DIGIT, SPACE, unicodeProperty, WORD } from './unicode.ts';

export interface Reader {
  text: string;
  at: number;
  /** Throws bad_request that names what is there and a remedy. `at`: index in the text; left out: the current one. */
  fail(what: string, remedy: string, at?: number): never;
}

const CONTROLS: Record<string, number> = { t: 9, n: 10, v: 11, f: 12, r: 13 };
const SETS: Record<string, CodePoints> = {
  d: DIGIT,
  D: complement(DIGIT),
  w: WORD,
  W: complement(WORD),
  s: SPACE,
  S: complement(SPACE),
};

/** Reads the escape after a backslash at `from`; returns the characters it stands for. */
export function readEscape(reader: Reader, from: number): CodePoints {
  const letter = reader.text[reader.at];
  if (letter === undefined)
    return reader.fail('a \\ with nothing after it', 'write \\\\ for the character', from);
  const set = SETS[letter];
  if (set) {
    reader.at++;
    return set;
  }
  if (letter === 'p' || letter === 'P') return readProperty(reader, from);
  const code = readCode(reader, from);
  return codePoints([code, code]);
}

function readProperty(reader: Reader, from: number): CodePoints {
  const match = /^([pP])\{([^}]*)\}/.exec(reader.text.slice(reader.at));
  const set = match && unicodeProperty(match[2]!);
  if (!match || !set)
    return reader.fail('an unknown Unicode property', 'write one as \\p{L} or \\p{Script=Greek}', from);
  reader.at += match[0].length;
  return match[1] === 'p' ? set : complement(set);
}

/** Reads the escape of a single character. */
function readCode(reader: Reader, from: number): number {
  const rest = reader.text.slice(reader.at, reader.at + 16);
  const pair = /^u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})/.exec(rest);
  if (pair) {
    reader.at += pair[0].length;
    return (
      0x10000 + (Number.parseInt(pair[1]!, 16) - 0xd800) * 0x400 + Number.parseInt(pair[2]!, 16) - 0xdc00
    );
  }
  const hex = /^(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))/.exec(rest);
  if (hex) {
    reader.at += hex[0].length;
    const code = Number.parseInt(hex[1] ?? hex[2] ?? hex[3]!, 16);
    if (code > 0x10ffff) reader.fail('an escape beyond Unicode', '\\u{10FFFF} is the last character', from);
    return code;
  }
  const control = /^c([a-zA-Z])/.exec(rest);
  if (control) {
    reader.at += 2;
    return control[1]!.charCodeAt(0) % 32;
  }
  const code = rest.codePointAt(0)!;
  const letter = String.fromCodePoint(code);
  reader.at += letter.length;
  if (letter === '0' && !/^\d/.test(rest.slice(1))) return 0;
  const known = CONTROLS[letter];
  if (known !== undefined) return known;
  if (/[\p{L}\p{N}_]/u.test(letter))
    reader.fail(`the unknown escape \\${letter}`, 'escapes are those of JavaScript with the u flag', from);
  return code;
}

/** Reads a class after its [ at `from`, including its ]. */
export function readClass(reader: Reader, from: number): CodePoints {
  const negative = reader.text[reader.at] === '^';
  if (negative) reader.at++;
  const sets: CodePoints[] = [];
  for (;;) {
    const next = reader.text[reader.at];
    if (next === undefined) return reader.fail('a class that is not closed', 'add ]', from);
    if (next === ']') break;
    const first = readMember(reader);
    const ranges = reader.text[reader.at] === '-' && !']'.includes(reader.text[reader.at + 1] ?? ']');
    if (!ranges) {
      sets.push(first.set);
      continue;
    }
    const dash = reader.at++;
    const last = readMember(reader);
    if (first.code === null || last.code === null) {
      sets.push(first.set, codePoints([0x2d, 0x2d]), last.set);
      continue;
    }
    if (first.code > last.code) reader.fail('a range that runs backwards', 'swap its ends', dash - 1);
    sets.push(codePoints([first.code, last.code]));
  }
  reader.at++;
  const set = union(...sets);
  return negative ? complement(set) : set;
}

/** Reads a character, or an escape; `code` null: an escape of a set, which cannot bound a range. */
function readMember(reader: Reader): { set: CodePoints; code: number | null } {
  const from = reader.at;
  const code = reader.text.codePointAt(from)!;
  reader.at += code > 0xffff ? 2 : 1;
  if (code !== 0x5c) return { set: codePoints([code, code]), code };
  const letter = reader.text[reader.at] ?? '';
  if (letter === 'b') {
    reader.at++;
    return { set: codePoints([8, 8]), code: 8 };
  }
  if (SETS[letter] || letter === 'p' || letter === 'P') return { set: readEscape(reader, from), code: null };
  if (letter === '') reader.fail('a class that is not closed', 'add ]', from);
  const escaped = readCode(reader, from);
  return { set: codePoints([escaped, escaped]), code: escaped };
}
