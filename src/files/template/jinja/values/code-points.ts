// Python counts and cuts strings by code points, JavaScript by UTF-16 units. They differ only where a string has surrogates.

const SURROGATE = /[\ud800-\udfff]/;

export function hasPairs(text: string): boolean {
  return SURROGATE.test(text);
}

export function codePoints(text: string): string[] {
  return hasPairs(text) ? Array.from(text) : text.split('');
}

export function countPoints(text: string): number {
  if (!hasPairs(text)) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** UTF-16 index of a code point, at most the length. */
export function unitIndex(text: string, point: number): number {
  if (!hasPairs(text)) return Math.min(point, text.length);
  let unit = 0;
  for (let at = 0; at < point && unit < text.length; at++) unit += width(text, unit);
  return unit;
}

/** Code point index of a UTF-16 index. */
export function pointIndex(text: string, unit: number): number {
  return hasPairs(text) ? countPoints(text.slice(0, unit)) : unit;
}

function width(text: string, unit: number): number {
  return text.codePointAt(unit)! > 0xffff ? 2 : 1;
}

/** Characters that Python's str.isspace, strip() and split() take for white space. */
export const SPACE =
  '\\t\\n\\v\\f\\r\\x1c-\\x1f \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';

const SPACES: ReadonlySet<string> = new Set(
  '\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000',
);

export function isSpace(char: string): boolean {
  return SPACES.has(char);
}

/** The text without the characters at its ends that `drops` accepts. A character is a code point. */
export function stripEnds(
  text: string,
  ends: 'both' | 'left' | 'right',
  drops: (char: string) => boolean = isSpace,
): string {
  let start = 0;
  let end = text.length;
  if (ends !== 'right') {
    while (start < end) {
      const char = String.fromCodePoint(text.codePointAt(start)!);
      if (!drops(char)) break;
      start += char.length;
    }
  }
  if (ends !== 'left') {
    while (end > start) {
      const low = text.charCodeAt(end - 1);
      const pair = low >= 0xdc00 && low < 0xe000 && end - 2 >= start && text.codePointAt(end - 2)! > 0xffff;
      const char = text.slice(pair ? end - 2 : end - 1, end);
      if (!drops(char)) break;
      end -= char.length;
    }
  }
  return text.slice(start, end);
}

const LINE_BREAK = '\\r\\n|[\\n\\r\\v\\f\\x1c\\x1d\\x1e\\x85\\u2028\\u2029]';

/** Lines as str.splitlines() cuts them. */
export function splitLines(text: string, keepEnds = false): string[] {
  const lines: string[] = [];
  const breaks = new RegExp(LINE_BREAK, 'g');
  let start = 0;
  for (const { index, 0: found } of text.matchAll(breaks)) {
    lines.push(text.slice(start, keepEnds ? index + found.length : index));
    start = index + found.length;
  }
  if (start < text.length) lines.push(text.slice(start));
  return lines;
}
