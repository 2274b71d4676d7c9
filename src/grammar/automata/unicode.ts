// The named sets of characters of regular expressions. The members of Unicode properties are found with the JavaScript engine's own
// regular expressions, so that both agree.

import { codePoints, complement, type CodePoints } from './code-points.ts';

export const DIGIT = codePoints([0x30, 0x39]);
export const WORD = codePoints([0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]);
export const SPACE = codePoints(
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
);
/** The characters that `.` matches. */
export const NOT_LINE_END = complement(codePoints([0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029]));

/** The properties read so far; a few hundred exist. */
const properties = new Map<string, CodePoints>();

/** The characters of \p{name}; null: no such property. The first use of a name takes some 10 ms. */
export function unicodeProperty(name: string): CodePoints | null {
  const found = properties.get(name) ?? readProperty(name);
  if (found !== null) properties.set(name, found);
  return found;
}

function readProperty(name: string): CodePoints | null {
  if (!/^[\w=]+$/.test(name)) return null;
  let runs: RegExp;
  try {
    runs = new RegExp(`\\p{${name}}+`, 'gu');
  } catch {
    return null;
  }
  const read = (texts ??= DISTINGUISHED.map(([from, to]) => charactersOf(from, to)));
  const ranges = read.flatMap((text) =>
    Array.from(text.matchAll(runs), ([run]): [number, number] => {
      const first = run.codePointAt(0)!;
      return [first, first + (first > 0xffff ? run.length / 2 : run.length) - 1];
    }),
  );
  const uniform = UNIFORM.filter(([first]) => String.fromCodePoint(first).search(runs) === 0);
  return codePoints(...ranges, ...uniform);
}

const PLANE = 0x10000;
/** Ranges [from, to) whose characters differ in their properties. The other planes are unassigned, or for private use throughout. */
const DISTINGUISHED: [number, number][] = [
  [0, 0xd800],
  [0xe000, PLANE],
  ...[1, 2, 3, 14].map((plane): [number, number] => [plane * PLANE, (plane + 1) * PLANE]),
];
/** Ranges [first, last] whose characters have equal properties; the last two code points of each plane are noncharacters. */
const UNIFORM = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16].flatMap((plane): [number, number][] => [
  [plane * PLANE, plane * PLANE + 0xfffd],
  [plane * PLANE + 0xfffe, plane * PLANE + 0xffff],
]);

let texts: string[] | null = null;

function charactersOf(from: number, to: number): string {
  const parts: string[] = [];
  for (let code = from; code < to; code += 0x1000) {
    const count = Math.min(0x1000, to - code);
    parts.push(String.fromCodePoint(...Array.from({ length: count }, (_, i) => code + i)));
  }
  return parts.join('');
}
